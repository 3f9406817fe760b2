/* cache/catalogue/home.c */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache/catalogue/home.h"

START_TEST(path)
{
    char out[STK_HOME_BYTES], wanted[64], dir[STK_HOME_BYTES];
    snprintf(wanted, sizeof wanted, "/x/stoker-%u", (unsigned)geteuid());
    ck_assert(stk_home_path(out, "/x"));
    ck_assert_str_eq(out, wanted);
    memset(dir, 'x', sizeof dir);
    dir[sizeof dir - 4] = '\0';
    ck_assert(!stk_home_path(out, dir));
}
END_TEST

static void assert_path(const char *dir, const char *suffix)
{
    char out[STK_HOME_BYTES], wanted[STK_HOME_BYTES + 32];
    snprintf(wanted, sizeof wanted, "%s/stoker-%u%s", dir, (unsigned)geteuid(), suffix);
    ck_assert(stk_home_path(out, dir));
    ck_assert_str_eq(out, wanted);
}

static char *further(const char *dir, unsigned number)
{
    static char home[STK_HOME_BYTES + 32];
    snprintf(home, sizeof home, "%s/stoker-%u.%u", dir, (unsigned)geteuid(), number);
    if (number == 0) {
        *strrchr(home, '.') = '\0';
    }
    return home;
}

START_TEST(passes_over_names_of_others)
{
    UNIT_NEEDS_ROOT();
    char dir[STK_HOME_BYTES];
    strcpy(dir, unit_directory("names"));
    assert_path(dir, "");
    for (unsigned i = 0; i < STK_HOME_NAMES; i++) {
        ck_assert_int_eq(mkdir(further(dir, i), 0777), 0);
        assert_path(dir, i > 0 ? strrchr(further(dir, i), '.') : ""); /* it is ours */
        ck_assert_int_eq(chown(further(dir, i), 1234, 1234), 0);
    }
    assert_path(dir, ""); /* which is then refused */
    ck_assert_int_eq(chown(further(dir, 4), geteuid(), getegid()), 0);
    assert_path(dir, ".4");
    ck_assert_int_eq(rmdir(further(dir, 0)), 0);
    assert_path(dir, ".4"); /* what is there comes before what is free */
    ck_assert_int_eq(rmdir(further(dir, 4)), 0);
    assert_path(dir, "");
}
END_TEST

START_TEST(passes_over_second_names)
{
    char dir[STK_HOME_BYTES];
    strcpy(dir, unit_directory("names"));
    unit_write_text(unit_path("names/file"), "x");
    ck_assert_int_eq(link(unit_path("names/file"), further(dir, 0)), 0);
    assert_path(dir, ".1");
    ck_assert_int_eq(unlink(unit_path("names/file")), 0);
    assert_path(dir, ""); /* of the default home only, which the user has to look at */
}
END_TEST

START_TEST(knows_its_names)
{
    char leaf[64];
    for (unsigned i = 0; i < STK_HOME_NAMES; i++) {
        ck_assert(stk_home_is_name(further("", i) + 1));
        ck_assert_int_eq(stk_home_is_further_name(further("", i) + 1), i > 0);
    }
    snprintf(leaf, sizeof leaf, "stoker-%u", (unsigned)geteuid() + 1);
    ck_assert(!stk_home_is_name(leaf));
    ck_assert(!stk_home_is_name(further("", 10) + 1));
    ck_assert(!stk_home_is_name(further("", 12) + 1));
    ck_assert(!stk_home_is_name("stoker-"));
    ck_assert(!stk_home_is_name(""));
}
END_TEST

START_TEST(makes_and_checks)
{
    const char *home = unit_path("home");
    ck_assert_int_eq(stk_home_check(home), -ENOENT);
    umask(0);
    ck_assert_int_eq(stk_home_ensure(home), 0);
    ck_assert_uint_eq(unit_stat(home).st_mode, S_IFDIR | 0700);
    ck_assert_int_eq(stk_home_ensure(home), 0);
    ck_assert_int_eq(stk_home_ensure_directory(home, "runs"), 0);
    ck_assert_uint_eq(unit_stat(unit_path("home/runs")).st_mode, S_IFDIR | 0700);
    ck_assert_int_eq(stk_home_ensure(unit_path("no/home")), -ENOENT);
}
END_TEST

