/* cache/catalogue/identity.c */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/clock.h"
#include "base/sys.h"
#include "cache/catalogue/identity.h"

static struct statx sample(void)
{
    return (struct statx){
        .stx_mask = STATX_BASIC_STATS | STATX_BTIME,
        .stx_blksize = 4096,
        .stx_nlink = 2,
        .stx_uid = 1000,
        .stx_gid = 100,
        .stx_mode = S_IFREG | 0640,
        .stx_ino = 0x123456789abcdef0,
        .stx_size = 5000000000,
        .stx_blocks = 9765632,
        .stx_atime = {.tv_sec = 1700000000, .tv_nsec = 999999999},
        .stx_btime = {.tv_sec = 1500000000, .tv_nsec = 1},
        .stx_ctime = {.tv_sec = 1700000002, .tv_nsec = 0},
        .stx_mtime = {.tv_sec = 1700000001, .tv_nsec = 500000000},
        .stx_dev_major = 259,
        .stx_dev_minor = 70000,
    };
}

START_TEST(there_and_back)
{
    struct statx in = sample(), out;
    struct stk_identity identity;
    ck_assert(stk_identity_from_statx(&identity, &in));
    stk_identity_to_statx(&identity, &out);
    ck_assert_mem_eq(&in, &out, sizeof in);
    in.stx_mask = STATX_BASIC_STATS; /* no birth time */
    memset(&in.stx_btime, 0, sizeof in.stx_btime);
    ck_assert(stk_identity_from_statx(&identity, &in));
    stk_identity_to_statx(&identity, &out);
    ck_assert_mem_eq(&in, &out, sizeof in);
}
END_TEST

START_TEST(same_file)
{
    struct statx in = sample();
    struct stk_identity one, other;
    ck_assert(stk_identity_from_statx(&one, &in));
    in.stx_size++;
    in.stx_ctime.tv_sec++;
    ck_assert(stk_identity_from_statx(&other, &in));
    ck_assert(stk_identity_same_file(&one, &other));
    in.stx_btime.tv_nsec++;
    ck_assert(stk_identity_from_statx(&other, &in));
    ck_assert(!stk_identity_same_file(&one, &other));
    in.stx_mask = STATX_BASIC_STATS; /* no birth time */
    ck_assert(stk_identity_from_statx(&other, &in));
    ck_assert(stk_identity_same_file(&one, &other));
    in.stx_ino++;
    ck_assert(stk_identity_from_statx(&other, &in));
    ck_assert(!stk_identity_same_file(&one, &other));
}
END_TEST

START_TEST(as_stat_says_it)
{
    struct statx in = sample();
    struct stk_identity identity;
    struct stat out;
    ck_assert(stk_identity_from_statx(&identity, &in));
    stk_identity_to_stat(&identity, &out);
    ck_assert_uint_eq(out.st_dev, makedev(259, 70000));
    ck_assert_uint_eq(out.st_ino, in.stx_ino);
    ck_assert_uint_eq(out.st_mode, in.stx_mode);
    ck_assert_uint_eq(out.st_nlink, 2);
    ck_assert_uint_eq(out.st_uid, 1000);
    ck_assert_uint_eq(out.st_gid, 100);
    ck_assert_int_eq(out.st_size, 5000000000);
    ck_assert_int_eq(out.st_blocks, 9765632);
    ck_assert_int_eq(out.st_blksize, 4096);
    ck_assert_int_eq(out.st_atim.tv_nsec, 999999999);
    ck_assert_int_eq(out.st_mtim.tv_sec, 1700000001);
    ck_assert_int_eq(out.st_ctim.tv_sec, 1700000002);
}
END_TEST

START_TEST(of_a_real_file)
{
    struct stk_identity identity;
    struct statx answer;
    struct stat got, known;
    unit_write_text(unit_path("file"), "hello");
    ck_assert_int_eq(stk_sys_statx(AT_FDCWD, unit_path("file"), 0, STATX_BASIC_STATS, &answer), 0);
    ck_assert(stk_identity_from_statx(&identity, &answer));
    stk_identity_to_stat(&identity, &got);
    memset(&known, 0, sizeof known);
    ck_assert_int_eq(stat(unit_path("file"), &known), 0);
    ck_assert_mem_eq(&got, &known, sizeof got);
}
END_TEST

static const struct {
    int64_t seconds;
    uint32_t ns;
    bool fits;
} times[] = {
    {0, 0, true},           {-1, 0, true},           {-1, 999999999, true}, {-2, 1, true},
    {-9000000000, 5, true}, {9000000000, 5, true},   {9223372035, 0, true}, {-9223372035, 0, true},
    {9300000000, 0, false}, {-9300000000, 0, false}, {INT64_MAX, 0, false}, {INT64_MIN, 0, false},
};

