/* base/memory.c */
#include "tests/unit/unit.h"

#include <unistd.h>

#include "base/memory.h"

START_TEST(is_sane)
{
    int64_t machine = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    int64_t available = stk_memory_available_bytes();
    ck_assert_int_gt(available, 1 << 20);
    ck_assert_int_le(available, machine);
}
END_TEST

Suite *suite_memory(void)
{
    Suite *suite = suite_create("memory");
    tcase_add_test(unit_case(suite, "memory_available"), is_sane);
    return suite;
}
