/* cli/os/ending.c */
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdlib.h>

#include "cli/os/ending.h"

#define EXITED(code) ((code) << 8) /* as waitpid() gives it */

static void assert_ending(int status, int64_t kills, const char *wanted)
{
    char *text = ending_text(status, kills);
    ck_assert_pstr_eq(text, wanted);
    free(text);
}

START_TEST(ends_of_commands)
{
    assert_ending(EXITED(0), 0, NULL);
    assert_ending(EXITED(3), 0, "ended with 3");
    assert_ending(EXITED(143), 0, "ended with 143, as a shell does after SIGTERM");
    assert_ending(EXITED(200), 0, "ended with 200");
    assert_ending(EXITED(1), 2,
                  "ended with 1; meanwhile the kernel killed a process for want of memory");
    assert_ending(SIGSEGV, 0, "was killed by SIGSEGV");
    assert_ending(SIGINT, 0, "was killed by SIGINT, as Ctrl-C");
    assert_ending(SIGRTMIN, 0, "was killed by signal 34");
    assert_ending(SIGKILL, 0, "was killed by SIGKILL, and not by the kernel for want of memory");
    assert_ending(SIGKILL, ENDING_UNKNOWN, "was killed by SIGKILL");
    assert_ending(EXITED(1), ENDING_UNKNOWN, "ended with 1");
    assert_ending(SIGKILL, 1, "was killed by SIGKILL: the kernel says that memory ran out");
}
END_TEST

Suite *suite_ending(void)
{
    Suite *suite = suite_create("ending");
    TCase *all = unit_case(suite, "ending");
    tcase_add_test(all, ends_of_commands);
    return suite;
}
