/* cli/os/team_walk.c */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

#include "cli/os/team_walk.h"

#define DIRECTORIES 60
#define FILES       20

static atomic_uint met[DIRECTORIES * FILES];

static int note(void *context, int dirfd, const char *name, const struct stat *stat)
{
    atomic_int *left = context;
    (void)dirfd;
    ck_assert(!S_ISDIR(stat->st_mode));
    atomic_fetch_add(&met[strtoul(name, NULL, 10)], 1);
    return atomic_fetch_sub(left, 1) == 1 ? 7 : 0;
}

/* Every third directory lies in the one before it. */
static void make_tree(void)
{
    char path[256] = "";
    int used = 0;
    unit_directory("top");
    for (int i = 0; i < DIRECTORIES; i++) {
        used = i % 3 == 0 ? snprintf(path, sizeof path, "top") : used;
        used += snprintf(path + used, sizeof path - (size_t)used, "/d%d", i);
        unit_directory(path);
        for (int j = 0; j < FILES; j++) {
            char file[300];
            snprintf(file, sizeof file, "%s/%d", path, i * FILES + j);
            unit_write_text(unit_path(file), "x");
        }
    }
}

static void forget(void)
{
    for (unsigned i = 0; i < DIRECTORIES * FILES; i++) {
        atomic_store(&met[i], 0);
    }
}

/* Each file once, and no descriptor is left open. */
START_TEST(visits_each_file_once)
{
    make_tree();
    int lowest = dup(0);
    close(lowest);
    for (int round = 0; round < 50; round++) {
        atomic_int left = 0;
        forget();
        ck_assert_int_eq(team_walk(unit_path("top"), note, &left), 0);
        for (unsigned i = 0; i < DIRECTORIES * FILES; i++) {
            ck_assert_uint_eq(atomic_load(&met[i]), 1);
        }
    }
    int again = dup(0);
    close(again);
    ck_assert_int_eq(again, lowest);
}
END_TEST

START_TEST(a_visitor_ends_it_for_all)
{
    unsigned visited = 0;
    atomic_int left = 5;
    make_tree();
    forget();
    ck_assert_int_eq(team_walk(unit_path("top"), note, &left), 7);
    for (unsigned i = 0; i < DIRECTORIES * FILES; i++) {
        visited += atomic_load(&met[i]);
    }
    ck_assert_uint_lt(visited, DIRECTORIES * FILES / 2);
}
END_TEST

START_TEST(tops_that_are_none)
{
    atomic_int left = 0;
    make_tree();
    ck_assert_int_eq(team_walk(unit_path("nowhere"), note, &left), -ENOENT);
    ck_assert_int_eq(symlink("top", unit_path("link")), 0);
    ck_assert_int_lt(team_walk(unit_path("link"), note, &left), 0);
    ck_assert_int_eq(atomic_load(&left), 0);
}
END_TEST

START_TEST(not_into_a_mount)
{
    UNIT_NEEDS_PRIVATE();
    atomic_int left = 0;
    unit_directory("top");
    unit_directory("top/mounted");
    unit_mount_tmpfs(unit_path("top/mounted"), "size=1m");
    unit_write_text(unit_path("top/mounted/1"), "x");
    forget();
    ck_assert_int_eq(team_walk(unit_path("top"), note, &left), 0);
    ck_assert_int_eq(atomic_load(&left), 0);
}
END_TEST

Suite *suite_team_walk(void)
{
    Suite *suite = suite_create("team_walk");
    TCase *all = unit_case(suite, "by_threads");
    tcase_add_test(all, visits_each_file_once);
    tcase_add_test(all, a_visitor_ends_it_for_all);
    tcase_add_test(all, tops_that_are_none);
    tcase_add_test(all, not_into_a_mount);
    return suite;
}
