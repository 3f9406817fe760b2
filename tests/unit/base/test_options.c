/* base/options.c */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/options.h"

static void clear_environment(void)
{
    for (int i = 0; i < STK_OPTION_COUNT; i++) {
        ck_assert_int_eq(unsetenv(stk_option_table[i].variable), 0);
    }
}

static struct stk_options read_with(const char *variable, const char *value)
{
    static struct stk_options options;
    clear_environment();
    ck_assert_int_eq(setenv(variable, value, 1), 0);
    stk_options_read(&options);
    return options;
}

START_TEST(defaults)
{
    struct stk_options options;
    clear_environment();
    stk_options_read(&options);
    ck_assert_str_eq(options.paths, "");
    ck_assert_str_eq(options.tiers, "/dev/shm");
    ck_assert_str_eq(options.run, "");
    ck_assert_int_eq(options.fresh, STK_FRESH_RUN);
    ck_assert_int_eq(options.min_age_ns, 2000000000);
    ck_assert_int_eq(options.max_file_bytes, 8 << 20);
    ck_assert_int_eq(options.whole_bytes, 64 << 20);
    ck_assert_int_eq(options.block_bytes, 1 << 20);
    ck_assert_int_eq(options.readahead_bytes, 8 << 20);
}
END_TEST

START_TEST(values)
{
    ck_assert_str_eq(read_with("STOKER_PATHS", "/a:/b").paths, "/a:/b");
    ck_assert_str_eq(read_with("STOKER_TIERS", "/x:5G,/y").tiers, "/x:5G,/y");
    ck_assert_str_eq(read_with("STOKER_RUN", "/h/runs/1").run, "/h/runs/1");
    ck_assert_int_eq(read_with("STOKER_FRESH", "open").fresh, STK_FRESH_OPEN);
    ck_assert_int_eq(read_with("STOKER_FRESH", "never").fresh, STK_FRESH_NEVER);
    ck_assert_int_eq(read_with("STOKER_MIN_AGE", "0.05").min_age_ns, 50000000);
    ck_assert_int_eq(read_with("STOKER_MAX_FILE", "1K").max_file_bytes, 1024);
    ck_assert_int_eq(read_with("STOKER_WHOLE", "1K").whole_bytes, 1024);
    ck_assert_int_eq(read_with("STOKER_WHOLE", "much").whole_bytes, 64 << 20);
    ck_assert_int_eq(read_with("STOKER_LISTINGS", "mtime").listings, STK_LISTINGS_MTIME);
    ck_assert_int_eq(read_with("STOKER_LISTINGS", "off").listings, STK_LISTINGS_OFF);
    ck_assert_int_eq(read_with("STOKER_LISTINGS", "maybe").listings, STK_LISTINGS_AUTO);
    ck_assert_int_eq(read_with("STOKER_BLOCK", "256K").block_bytes, 256 << 10);
    ck_assert_int_eq(read_with("STOKER_BLOCK", "0").block_bytes, 0);
    ck_assert_int_eq(read_with("STOKER_READAHEAD", "0").readahead_bytes, 0);
}
END_TEST

START_TEST(bad_and_empty_values_count_as_unset)
{
    ck_assert_int_eq(read_with("STOKER_FRESH", "Open").fresh, STK_FRESH_RUN);
    ck_assert_int_eq(read_with("STOKER_MIN_AGE", "soon").min_age_ns, 2000000000);
    ck_assert_int_eq(read_with("STOKER_MIN_AGE", "-1").min_age_ns, 2000000000);
    ck_assert_int_eq(read_with("STOKER_MAX_FILE", "64X").max_file_bytes, 8 << 20);
    ck_assert_int_eq(read_with("STOKER_BLOCK", "4K").block_bytes, 1 << 20);
    ck_assert_int_eq(read_with("STOKER_BLOCK", "100000").block_bytes, 1 << 20);
    ck_assert_int_eq(read_with("STOKER_READAHEAD", "far").readahead_bytes, 8 << 20);
    ck_assert_int_eq(read_with("STOKER_MAX_FILE", "8192P").max_file_bytes, 8 << 20);
    ck_assert_str_eq(read_with("STOKER_TIERS", "").tiers, "/dev/shm");
}
END_TEST

