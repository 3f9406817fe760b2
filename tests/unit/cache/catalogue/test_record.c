/* cache/catalogue/record.c */
#include "tests/unit/unit.h"

#include <string.h>
#include <sys/sysmacros.h>

#include "cache/catalogue/record.h"

static const struct stk_identity sample = {
    .ino = UINT64_MAX - 1,
    .size = 1,
    .blocks = 2,
    .mode = S_IFREG | 04755,
    .nlink = 3,
    .uid = 4,
    .gid = 5,
    .blksize = 6,
    .mtime_ns = -7,
    .ctime_ns = 8,
    .atime_ns = 9,
    .btime_ns = STK_NO_TIME,
};

START_TEST(there_and_back)
{
    static const unsigned devices[][2] = {
        {0, 0}, {8, 1}, {0, 0xfffff}, {4095, 1048575}, {259, 256}};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        struct stk_record record = {0};
        struct stk_identity in = sample, out;
        in.dev = makedev(devices[i][0], devices[i][1]);
        stk_record_set_identity(&record, &in, 77, true);
        ck_assert(stk_record_get_identity(&record, &out));
        unit_assert_same(&in, &out);
        ck_assert_uint_eq(stk_record_name(&record), 77);
        ck_assert_uint_eq(atomic_load(&record.claim), 0);
        ck_assert_uint_eq(record.key, 0);
    }
}
END_TEST

START_TEST(describes)
{
    struct stk_record record = {0};
    stk_record_set_identity(&record, &sample, 1, true);
    struct stk_identity other = sample;
    other.atime_ns++;
    ck_assert(stk_record_describes(&record, &other));
    for (int i = 0; i < 11; i++) {
        other = sample;
        other.dev += i == 0;
        other.ino += i == 1;
        other.size += i == 2;
        other.mtime_ns += i == 3;
        other.ctime_ns += i == 4;
        other.mode += i == 5;
        other.uid += i == 6;
        other.gid += i == 7;
        other.nlink += i == 8;
        other.blocks += i == 9;
        other.blksize += i == 10;
        ck_assert_msg(!stk_record_describes(&record, &other), "field %d does not count", i);
    }
}
END_TEST

/* Returns true if this byte of a record may change in its life. */
static bool is_changing(size_t byte, bool inode_counts)
{
#define WITHIN(field)                                                                              \
    (byte >= offsetof(struct stk_record, field) &&                                                 \
     byte < offsetof(struct stk_record, field) + sizeof((struct stk_record *)0)->field)
    return WITHIN(claim) || WITHIN(validated_ns) || WITHIN(entry_ino) || WITHIN(previous) ||
           (!inode_counts && WITHIN(ino));
#undef WITHIN
}

static void check_damage(bool inode_counts)
{
    struct stk_record record = {.key = 1234567};
    struct stk_identity out;
    stk_record_set_identity(&record, &sample, 1, inode_counts);
    for (size_t bit = 0; bit < 8 * sizeof record; bit++) {
        struct stk_record damaged = record;
        bool changing = is_changing(bit / 8, inode_counts);
        ((unsigned char *)&damaged)[bit / 8] ^= (unsigned char)(1u << bit % 8);
        ck_assert_msg(stk_record_get_identity(&damaged, &out) == changing, "bit %zu", bit);
        ck_assert(!stk_record_describes(&damaged, &sample) || changing);
    }
}

/* Each bit of what is written once counts; nothing else does. */
START_TEST(damage_is_noticed)
{
    struct stk_identity out;
    check_damage(true);
    check_damage(false);
    struct stk_record record = {.key = 1234567};
    ck_assert(!stk_record_get_identity(&record, &out));
}
END_TEST

START_TEST(inode_numbers_that_are_made_up)
{
    struct stk_record record = {.key = 1};
    struct stk_identity other = sample, out;
    other.ino += 5;
    stk_record_set_identity(&record, &sample, 1, true);
    stk_record_set_inode(&record, other.ino);
    ck_assert(stk_record_get_identity(&record, &out) && out.ino == sample.ino);
    stk_record_set_identity(&record, &sample, 1, false);
    ck_assert(stk_record_describes(&record, &other));
    stk_record_set_inode(&record, other.ino);
    ck_assert(stk_record_get_identity(&record, &out));
    unit_assert_same(&out, &other);
}
END_TEST

Suite *suite_record(void)
{
    Suite *suite = suite_create("record");
    TCase *all = unit_case(suite, "record_identity");
    tcase_add_test(all, there_and_back);
    tcase_add_test(all, describes);
    tcase_add_test(all, damage_is_noticed);
    tcase_add_test(all, inode_numbers_that_are_made_up);
    return suite;
}