START_TEST(times_before_1970_and_far_away)
{
    struct statx in = sample(), out;
    struct stk_identity identity;
    struct stat stat;
    struct statx_timestamp time = {.tv_sec = times[_i].seconds, .tv_nsec = times[_i].ns};
    in.stx_mtime = time;
    ck_assert(stk_identity_from_statx(&identity, &in) == times[_i].fits);
    if (times[_i].fits) {
        stk_identity_to_statx(&identity, &out);
        ck_assert_int_eq(out.stx_mtime.tv_sec, times[_i].seconds);
        ck_assert_uint_eq(out.stx_mtime.tv_nsec, times[_i].ns);
        stk_identity_to_stat(&identity, &stat);
        ck_assert_int_eq(stat.st_mtim.tv_sec, times[_i].seconds);
        ck_assert_int_eq(stat.st_mtim.tv_nsec, times[_i].ns);
    }
    in = sample();
    in.stx_ctime = time;
    ck_assert(stk_identity_from_statx(&identity, &in) == times[_i].fits);
    in = sample();
    in.stx_atime = time;
    ck_assert(stk_identity_from_statx(&identity, &in) == times[_i].fits);
    in = sample();
    in.stx_btime = time;
    ck_assert(stk_identity_from_statx(&identity, &in) == times[_i].fits);
}
END_TEST

static struct stk_identity sample_identity(void)
{
    struct statx in = sample();
    struct stk_identity identity;
    ck_assert(stk_identity_from_statx(&identity, &in));
    return identity;
}

START_TEST(name_follows_the_version)
{
    const struct stk_identity same = sample_identity();
    uint64_t name = stk_identity_name(&same, true, 0);
    ck_assert_uint_eq(name >> STK_NAME_BITS, 0);
    struct stk_identity other = same;
    other.size++;
    ck_assert_uint_ne(stk_identity_name(&other, true, 0), name);
    other = same;
    other.mtime_ns++;
    ck_assert_uint_ne(stk_identity_name(&other, true, 0), name);
    other = same;
    other.ctime_ns++;
    ck_assert_uint_ne(stk_identity_name(&other, true, 0), name);
    other = same;
    other.ino++;
    ck_assert_uint_ne(stk_identity_name(&other, true, 0), name);
    ck_assert_uint_ne(stk_identity_name(&same, true, 1), name);
}
END_TEST

START_TEST(name_leaves_out_what_does_not_tell)
{
    const struct stk_identity same = sample_identity();
    uint64_t name = stk_identity_name(&same, true, 0);
    struct stk_identity other = same;
    other.atime_ns++;
    other.btime_ns++;
    other.mode ^= 0111;
    other.uid++;
    other.gid++;
    other.nlink++;
    other.blocks++;
    other.blksize++;
    ck_assert_uint_eq(stk_identity_name(&other, true, 0), name);
    /* After a reboot the device has another number. */
    other.dev += 5;
    ck_assert_uint_eq(stk_identity_name(&other, true, 0), name);
    uint64_t without = stk_identity_name(&same, false, 0);
    other = same;
    other.ino++;
    ck_assert_uint_eq(stk_identity_name(&other, false, 0), without);
}
END_TEST

START_TEST(same_version)
{
    const struct stk_identity same = sample_identity();
    struct stk_identity other = same;
    other.atime_ns++;
    other.nlink++;
    ck_assert(stk_identity_same_version(&same, &other));
    for (int i = 0; i < 5; i++) {
        other = same;
        other.dev += i == 0;
        other.ino += i == 1;
        other.size += i == 2;
        other.mtime_ns += i == 3;
        other.ctime_ns += i == 4;
        ck_assert(!stk_identity_same_version(&same, &other));
    }
}
END_TEST

Suite *suite_identity(void)
{
    Suite *suite = suite_create("identity");
    TCase *convert = unit_case(suite, "identity_convert");
    tcase_add_test(convert, there_and_back);
    tcase_add_test(convert, same_file);
    tcase_add_test(convert, as_stat_says_it);
    tcase_add_test(convert, of_a_real_file);
    tcase_add_loop_test(convert, times_before_1970_and_far_away, 0, sizeof times / sizeof *times);
    TCase *name = unit_case(suite, "identity_name");
    tcase_add_test(name, name_follows_the_version);
    tcase_add_test(name, name_leaves_out_what_does_not_tell);
    tcase_add_test(name, same_version);
    return suite;
}
