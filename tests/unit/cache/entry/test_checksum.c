/* cache/entry/checksum.c */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/types.h>
#include <unistd.h>

#include "cache/entry/checksum.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

static const char *make_draft(const char *directory)
{
    const char *path = unit_join(directory, "draft");
    unit_write_text(path, "hello");
    ck_assert_int_eq(chmod(path, 0400), 0);
    return path;
}

static void assert_of_this_boot(const char *path, bool expected)
{
    struct stat stat = unit_stat(path);
    ck_assert_int_eq(stk_checksum_is_of_this_boot(&stat), expected);
}

/* Pieces in whatever order they come. */
START_TEST(is_the_sum_of_pieces)
{
    static char bytes[10 * STK_CHECKSUM_UNIT_BYTES + 77];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)(i * i >> 5);
    }
    const size_t cut = 3 * STK_CHECKSUM_UNIT_BYTES;
    uint64_t whole = stk_checksum_of(bytes, sizeof bytes, 0);
    uint64_t later = stk_checksum_of(bytes + cut, sizeof bytes - cut, cut);
    ck_assert_uint_eq(whole, later + stk_checksum_of(bytes, cut, 0));
    ck_assert_uint_ne(whole, later + stk_checksum_of(bytes, cut, cut));
    bytes[sizeof bytes - 1] ^= 1;
    ck_assert_uint_ne(whole, stk_checksum_of(bytes, sizeof bytes, 0));
}
END_TEST

/* Bytes that are right, in the wrong places. */
START_TEST(units_have_their_places)
{
    static char bytes[2 * STK_CHECKSUM_UNIT_BYTES], swapped[sizeof bytes];
    memset(bytes, 'a', STK_CHECKSUM_UNIT_BYTES);
    memset(bytes + STK_CHECKSUM_UNIT_BYTES, 'b', STK_CHECKSUM_UNIT_BYTES);
    memset(swapped, 'b', STK_CHECKSUM_UNIT_BYTES);
    memset(swapped + STK_CHECKSUM_UNIT_BYTES, 'a', STK_CHECKSUM_UNIT_BYTES);
    ck_assert_uint_ne(stk_checksum_of(bytes, sizeof bytes, 0),
                      stk_checksum_of(swapped, sizeof swapped, 0));
}
END_TEST

START_TEST(a_draft_gets_its_check_sum)
{
    uint64_t check = 0;
    const char *path = make_draft(unit_directory("disk"));
    ck_assert(!stk_checksum_get(path, &check));
    assert_of_this_boot(path, false);
    ck_assert_int_eq(stk_checksum_store(path, 0x123456789abcdef), 0);
    UNIT_NEEDS(stk_checksum_get(path, &check), "needs a disk with user attributes");
    ck_assert_uint_eq(check, 0x123456789abcdef);
    ck_assert_uint_eq(unit_stat(path).st_mode, S_IFREG | 0400);
    ck_assert(unit_has_text(path, "hello"));
    assert_of_this_boot(path, true);
}
END_TEST

static int leave_as_nobody(void *path)
{
    uint64_t check;
    return chown(path, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0 &&
                   stk_checksum_store(path, 7) == 0 && stk_checksum_get(path, &check) && check == 7
               ? 0
               : 1;
}

/* An ordinary user's entries are read-only, for their owner as well. */
START_TEST(of_an_ordinary_user)
{
    UNIT_NEEDS_ROOT();
    uint64_t check = 0;
    char path[256];
    ck_assert_int_eq(chmod(unit_path("."), 0755), 0);
    strcpy(path, make_draft(unit_directory("disk")));
    ck_assert_int_eq(stk_checksum_store(path, 1), 0);
    UNIT_NEEDS(stk_checksum_get(path, &check), "needs a disk with user attributes");
    ck_assert_int_eq(unit_in_child(leave_as_nobody, path), 0);
}
END_TEST

START_TEST(what_was_written_since_is_not_of_this_boot)
{
    const char *path = make_draft(unit_directory("disk"));
    ck_assert_int_eq(stk_checksum_store(path, 7), 0);
    unit_write_text(path, "hullo");
    assert_of_this_boot(path, false);
    struct stat stat = unit_stat(path);
    stk_checksum_renew(path, &stat);
    assert_of_this_boot(path, true);
    ck_assert_int_eq(unit_stat(path).st_mtim.tv_sec, stat.st_mtim.tv_sec);
}
END_TEST

static int is_of_another_boot(void *context)
{
    struct stat stat;
    const char *const *paths = context;
    return mount(paths[1], BOOT_ID, NULL, MS_BIND, NULL) == 0 && lstat(paths[0], &stat) == 0 &&
                   !stk_checksum_is_of_this_boot(&stat)
               ? 0
               : 1;
}

START_TEST(another_boot_and_one_that_is_not_told)
{
    UNIT_NEEDS_PRIVATE();
    const char *paths[] = {unit_join(unit_directory("disk"), "draft"), unit_path("boot_id")};
    make_draft(unit_path("disk"));
    unit_write_text(paths[1], "00000000-0000-0000-0000-000000000000\n");
    int told = unit_in_child(is_of_another_boot, paths);
    UNIT_NEEDS(told == 0 || unit_is_root(), "needs to mount below /proc");
    ck_assert_int_eq(told, 0);
    ck_assert_int_eq(stk_checksum_store(paths[0], 7), 0);
    assert_of_this_boot(paths[0], true);
}
END_TEST

START_TEST(a_boot_that_is_not_told)
{
    UNIT_NEEDS_PRIVATE();
    UNIT_NEEDS_ROOT();
    const char *path = make_draft(unit_directory("disk")), *empty = unit_path("boot_id");
    unit_write_text(empty, "");
    ck_assert_int_eq(mount(empty, BOOT_ID, NULL, MS_BIND, NULL), 0);
    ck_assert_int_eq(stk_checksum_store(path, 7), 0);
    assert_of_this_boot(path, false);
    struct timespec times[2] = {{0, 0}, {0, 0}};
    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_of_this_boot(path, false);
}
END_TEST

START_TEST(without_attributes)
{
    UNIT_NEEDS_PRIVATE();
    uint64_t check;
    const char *directory = unit_directory("ramfs");
    ck_assert_int_eq(mount("ramfs", directory, "ramfs", 0, NULL), 0);
    const char *path = make_draft(directory);
    ck_assert_int_eq(stk_checksum_store(path, 7), 0);
    ck_assert(!stk_checksum_get(path, &check));
    assert_of_this_boot(path, true);
    ck_assert_uint_eq(unit_stat(path).st_mode, S_IFREG | 0400);
}
END_TEST

START_TEST(no_draft_any_more)
{
    ck_assert_int_ne(stk_checksum_store(unit_path("none"), 7), 0);
}
END_TEST

Suite *suite_checksum(void)
{
    Suite *suite = suite_create("checksum");
    TCase *check = unit_case(suite, "proof_check");
    tcase_add_test(check, is_the_sum_of_pieces);
    tcase_add_test(check, units_have_their_places);
    tcase_add_test(check, a_draft_gets_its_check_sum);
    tcase_add_test(check, of_an_ordinary_user);
    tcase_add_test(check, without_attributes);
    tcase_add_test(check, no_draft_any_more);
    TCase *boots = unit_case(suite, "proof_boots");
    tcase_add_test(boots, what_was_written_since_is_not_of_this_boot);
    tcase_add_test(boots, another_boot_and_one_that_is_not_told);
    tcase_add_test(boots, a_boot_that_is_not_told);
    return suite;
}