START_TEST(a_program_s_umask_keeps_nothing_from_its_user)
{
    umask(0777);
    const char *home = unit_path("home");
    ck_assert_int_eq(stk_home_ensure(home), 0);
    ck_assert_uint_eq(unit_stat(home).st_mode, S_IFDIR | 0700);
    ck_assert_int_eq(stk_home_ensure_directory(home, "tree"), 0);
    ck_assert_uint_eq(unit_stat(unit_path("home/tree")).st_mode, S_IFDIR | 0700);
}
END_TEST

START_TEST(refuses)
{
    ck_assert_int_eq(symlink("/", unit_path("link")), 0);
    ck_assert_int_eq(stk_home_ensure(unit_path("link")), -ELOOP);
    ck_assert_int_eq(symlink("nowhere", unit_path("dangling")), 0);
    ck_assert_int_eq(stk_home_ensure(unit_path("dangling")), -ELOOP);
    unit_write_text(unit_path("file"), "");
    ck_assert_int_eq(stk_home_ensure(unit_path("file")), -ENOTDIR);
    const char *home = unit_directory("home");
    static const mode_t bad[] = {0720, 0702, 0777, 01777};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_eq(chmod(home, bad[i]), 0);
        ck_assert_int_eq(stk_home_ensure(home), -ENOTUNIQ);
    }
    ck_assert_int_eq(chmod(home, 0755), 0);
    ck_assert_int_eq(stk_home_ensure(home), 0);
}
END_TEST

START_TEST(a_home_is_opened)
{
    struct stat stat;
    const char *home = unit_directory("home");
    int fd = stk_home_open(home);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fstat(fd, &stat), 0);
    ck_assert_uint_eq(stat.st_ino, unit_stat(home).st_ino);
    ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
    close(fd);
    ck_assert_int_eq(stk_home_open(unit_path("none")), -ENOENT);
    ck_assert_int_eq(symlink("home", unit_path("link")), 0);
    ck_assert_int_eq(stk_home_open(unit_path("link")), -ELOOP);
    unit_write_text(unit_path("file"), "");
    ck_assert_int_eq(stk_home_open(unit_path("file")), -ENOTDIR);
    ck_assert_int_eq(chmod(home, 0770), 0);
    ck_assert_int_eq(stk_home_open(home), -ENOTUNIQ);
    UNIT_NEEDS_ROOT();
    ck_assert_int_eq(chown(home, 1234, 1234), 0);
    ck_assert_int_eq(stk_home_open(home), -EPERM);
}
END_TEST

START_TEST(refuses_another_users)
{
    UNIT_NEEDS_ROOT();
    const char *home = unit_directory("home");
    ck_assert_int_eq(chown(home, 1234, 1234), 0);
    ck_assert_int_eq(stk_home_ensure(home), -EPERM);
    ck_assert_int_eq(stk_home_check_parent(home, NULL), -EPERM);
}
END_TEST

START_TEST(parents)
{
    const char *dir = unit_directory("dir");
    ck_assert_int_eq(stk_home_check_parent(dir, NULL), 0);
    ck_assert_int_eq(chmod(dir, 0777), 0);
    ck_assert_int_eq(stk_home_check_parent(dir, NULL), -ENOTUNIQ);
    ck_assert_int_eq(chmod(dir, 0775), 0);
    ck_assert_int_eq(stk_home_check_parent(dir, NULL), -ENOTUNIQ);
    ck_assert_int_eq(chmod(dir, 01777), 0);
    ck_assert_int_eq(stk_home_check_parent(dir, NULL), 0);
    ck_assert_int_eq(symlink("dir", unit_path("link")), 0);
    ck_assert_int_eq(stk_home_check_parent(unit_path("link"), NULL), -ELOOP);
    unit_write_text(unit_path("file"), "");
    ck_assert_int_eq(stk_home_check_parent(unit_path("file"), NULL), -ENOTDIR);
    ck_assert_int_eq(stk_home_check_parent(unit_path("none"), NULL), -ENOENT);
}
END_TEST

