/* cli/ahead/orders/sample_files.c */
#include "tests/unit/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/ahead/orders/kept_samples.h"
#include "cli/ahead/orders/sample_files.h"

#define SET 77 /* a data set */

/* Reports what a sample has opened. `paths`: each with its zero. */
static bool tell(uint64_t dataset, uint64_t index, const char *paths, size_t bytes)
{
    char message[1024];
    struct sample_head head = {index, bytes};
    memcpy(message, &head, sizeof head);
    memcpy(message + sizeof head, paths, bytes);
    return sample_files_add(dataset, message, sizeof head + bytes);
}

#define TELL(index, paths) ck_assert(tell(SET, index, paths, sizeof paths))

static void expect(uint64_t index, unsigned number, const char *path)
{
    char found[STK_PATH_BYTES];
    size_t bytes = sample_files_path(sample_files_of(SET), index, number, found);
    ck_assert_str_eq(found, path);
    ck_assert_uint_eq(bytes, strlen(path) + 1);
}

/* Has samples open one file each, whose name begins with `first`. */
static void open_files(unsigned count, char first)
{
    char path[] = "?/file000";
    for (unsigned i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%c/file%03u", first, i % 1000);
        TELL(i, path);
    }
}

START_TEST(what_samples_have_opened)
{
    ck_assert_ptr_null(sample_files_of(SET));
    TELL(5, "/data/a/5.jpg");
    TELL(3, "/data/a/3.jpg");
    TELL(900, "/other");
    TELL(6, "/data/a/5.jpg/longer");
    expect(5, 0, "/data/a/5.jpg");
    expect(3, 0, "/data/a/3.jpg");
    expect(900, 0, "/other");
    expect(6, 0, "/data/a/5.jpg/longer");
    expect(4, 0, "");
    expect(1u << 30, 0, "");
    expect(UINT64_MAX, 0, "");
    ck_assert_ptr_null(sample_files_of(SET + 1));
}
END_TEST

START_TEST(several_files_of_a_sample)
{
    TELL(0, "/image");
    ck_assert_uint_eq(sample_files_width(sample_files_of(SET)), 1);
    TELL(1, "/image\0/mask\0/image");
    ck_assert_uint_eq(sample_files_width(sample_files_of(SET)), 2);
    expect(1, 0, "/image");
    expect(1, 1, "/mask");
    expect(1, 2, "");
    TELL(2, "/a\0/b\0/c\0/d\0/e\0/f");
    ck_assert_uint_eq(sample_files_width(sample_files_of(SET)), SAMPLE_FILES);
    expect(2, 3, "/d");
}
END_TEST

START_TEST(samples_that_come_again)
{
    open_files(8, 'a');
    ck_assert(!sample_files_hold(sample_files_of(SET)));
    open_files(7, 'a');
    ck_assert(!sample_files_hold(sample_files_of(SET)));
    open_files(1, 'a');
    ck_assert(sample_files_hold(sample_files_of(SET)));
}
END_TEST

START_TEST(samples_that_open_other_files)
{
    open_files(8, 'a');
    open_files(7, 'b');
    expect(0, 0, "a/file000");
    open_files(1, 'b');
    expect(0, 0, "");
    ck_assert(!sample_files_hold(sample_files_of(SET)));
}
END_TEST

/* A data set may come to mean other files, for example at a new stage of a training. */
START_TEST(files_that_change_later)
{
    open_files(500, 'a');
    open_files(500, 'a');
    open_files(7, 'b');
    expect(0, 0, "a/file000");
    ck_assert(sample_files_hold(sample_files_of(SET)));
    open_files(1, 'b');
    expect(0, 0, "");
    ck_assert(!sample_files_hold(sample_files_of(SET)));
}
END_TEST

START_TEST(each_file_is_judged_by_itself)
{
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 8; i++) {
            char paths[] = "/?\0/same";
            paths[1] = (char)('a' + 8 * round + i);
            TELL(i, paths);
        }
    }
    expect(0, 0, "");
    expect(0, 1, "/same");
    ck_assert(sample_files_hold(sample_files_of(SET)));
}
END_TEST

