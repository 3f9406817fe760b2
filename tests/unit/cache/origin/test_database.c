/* cache/origin/database.c */
#include "tests/unit/unit.h"

#include <string.h>

#include "cache/origin/database.h"

static const char sqlite[32] = "SQLite format 3";

START_TEST(databases)
{
    ck_assert(stk_database_is_shared(sqlite, sizeof sqlite, 0));
    ck_assert(stk_database_is_shared(sqlite, 16, 0));
    ck_assert(!stk_database_is_shared(sqlite, 15, 0));
    ck_assert(!stk_database_is_shared(sqlite, sizeof sqlite, 4096));
    ck_assert(!stk_database_is_shared("SQLite format 4\0", 16, 0));
    ck_assert(!stk_database_is_shared("", 0, 0));
}
END_TEST

/* Returns true if HDF5 with this version of its superblock, and these flags, is shared. */
static bool is_shared_hdf5(char version, char flags, uint64_t count)
{
    char bytes[64] = "\x89HDF\r\n\x1a\n";
    bytes[8] = version;
    bytes[9] = bytes[10] = 8;
    bytes[11] = flags;
    return stk_database_is_shared(bytes, count, 0);
}

START_TEST(hdf5)
{
    ck_assert(is_shared_hdf5(3, 1, 64));
    ck_assert(is_shared_hdf5(3, 5, 64));
    ck_assert(is_shared_hdf5(4, 4, 64));
    ck_assert(!is_shared_hdf5(3, 0, 64));
    ck_assert(!is_shared_hdf5(3, 2, 64));
    ck_assert(!is_shared_hdf5(2, 1, 64)); /* where the byte says nothing */
    ck_assert(!is_shared_hdf5(0, 8, 64));
    ck_assert(is_shared_hdf5(3, 5, 12));
    ck_assert(!is_shared_hdf5(3, 5, 11));
}
END_TEST

Suite *suite_content(void)
{
    Suite *suite = suite_create("database");
    TCase *all = unit_case(suite, "content_shared");
    tcase_add_test(all, databases);
    tcase_add_test(all, hdf5);
    return suite;
}
