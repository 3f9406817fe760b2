/* cache/origin/mounts.c */
#include "tests/unit/unit.h"

#include <string.h>

#include "cache/origin/mounts.h"

struct wanted {
    const char *point, *type, *source;
    unsigned seen;
    bool fits; /* the last one at that point, which hides those before */
};

static void compare(void *context, const struct stk_mount *mount)
{
    struct wanted *wanted = context;
    if (strcmp(mount->point, wanted->point) == 0) {
        wanted->fits = strcmp(mount->type, wanted->type) == 0 &&
                       strcmp(mount->source, wanted->source) == 0 && strcmp(mount->root, "/") == 0;
        wanted->seen++;
    }
}

START_TEST(visits)
{
    UNIT_NEEDS_PRIVATE();
    struct wanted wanted = {"/dev/shm", "tmpfs", "tmpfs", 0, false};
    ck_assert(stk_mounts_visit(compare, &wanted));
    ck_assert_uint_ge(wanted.seen, 1);
    ck_assert(wanted.fits);
}
END_TEST

START_TEST(odd_names)
{
    UNIT_NEEDS_PRIVATE();
    const char *point = unit_directory("a b\tc\\d - e\nf");
    unit_mount_tmpfs(point, NULL);
    struct wanted wanted = {point, "tmpfs", "tmpfs", 0, false};
    ck_assert(stk_mounts_visit(compare, &wanted));
    ck_assert_uint_eq(wanted.seen, 1);
    ck_assert(wanted.fits);
}
END_TEST

Suite *suite_mounts(void)
{
    Suite *suite = suite_create("mounts");
    TCase *all = unit_case(suite, "mounts_visit");
    tcase_add_test(all, visits);
    tcase_add_test(all, odd_names);
    return suite;
}