START_TEST(what_is_no_message)
{
    struct sample_head head = {0, 3};
    ck_assert(!sample_files_add(SET, (const char *)&head, sizeof head - 1));
    ck_assert(!sample_files_add(SET, (const char *)&head, sizeof head)); /* without its paths */
    ck_assert(!tell(SET, 0, "/a", 2));                                   /* without their zero */
    ck_assert(tell(SET, 0, "", 0));
    expect(0, 0, "");
}
END_TEST

START_TEST(no_more_data_sets_and_no_more_memory)
{
    char path[600];
    memset(path, 'a', sizeof path);
    path[sizeof path - 1] = '\0';
    for (uint64_t set = SET; set < SET + 2 * SAMPLE_FILES_SETS; set++) {
        ck_assert(tell(set, 0, "/a", sizeof "/a"));
    }
    ck_assert_ptr_nonnull(sample_files_of(SET + SAMPLE_FILES_SETS - 1));
    ck_assert_ptr_null(sample_files_of(SET + SAMPLE_FILES_SETS));
    ck_assert(tell(SET, SAMPLE_FILES_BYTES, "/b", sizeof "/b"));
    for (uint64_t i = 1; i < SAMPLE_FILES_BYTES / sizeof path * 2; i++) {
        ck_assert(tell(SET, i, path, sizeof path));
    }
    expect(1, 0, path);
    expect(SAMPLE_FILES_BYTES / sizeof path * 2 - 1, 0, "");
}
END_TEST

/* ---- from run to run ---- */

static char state[256], kept_file[512];

static void begin_run(void)
{
    snprintf(state, sizeof state, "%s", unit_path("state"));
    snprintf(kept_file, sizeof kept_file, "%s/stoker/samples/%016x", state, SET);
    ck_assert_int_eq(setenv("XDG_STATE_HOME", state, 1), 0);
    kept_samples_open();
}

