/* base/trusted_path.c */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/trusted_path.h"

enum { STRANGER = 12345 };

static int try(const char *path, bool make)
{
    int fd = stk_trusted_path_open(path, make);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0 ? 0 : fd;
}

static void link_to(const char *target, const char *leaf)
{
    ck_assert_int_eq(symlink(target, unit_path(leaf)), 0);
}

static void give_away(const char *leaf)
{
    ck_assert_int_eq(lchown(unit_path(leaf), STRANGER, STRANGER), 0);
}

START_TEST(a_directory_is_opened)
{
    unit_directory("a");
    unit_write_text(unit_path("a/file"), "x");
    int fd = stk_trusted_path_open(unit_path("a"), false);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(faccessat(fd, "file", R_OK, 0), 0);
    ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
    close(fd);
    ck_assert_int_eq(try(unit_path("a/./../a//"), false), 0);
    ck_assert_int_eq(try(unit_path("none"), false), -ENOENT);
    ck_assert_int_eq(try(unit_path("a/file"), false), -ENOTDIR);
    ck_assert_int_eq(try("a", false), -EINVAL);
    ck_assert_int_eq(try("", true), -EINVAL);
}
END_TEST

START_TEST(directories_are_made)
{
    ck_assert_int_eq(try(unit_path("a/b/c/"), true), 0);
    struct stat made = unit_stat(unit_path("a/b"));
    ck_assert_uint_eq(made.st_mode & 07777, 0700);
    ck_assert_int_eq(try(unit_path("a/b/c"), false), 0);
    ck_assert_int_eq(try("/proc/none/a", true), -ENOENT);
}
END_TEST

START_TEST(own_links_are_followed)
{
    unit_directory("a");
    unit_directory("a/b");
    link_to("a", "relative");
    link_to(unit_path("relative"), "absolute");
    link_to("round", "round");
    ck_assert_int_eq(try(unit_path("relative/b"), false), 0);
    ck_assert_int_eq(try(unit_path("absolute/b/"), false), 0);
    ck_assert_int_eq(try(unit_path("absolute/c"), true), 0);
    ck_assert(unit_exists(unit_path("a/c")));
    ck_assert_int_eq(try(unit_path("round/a"), true), -ELOOP);
}
END_TEST

START_TEST(a_text_that_is_too_long)
{
    char path[5000];
    memset(path, '/', sizeof path);
    path[sizeof path - 1] = '\0';
    ck_assert_int_eq(try(path, false), -ENAMETOOLONG);
    path[4095] = '\0';
    memset(path + 3000, 'x', 255);
    ck_assert_int_eq(try(path, false), -ENOENT);
}
END_TEST

START_TEST(what_is_another_users_is_refused)
{
    UNIT_NEEDS_ROOT();
    unit_directory("a");
    unit_directory("a/b");
    unit_directory("ours");
    link_to(unit_path("ours"), "link");
    link_to(unit_path("ours"), "a/link");
    give_away("a");
    give_away("link");
    ck_assert_int_eq(try(unit_path("a"), false), -EPERM);
    ck_assert_int_eq(try(unit_path("a/b"), false), -EPERM);
    ck_assert_int_eq(try(unit_path("a/new"), true), -EPERM);
    ck_assert_int_eq(try(unit_path("link"), true), -EPERM);
    ck_assert_int_eq(try(unit_path("a/link"), true), -EPERM);
    ck_assert(!unit_exists(unit_path("a/new")));
    ck_assert_int_eq(try(unit_path("ours"), false), 0);
}
END_TEST

START_TEST(what_all_may_change_is_refused)
{
    unit_directory("a");
    unit_directory("a/b");
    chmod(unit_path("a"), 0777);
    ck_assert_int_eq(try(unit_path("a/b"), false), -EPERM);
    chmod(unit_path("a"), 01777);
    ck_assert_int_eq(try(unit_path("a/b"), false), 0);
    ck_assert_int_eq(try(unit_path("a"), false), -EPERM);
    chmod(unit_path("a"), 0775); /* a group's directory, where members own their files */
    ck_assert_int_eq(try(unit_path("a/b"), false), 0);
    ck_assert_int_eq(try(unit_path("a"), false), -EPERM);
}
END_TEST

/* A directory below root's directories is this user's all the same. */
START_TEST(another_user_opens_its_own)
{
    UNIT_NEEDS_ROOT();
    unit_directory("root");
    unit_directory("a");
    unit_directory("a/b");
    chmod(unit_path("a"), 0755);
    give_away("a/b");
    ck_assert_int_eq(chmod(unit_path(""), 0755), 0);
    ck_assert_int_eq(seteuid(STRANGER), 0);
    ck_assert_int_eq(try(unit_path("a/b/c"), true), 0);
    ck_assert_int_eq(try(unit_path("a/new"), true), -ENOENT);
    ck_assert_int_eq(try(unit_path("a"), false), -EPERM);
    ck_assert_int_eq(seteuid(0), 0); /* the leak sanitizer reads /proc at the end */
}
END_TEST

START_TEST(descriptors_are_given_back)
{
    int before = dup(0);
    close(before);
    unit_directory("a");
    link_to(unit_path("a"), "link");
    link_to("round", "round");
    unit_write_text(unit_path("a/file"), "x");
    static const char *const leaves[] = {"a", "link", "none", "round", "a/file", "link/new"};
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        try(unit_path(leaves[i]), i == 5);
    }
    int after = dup(0);
    close(after);
    ck_assert_int_eq(before, after);
}
END_TEST

Suite *suite_trusted(void)
{
    Suite *suite = suite_create("trusted_path");
    TCase *trusted = unit_case(suite, "trusted_path");
    tcase_add_test(trusted, a_directory_is_opened);
    tcase_add_test(trusted, directories_are_made);
    tcase_add_test(trusted, own_links_are_followed);
    tcase_add_test(trusted, a_text_that_is_too_long);
    tcase_add_test(trusted, what_is_another_users_is_refused);
    tcase_add_test(trusted, what_all_may_change_is_refused);
    tcase_add_test(trusted, another_user_opens_its_own);
    tcase_add_test(trusted, descriptors_are_given_back);
    return suite;
}