START_TEST(too_long_values_are_dropped)
{
    char value[STK_TIERS_BYTES + 1];
    memset(value, 'x', sizeof value);
    value[0] = '/';
    value[STK_TIERS_BYTES] = '\0';
    ck_assert_str_eq(read_with("STOKER_TIERS", value).tiers, "");
    value[STK_TIERS_BYTES - 1] = '\0';
    ck_assert_str_eq(read_with("STOKER_TIERS", value).tiers, value);
}
END_TEST

START_TEST(complaints)
{
    ck_assert_ptr_null(stk_option_complaint(STK_OPTION_FRESH, "run"));
    ck_assert_ptr_nonnull(stk_option_complaint(STK_OPTION_FRESH, "sometimes"));
    ck_assert_ptr_null(stk_option_complaint(STK_OPTION_MIN_AGE, "0.05"));
    ck_assert_ptr_nonnull(stk_option_complaint(STK_OPTION_MIN_AGE, "2s"));
    ck_assert_ptr_null(stk_option_complaint(STK_OPTION_MAX_FILE, "64M"));
    ck_assert_ptr_null(stk_option_complaint(STK_OPTION_SAMPLES, "/mnt/samples"));
    ck_assert_ptr_null(stk_option_complaint(STK_OPTION_SAMPLES, "/mnt/samples:20G"));
    ck_assert_ptr_nonnull(stk_option_complaint(STK_OPTION_SAMPLES, "/mnt/samples:some"));
    ck_assert_ptr_nonnull(stk_option_complaint(STK_OPTION_MAX_FILE, "large"));
    ck_assert_ptr_null(stk_option_complaint(STK_OPTION_BLOCK, "0"));
    ck_assert_ptr_nonnull(stk_option_complaint(STK_OPTION_BLOCK, "65537"));
    ck_assert_ptr_nonnull(stk_option_complaint(STK_OPTION_READAHEAD, "far"));
    ck_assert_ptr_null(stk_option_complaint(STK_OPTION_RUN, "anything"));
}
END_TEST

START_TEST(table_is_whole)
{
    for (enum stk_option i = 0; i < STK_OPTION_COUNT; i++) {
        const struct stk_option_row *row = &stk_option_table[i];
        ck_assert_int_eq(strncmp(row->variable, "STOKER_", 7), 0);
        ck_assert_ptr_nonnull(row->argument);
        ck_assert_ptr_nonnull(row->otherwise);
        ck_assert_uint_gt(strlen(row->meaning), 20);
        ck_assert(row->flag == NULL || strncmp(row->flag, "--", 2) == 0);
        ck_assert_msg(*row->otherwise == '\0' || stk_option_complaint(i, row->otherwise) == NULL,
                      "%s: the default is bad", row->variable);
    }
}
END_TEST

static const struct {
    const char *list;
    const char *paths[4];
} lists[] = {
    {"", {NULL}},
    {":::", {NULL}},
    {"/a", {"/a"}},
    {"/a:/b", {"/a", "/b"}},
    {":/a::/b:", {"/a", "/b"}},
    {"/a\\:b:/c", {"/a:b", "/c"}},
    {"/a\\\\b", {"/a\\b"}},
    {"/a\\b", {"/ab"}},
    {"/a\\", {"/a\\"}},
    {"/a\\\\:/b", {"/a\\", "/b"}},
    {"/much-too-long-for-it:/b", {"/b"}},
    {"/fifteen-bytes-:/b", {"/fifteen-bytes-", "/b"}},
};

START_TEST(takes_paths)
{
    char path[16];
    const char *at = lists[_i].list;
    for (int i = 0; lists[_i].paths[i] != NULL; i++) {
        ck_assert(stk_options_next_path(&at, path, sizeof path));
        ck_assert_str_eq(path, lists[_i].paths[i]);
    }
    ck_assert(!stk_options_next_path(&at, path, sizeof path));
    ck_assert(!stk_options_next_path(&at, path, sizeof path));
}
END_TEST

Suite *suite_options(void)
{
    Suite *suite = suite_create("options");
    TCase *read = unit_case(suite, "options_read");
    tcase_add_test(read, defaults);
    tcase_add_test(read, values);
    tcase_add_test(read, bad_and_empty_values_count_as_unset);
    tcase_add_test(read, too_long_values_are_dropped);
    tcase_add_test(read, complaints);
    tcase_add_test(read, table_is_whole);
    TCase *paths = unit_case(suite, "options_paths");
    tcase_add_loop_test(paths, takes_paths, 0, sizeof lists / sizeof *lists);
    return suite;
}