/* Has an earlier run open files of so many samples. */
static void run_earlier(unsigned count, char first)
{
    int status = 1;
    pid_t pid = fork();
    if (pid == 0) {
        begin_run();
        open_files(count, first);
        sample_files_keep();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}

START_TEST(what_an_earlier_run_has_seen)
{
    run_earlier(500, 'a');
    begin_run();
    ck_assert_ptr_nonnull(sample_files_begin(SET));
    ck_assert(!sample_files_hold(sample_files_of(SET))); /* a guess */
    ck_assert_uint_eq(sample_files_width(sample_files_of(SET)), 1);
    expect(0, 0, "a/file000");
    expect(499, 0, "a/file499");
    expect(500, 0, "");
    open_files(8, 'a');
    ck_assert(sample_files_hold(sample_files_of(SET)));
    TELL(600, "a/other");
    expect(600, 0, "a/other");
}
END_TEST

START_TEST(this_run_knows_better)
{
    run_earlier(500, 'a');
    run_earlier(3, 'b');
    begin_run();
    sample_files_begin(SET);
    expect(0, 0, "b/file000");
    expect(2, 0, "b/file002");
    expect(3, 0, "a/file003");
}
END_TEST

START_TEST(what_was_replaced_takes_no_room)
{
    struct stat before, after;
    run_earlier(7, 'a');
    ck_assert_int_eq(stat(kept_file, &before), -1);
    begin_run();
    ck_assert_int_eq(stat(kept_file, &before), 0);
    run_earlier(7, 'b');
    ck_assert_int_eq(stat(kept_file, &after), 0);
    ck_assert_int_eq(after.st_size, before.st_size + 9 + 6 * 8); /* they share no letters */
}
END_TEST

/* The next run's guess has this run's files in the place of a wrong one. */
START_TEST(a_wrong_guess_is_not_kept)
{
    run_earlier(500, 'a');
    run_earlier(8, 'b');
    begin_run();
    sample_files_begin(SET);
    expect(0, 0, "b/file000");
    expect(7, 0, "b/file007");
    expect(300, 0, "");
}
END_TEST

START_TEST(nothing_takes_the_place_of_a_wrong_guess)
{
    run_earlier(8, 'a');
    begin_run();
    ck_assert_int_eq(access(kept_file, F_OK), 0);
    for (unsigned i = 0; i < 8; i++) {
        TELL(i, "");
    }
    sample_files_keep();
    ck_assert_int_eq(access(kept_file, F_OK), -1);
}
END_TEST

START_TEST(two_runs_that_are_wrong_by_themselves)
{
    run_earlier(500, 'a');
    begin_run();
    open_files(500, 'b');
    open_files(500, 'c');
    sample_files_keep();
    ck_assert_int_eq(access(kept_file, F_OK), -1);
}
END_TEST

/* The run's own files are a guess that begins anew, with no more files of a sample than it saw. */
START_TEST(a_wrong_guess_is_forgotten)
{
    run_earlier(500, 'a');
    begin_run();
    struct kept_samples *kept = kept_samples_read(SET, 1 << 20);
    ck_assert_ptr_nonnull(kept);
    kept->width = 3;
    kept_samples_write(kept);
    free(kept);
    sample_files_begin(SET);
    ck_assert_uint_eq(sample_files_width(sample_files_of(SET)), 3);
    TELL(600, "c/1\0c/2");
    open_files(7, 'b');
    expect(300, 0, "a/file300");
    open_files(8, 'b'); /* seven of these come again */
    expect(300, 0, "");
    expect(0, 0, "b/file000");
    expect(600, 1, "c/2");
    ck_assert_uint_eq(sample_files_width(sample_files_of(SET)), 2);
    ck_assert(!sample_files_hold(sample_files_of(SET)));
    open_files(8, 'b');
    ck_assert(sample_files_hold(sample_files_of(SET)));
}
END_TEST

START_TEST(a_file_that_is_damaged_or_another_ones)
{
    run_earlier(2, 'a');
    begin_run();
    struct kept_samples *kept = kept_samples_read(SET, 1 << 20);
    ck_assert_ptr_nonnull(kept);
    struct stat stat_;
    ck_assert_int_eq(stat(kept_file, &stat_), 0);
    ck_assert_ptr_null(kept_samples_read(SET, (size_t)stat_.st_size - 1));
    int fd = open(kept_file, O_RDWR);
    for (off_t at = 0; at < stat_.st_size; at++) {
        char byte, other;
        ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
        other = (char)~byte;
        ck_assert_int_eq(pwrite(fd, &other, 1, at), 1);
        ck_assert_ptr_null(kept_samples_read(SET, 1 << 20));
        ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
    }
    for (off_t size = stat_.st_size - 1; size >= 0; size--) {
        ck_assert_int_eq(ftruncate(fd, size), 0);
        ck_assert_ptr_null(kept_samples_read(SET, 1 << 20));
    }
    kept->dataset++;
    kept_samples_write(kept);
    char other_file[sizeof kept_file + 64];
    snprintf(other_file, sizeof other_file, "%s/stoker/samples/%016x", state, SET + 1);
    ck_assert_int_eq(rename(other_file, kept_file), 0);
    ck_assert_ptr_null(kept_samples_read(SET, 1 << 20));
    free(kept);
    close(fd);
}
END_TEST

/* Writes it for another data set. Returns true if that begins with it. */
static bool is_taken(struct kept_samples *kept)
{
    static uint64_t dataset = SET;
    char path[STK_PATH_BYTES];
    kept->dataset = ++dataset;
    kept_samples_write(kept);
    const struct sample_files *files = sample_files_begin(dataset);
    ck_assert_ptr_nonnull(files);
    bool taken =
        sample_files_path(files, 0, 0, path) > 1 || sample_files_path(files, 1, 0, path) > 1;
    ck_assert(taken || sample_files_width(files) == 1);
    return taken;
}

/* The texts are "", "a/file000", then at 11 an entry 1, 9, "", and at 14 an entry 1, 8, "1". */
START_TEST(nonsense_with_a_right_check)
{
    enum { WIDTH = offsetof(struct kept_samples, width), PLACES = sizeof(struct kept_samples) };
    enum { TEXTS = PLACES + 2 * sizeof(uint32_t) };
    static const struct {
        size_t at;
        uint8_t value;
    } nonsense[] = {
        {WIDTH, 0},        {WIDTH, SAMPLE_FILES + 1}, {WIDTH + 4, 1},    /* files of a sample */
        {PLACES, 14},      {PLACES + 4, 13},          {PLACES + 7, 255}, /* not where an entry is */
        {PLACES + 4, 0},                                                 /* an entry of no sample */
        {TEXTS + 11, 0},   {TEXTS + 11, 2},           {TEXTS + 14, 255}, /* files of a sample */
        {TEXTS + 12, 10},                     /* more than the first path */
        {TEXTS + 10, 'x'}, {TEXTS + 17, 'x'}, /* without an end */
    };
    run_earlier(2, 'a');
    begin_run();
    struct kept_samples *kept = kept_samples_read(SET, 1 << 20);
    ck_assert_ptr_nonnull(kept);
    ck_assert(is_taken(kept));
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        uint8_t *byte = (uint8_t *)kept + nonsense[i].at, right = *byte;
        *byte = nonsense[i].value;
        ck_assert_msg(!is_taken(kept), "%zu", i);
        *byte = right;
    }
    free(kept);
}
END_TEST

