/* base/path.c */
#include "tests/unit/unit.h"

#include <string.h>

#include "base/path.h"

static const struct {
    const char *path, *root, *below; /* below NULL: not covered */
} belows[] = {
    {"/data/x", "/data", "x"},
    {"/data", "/data", ""},
    {"/data/", "/data", ""},
    {"/data/.", "/data", ""},
    {"/data//x", "/data", "x"},
    {"/data/./x", "/data", "x"},
    {"//data/x", "/data", "x"},
    {"/./data/x", "/data", "x"},
    {"/.//./data/././/x/y", "/data", "x/y"},
    {"/a//b/./c", "/a/b", "c"},
    {"/a/b/c//d/", "/a/b", "c//d/"},
    {"/data2/x", "/data", NULL},
    {"/dat", "/data", NULL},
    {"/dat/a", "/data", NULL},
    {"/", "/data", NULL},
    {"", "/data", NULL},
    {"data/x", "/data", NULL},
    {"./data/x", "/data", NULL},
    {"/data.x", "/data", NULL},
    {"/data/.hidden", "/data", ".hidden"},
    {"/data/..hidden", "/data", "..hidden"},
    {"/data/...", "/data", "..."},
    {"/.data/x", "/.data", "x"},
    {"/.data/x", "/data", NULL},
    {"/a/../data/x", "/data", NULL},
    {"/data/../x", "/data", "../x"},
    {"/DATA/x", "/data", NULL},
};

START_TEST(below)
{
    const char *got = stk_path_below(belows[_i].path, belows[_i].root);
    const char *wanted = belows[_i].below;
    ck_assert_msg(wanted == NULL ? got == NULL : got != NULL && strcmp(got, wanted) == 0,
                  "%s below %s: %s", belows[_i].path, belows[_i].root, got != NULL ? got : "none");
}
END_TEST

static const struct {
    const char *path, *folded; /* folded NULL: only the origin can say */
} folds[] = {
    {"x", "x"},
    {"/x", "x"},
    {"//x", "x"},
    {"./x", "x"},
    {"x/y/z", "x/y/z"},
    {"x//y", "x/y"},
    {"x/./y", "x/y"},
    {"x/.//./y", "x/y"},
    {"x/.y", "x/.y"},
    {".x/y", ".x/y"},
    {"..x/y..", "..x/y.."},
    {".../x", ".../x"},
    {"x.", "x."},
    {"a b\nc/d", "a b\nc/d"},
    {"", NULL},
    {"/", NULL},
    {".", NULL},
    {"./", NULL},
    {"//.//", NULL},
    {"..", NULL},
    {"../x", NULL},
    {"x/..", NULL},
    {"x/../y", NULL},
    {"x/..//y", NULL},
    {"x/", NULL},
    {"x//", NULL},
    {"x/.", NULL},
    {"x/./", NULL},
    {"x/.//.", NULL},
};

START_TEST(fold)
{
    char out[64];
    long length = stk_path_fold(folds[_i].path, out, sizeof out);
    const char *wanted = folds[_i].folded;
    if (wanted == NULL) {
        ck_assert_msg(length == -1, "\"%s\": %ld", folds[_i].path, length);
        return;
    }
    ck_assert_msg(length == (long)strlen(wanted), "\"%s\": %ld", folds[_i].path, length);
    ck_assert_str_eq(out, wanted);
}
END_TEST

/* As the rest of a path behind its root, in one buffer. */
START_TEST(fold_in_place)
{
    char buffer[256] = "/";
    const char *wanted = folds[_i].folded;
    strcpy(buffer + 1, folds[_i].path);
    long length = stk_path_fold(buffer + 1, buffer, sizeof buffer);
    ck_assert_int_eq(length, wanted == NULL ? -1 : (long)strlen(wanted));
    if (wanted != NULL) {
        ck_assert_str_eq(buffer, wanted);
    }
}
END_TEST

START_TEST(fold_keeps_to_its_room)
{
    char out[9] = "ZZZZZZZZ";
    ck_assert_int_eq(stk_path_fold("abcdefgh", out, 8), -1);
    ck_assert_int_eq(stk_path_fold("abc/def/g", out, 8), -1);
    ck_assert_int_eq(stk_path_fold("abc/de", out, 8), 6);
    ck_assert_int_eq(out[8], '\0');
    ck_assert_int_eq(out[7], 'Z');
}
END_TEST

START_TEST(fold_at_the_kernels_limit)
{
    static char path[2 * STK_PATH_BYTES], out[STK_PATH_BYTES];
    memset(path, 'a', sizeof path - 1);
    ck_assert_int_eq(stk_path_fold(path, out, sizeof out), -1);
    memset(path, '/', sizeof path - 1);
    strcpy(path + sizeof path - 3, "/b");
    ck_assert_int_eq(stk_path_fold(path, out, sizeof out), 1);
    ck_assert_str_eq(out, "b");
}
END_TEST

START_TEST(leaf)
{
    ck_assert_str_eq(stk_path_leaf("a/b/c"), "c");
    ck_assert_str_eq(stk_path_leaf("c"), "c");
    ck_assert_str_eq(stk_path_leaf("/"), "");
    ck_assert_str_eq(stk_path_leaf("a/"), "");
}
END_TEST

static const struct {
    const char *lock, *data; /* NULL: it is no lock file */
} databases[] = {{"/x/lock.mdb", "/x/data.mdb"},
                 {"lock.mdb", "data.mdb"},
                 {"/x/train.lmdb-lock", "/x/train.lmdb"},
                 {"a-lock", "a"},
                 {"/x/-lock", NULL},
                 {"-lock", NULL},
                 {"/lock.mdb/x", NULL},
                 {"/x-lock/y", NULL},
                 {"/x/block.mdb", NULL},
                 {"/x/lock.mdb.old", NULL},
                 {"/x/", NULL},
                 {"", NULL}};

START_TEST(lmdb_data)
{
    char out[64];
    bool is_lock = stk_path_lmdb_data(databases[_i].lock, out, sizeof out);
    ck_assert_int_eq(is_lock, databases[_i].data != NULL);
    ck_assert_int_eq(stk_path_is_lmdb_lock(databases[_i].lock), is_lock);
    if (is_lock) {
        ck_assert_str_eq(out, databases[_i].data);
    }
}
END_TEST

START_TEST(lmdb_data_keeps_to_its_room)
{
    char out[10];
    ck_assert(stk_path_lmdb_data("x/y-lock", out, sizeof out));
    ck_assert(!stk_path_lmdb_data("x/yyy-lock", out, sizeof out));
}
END_TEST

Suite *suite_path(void)
{
    Suite *suite = suite_create("path");
    TCase *first = unit_case(suite, "path_below");
    tcase_add_loop_test(first, below, 0, sizeof belows / sizeof *belows);
    TCase *second = unit_case(suite, "path_fold");
    tcase_add_loop_test(second, fold, 0, sizeof folds / sizeof *folds);
    tcase_add_loop_test(second, fold_in_place, 0, sizeof folds / sizeof *folds);
    tcase_add_test(second, fold_keeps_to_its_room);
    tcase_add_test(second, fold_at_the_kernels_limit);
    tcase_add_test(second, leaf);
    tcase_add_loop_test(second, lmdb_data, 0, sizeof databases / sizeof *databases);
    tcase_add_test(second, lmdb_data_keeps_to_its_room);
    return suite;
}
