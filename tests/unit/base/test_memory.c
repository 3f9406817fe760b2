/* base/memory.c */
#include "tests/unit/unit.h"

#include <unistd.h>

#include "base/memory.h"

#define MIB (INT64_C(1) << 20)

START_TEST(is_sane)
{
    int64_t machine = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    int64_t available = stk_memory_available_bytes();
    ck_assert_int_gt(available, 1 << 20);
    ck_assert_int_le(available, machine);
    ck_assert_int_ge(stk_memory_total_bytes(), available);
    ck_assert_int_le(stk_memory_total_bytes(), machine + machine / 8); /* some is the kernel's */
}
END_TEST

START_TEST(little_memory)
{
    ck_assert_int_eq(stk_memory_little(MIB), 64 * MIB);
    ck_assert_int_eq(stk_memory_little(20000 * MIB), 1000 * MIB);
    ck_assert_int_eq(stk_memory_little(INT64_MAX), 2048 * MIB);
}
END_TEST

Suite *suite_memory(void)
{
    Suite *suite = suite_create("memory");
    TCase *all = unit_case(suite, "memory_available");
    tcase_add_test(all, is_sane);
    tcase_add_test(all, little_memory);
    return suite;
}
