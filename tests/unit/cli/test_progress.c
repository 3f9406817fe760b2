/* cli/fill/progress.c */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/fill/progress.h"

static int terminal, before;

/* Has standard error be a terminal, and reads what is written there. */
static void open_terminal(void)
{
    terminal = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    ck_assert_int_ge(terminal, 0);
    ck_assert_int_eq(grantpt(terminal), 0);
    ck_assert_int_eq(unlockpt(terminal), 0);
    int end = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    before = dup(STDERR_FILENO);
    ck_assert_int_ge(dup2(end, STDERR_FILENO), 0);
    close(end);
    setenv("TERM", "xterm", 1);
}

static void close_terminal(void)
{
    dup2(before, STDERR_FILENO);
    close(before);
    close(terminal);
}

static uint64_t count_seven(void)
{
    return 7;
}

/* Reads on until the text holds `wanted`. */
static void read_until(char text[256], const char *wanted)
{
    struct pollfd written = {.fd = terminal, .events = POLLIN};
    size_t used = strlen(text);
    while (strstr(text, wanted) == NULL && used < 255 && poll(&written, 1, 30000) == 1) {
        ssize_t got = read(terminal, text + used, 255 - used);
        used += got > 0 ? (size_t)got : 0;
        text[used] = '\0';
    }
    ck_assert_ptr_nonnull(strstr(text, wanted));
}

START_TEST(what_lasts_shows_a_line)
{
    char text[256] = "";
    open_terminal();
    progress_begin_counting("removing", count_seven);
    read_until(text, "removing, 7 files so far");
    progress_end();
    read_until(text, "\r\033[K"); /* nothing of it stays */
    close_terminal();
}
END_TEST

START_TEST(what_ends_at_once_shows_none)
{
    char text[64];
    open_terminal();
    progress_begin_counting("counting", count_seven);
    progress_end();
    ssize_t got = read(terminal, text, sizeof text);
    close_terminal();
    ck_assert_int_lt(got, 0);
}
END_TEST

Suite *suite_progress(void)
{
    Suite *suite = suite_create("progress");
    TCase *all = unit_case(suite, "progress_on_a_terminal");
    tcase_add_test(all, what_lasts_shows_a_line);
    tcase_add_test(all, what_ends_at_once_shows_none);
    return suite;
}