/* One sample, whose path has so many bytes behind the first path's five. */
static bool is_length_taken(size_t length)
{
    static const char begin[] = "\0data/\0\1\5";
    struct kept_samples *kept =
        calloc(1, sizeof *kept + sizeof(uint32_t) + sizeof begin + length + 1);
    ck_assert_ptr_nonnull(kept);
    uint32_t *places = (uint32_t *)(kept + 1);
    char *texts = (char *)(places + 1);
    kept->samples = kept->width = 1;
    kept->text_bytes = sizeof begin - 1 + length + 1;
    *places = 7;
    memcpy(texts, begin, sizeof begin - 1);
    memset(texts + sizeof begin - 1, 'x', length);
    bool taken = is_taken(kept);
    free(kept);
    return taken;
}

START_TEST(a_path_that_is_too_long)
{
    begin_run();
    ck_assert(is_length_taken(STK_PATH_BYTES - 6));
    ck_assert(!is_length_taken(STK_PATH_BYTES - 5));
}
END_TEST

START_TEST(the_oldest_files_go)
{
    run_earlier(1, 'a');
    begin_run();
    struct kept_samples *kept = kept_samples_read(SET, 1 << 20);
    ck_assert_ptr_nonnull(kept);
    for (unsigned i = 1; i < 2 * KEPT_SAMPLES_FILES; i++) {
        usleep(5000); /* the clock of files has ticks */
        kept->dataset = SET + i;
        kept_samples_write(kept);
    }
    for (unsigned i = 0; i < 2 * KEPT_SAMPLES_FILES; i++) {
        struct kept_samples *found = kept_samples_read(SET + i, 1 << 20);
        ck_assert_int_eq(found != NULL, i >= KEPT_SAMPLES_FILES);
        free(found);
    }
    free(kept);
}
END_TEST

START_TEST(without_a_place_nothing_is_kept)
{
    TELL(0, "/a");
    sample_files_keep();
    ck_assert_ptr_null(kept_samples_read(SET, 1 << 20));
    kept_samples_drop(SET);
}
END_TEST

Suite *suite_sample_files(void)
{
    Suite *suite = suite_create("sample_files");
    TCase *all = unit_case(suite, "sample_files");
    tcase_add_test(all, what_samples_have_opened);
    tcase_add_test(all, several_files_of_a_sample);
    tcase_add_test(all, samples_that_come_again);
    tcase_add_test(all, samples_that_open_other_files);
    tcase_add_test(all, files_that_change_later);
    tcase_add_test(all, each_file_is_judged_by_itself);
    tcase_add_test(all, what_is_no_message);
    tcase_add_test(all, no_more_data_sets_and_no_more_memory);
    tcase_add_test(all, what_an_earlier_run_has_seen);
    tcase_add_test(all, this_run_knows_better);
    tcase_add_test(all, what_was_replaced_takes_no_room);
    tcase_add_test(all, a_wrong_guess_is_not_kept);
    tcase_add_test(all, nothing_takes_the_place_of_a_wrong_guess);
    tcase_add_test(all, two_runs_that_are_wrong_by_themselves);
    tcase_add_test(all, a_wrong_guess_is_forgotten);
    tcase_add_test(all, a_file_that_is_damaged_or_another_ones);
    tcase_add_test(all, nonsense_with_a_right_check);
    tcase_add_test(all, a_path_that_is_too_long);
    tcase_add_test(all, the_oldest_files_go);
    tcase_add_test(all, without_a_place_nothing_is_kept);
    return suite;
}
