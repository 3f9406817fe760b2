/* cli/ahead/orders/sample_files.c */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

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
    return suite;
}