START_TEST(above_parents)
{
    char above[STK_HOME_BYTES], dir[STK_HOME_BYTES];
    strcpy(above, unit_directory("above"));
    strcpy(dir, unit_directory("above/dir"));
    unit_directory("above/dir/below");
    ck_assert_int_eq(stk_home_check_parent(unit_path("above/dir/below"), NULL), 0);
    ck_assert_int_eq(chmod(above, 0777), 0);
    ck_assert_int_eq(stk_home_check_parent(unit_path("above/dir/below"), NULL), -ENOTUNIQ);
    ck_assert_int_eq(stk_home_check_parent(dir, NULL), -ENOTUNIQ);
    ck_assert_int_eq(chmod(above, 01777), 0);
    ck_assert_int_eq(stk_home_check_parent(dir, NULL), 0);
    static const mode_t groups[] = {0775, 02775, 0720};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        char where[STK_PATH_BYTES];
        ck_assert_int_eq(chmod(above, groups[i]), 0);
        ck_assert_int_eq(stk_home_check_parent(dir, where), -ENOTUNIQ);
        ck_assert_str_eq(where, above);
        ck_assert_int_eq(chmod(above, groups[i] | S_ISVTX), 0);
        ck_assert_int_eq(stk_home_check_parent(dir, NULL), 0);
    }
}
END_TEST

START_TEST(above_parents_of_another_user)
{
    UNIT_NEEDS_ROOT();
    char where[STK_PATH_BYTES], above[STK_HOME_BYTES];
    strcpy(above, unit_directory("above"));
    const char *dir = unit_directory("above/dir");
    ck_assert_int_eq(chown(above, 1234, 1234), 0);
    ck_assert_int_eq(stk_home_check_parent(dir, where), -EPERM);
    ck_assert_str_eq(where, above);
    ck_assert_int_eq(chown(above, 0, 0), 0);
    ck_assert_int_eq(chown(dir, 1234, 1234), 0);
    ck_assert_int_eq(stk_home_check_parent(dir, where), -EPERM);
    ck_assert_str_eq(where, dir);
}
END_TEST

static void assert_found(int (*find)(char out[STK_HOME_BYTES]), const char *dir)
{
    char out[STK_HOME_BYTES], wanted[STK_HOME_BYTES];
    ck_assert(stk_home_path(wanted, dir));
    ck_assert_int_eq(find(out), 0);
    ck_assert_str_eq(out, wanted);
}

START_TEST(finds_dev_shm_first)
{
    UNIT_NEEDS_PRIVATE();
    char out[STK_HOME_BYTES];
    ck_assert_int_eq(stk_home_find_existing(out), -ENOENT);
    assert_found(stk_home_find, "/dev/shm");
    ck_assert_int_eq(stk_home_find_existing(out), -ENOENT); /* no catalogue yet */
}
END_TEST

START_TEST(finds_where_the_catalogue_is)
{
    UNIT_NEEDS_PRIVATE();
    char home[STK_HOME_BYTES], file[STK_HOME_BYTES + 16];
    const char *runtime = unit_directory("runtime");
    ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", runtime, 1), 0);
    ck_assert(stk_home_path(home, runtime));
    ck_assert_int_eq(stk_home_ensure(home), 0);
    snprintf(file, sizeof file, "%s/catalogue", home);
    unit_write_text(file, "");
    assert_found(stk_home_find_existing, runtime);
    assert_found(stk_home_find, runtime);
    ck_assert_int_eq(chmod(home, 0777), 0); /* not to be trusted any more */
    assert_found(stk_home_find, "/dev/shm");
}
END_TEST

START_TEST(passes_over_what_has_no_room)
{
    UNIT_NEEDS_PRIVATE();
    unit_mount_tmpfs("/dev/shm", "size=64k");
    const char *runtime = unit_directory("runtime");
    ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", runtime, 1), 0);
    assert_found(stk_home_find, runtime);
    ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", "relative", 1), 0);
    unit_mount_tmpfs("/dev/shm", "size=64m");
    assert_found(stk_home_find, "/dev/shm");
}
END_TEST

Suite *suite_home(void)
{
    Suite *suite = suite_create("home");
    TCase *check = unit_case(suite, "home_check");
    tcase_add_test(check, path);
    tcase_add_test(check, passes_over_names_of_others);
    tcase_add_test(check, passes_over_second_names);
    tcase_add_test(check, knows_its_names);
    tcase_add_test(check, makes_and_checks);
    tcase_add_test(check, a_program_s_umask_keeps_nothing_from_its_user);
    tcase_add_test(check, refuses);
    tcase_add_test(check, a_home_is_opened);
    tcase_add_test(check, refuses_another_users);
    tcase_add_test(check, parents);
    tcase_add_test(check, above_parents);
    tcase_add_test(check, above_parents_of_another_user);
    TCase *find = unit_case(suite, "home_find");
    tcase_add_test(find, finds_dev_shm_first);
    tcase_add_test(find, finds_where_the_catalogue_is);
    tcase_add_test(find, passes_over_what_has_no_room);
    return suite;
}
