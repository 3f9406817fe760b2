/* base/walk.c */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/walk.h"

struct seen {
    unsigned files, directories, links;
    bool saw_file, order_broken; /* a directory was shown before something in it */
    int stop_after;
};

static int look(void *context, int dirfd, const char *name, const struct stat *stat)
{
    struct seen *seen = context;
    seen->files += S_ISREG(stat->st_mode);
    seen->directories += S_ISDIR(stat->st_mode);
    seen->links += S_ISLNK(stat->st_mode);
    struct stat again;
    ck_assert_int_eq(fstatat(dirfd, name, &again, AT_SYMLINK_NOFOLLOW), 0);
    ck_assert_uint_eq(again.st_ino, stat->st_ino);
    seen->saw_file |= strcmp(name, "file") == 0;
    seen->order_broken |= strcmp(name, "inner") == 0 && !seen->saw_file;
    return --seen->stop_after == 0 ? 7 : 0;
}

static void make_tree(void)
{
    unit_directory("top");
    unit_directory("top/outer");
    unit_directory("top/outer/inner");
    unit_write_text(unit_path("top/outer/inner/file"), "x");
    unit_write_text(unit_path("top/.hidden"), "x");
    unit_write_text(unit_path("top/..odd"), "x");
    unit_directory("elsewhere");
    unit_write_text(unit_path("elsewhere/file"), "x");
    ck_assert_int_eq(symlink(unit_path("elsewhere"), unit_path("top/link")), 0);
}

START_TEST(walks)
{
    struct seen seen = {0};
    make_tree();
    ck_assert_int_eq(stk_walk(unit_path("top"), look, &seen), 0);
    ck_assert_uint_eq(seen.files, 3);
    ck_assert_uint_eq(seen.directories, 2);
    ck_assert_uint_eq(seen.links, 1);
    ck_assert(!seen.order_broken);
}
END_TEST

START_TEST(stops_when_told)
{
    struct seen seen = {.stop_after = 2};
    make_tree();
    ck_assert_int_eq(stk_walk(unit_path("top"), look, &seen), 7);
    ck_assert_uint_eq(seen.files + seen.directories + seen.links, 2);
}
END_TEST

START_TEST(many_names)
{
    struct seen seen = {0};
    char name[64];
    unit_directory("top");
    for (int i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "top/a-name-long-enough-for-several-buffers-%d", i);
        unit_write_text(unit_path(name), "");
    }
    ck_assert_int_eq(stk_walk(unit_path("top"), look, &seen), 0);
    ck_assert_uint_eq(seen.files, 3000);
    ck_assert_int_eq(stk_walk_remove(unit_path("top")), 0);
    ck_assert(!unit_exists(unit_path("top")));
}
END_TEST

START_TEST(removes)
{
    make_tree();
    ck_assert_int_eq(stk_walk_remove(unit_path("top")), 0);
    ck_assert(!unit_exists(unit_path("top")));
    ck_assert(unit_exists(unit_path("elsewhere/file")));
    ck_assert_int_eq(stk_walk_remove(unit_path("top")), 0);
}
END_TEST

START_TEST(removes_nothing_mounted)
{
    UNIT_NEEDS_PRIVATE();
    make_tree();
    unit_directory("top/mounted");
    unit_write_text(unit_path("elsewhere/kept"), "");
    ck_assert_int_eq(mount(unit_path("elsewhere"), unit_path("top/mounted"), NULL, MS_BIND, NULL),
                     0);
    ck_assert_int_ne(stk_walk_remove(unit_path("top")), 0);
    ck_assert(unit_exists(unit_path("elsewhere/kept")));
    ck_assert_int_eq(umount(unit_path("top/mounted")), 0);
    ck_assert_int_eq(stk_walk_remove(unit_path("top")), 0);
}
END_TEST

START_TEST(removes_no_link_and_no_file)
{
    make_tree();
    ck_assert_int_eq(stk_walk_remove(unit_path("top/link")), -ENOTDIR);
    ck_assert(unit_exists(unit_path("top/link")));
    ck_assert_int_eq(stk_walk_remove(unit_path("top/.hidden")), -ENOTDIR);
    ck_assert(unit_exists(unit_path("elsewhere/file")));
    struct seen seen = {0};
    ck_assert_int_eq(stk_walk(unit_path("none"), look, &seen), -ENOENT);
}
END_TEST

Suite *suite_walk(void)
{
    Suite *suite = suite_create("walk");
    TCase *all = unit_case(suite, "walk_trees");
    tcase_add_test(all, walks);
    tcase_add_test(all, stops_when_told);
    tcase_add_test(all, many_names);
    tcase_add_test(all, removes);
    tcase_add_test(all, removes_nothing_mounted);
    tcase_add_test(all, removes_no_link_and_no_file);
    return suite;
}
