/* cache/trust.c */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cache/claim.h"
#include "cache/remember.h"
#include "cache/trust.h"
#include "tests/unit/box.h"

START_TEST(believes)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_record record = {0};
    box_open();
    const struct stk_root *root = &box.cache.roots.roots[0];
    int64_t start = box.cache.run_start_ns;
    ck_assert(!stk_trust_has(&box.cache, root, &record));
    atomic_store(&record.validated_ns, start - 1);
    ck_assert(!stk_trust_has(&box.cache, root, &record));
    ck_assert(stk_trust_is_unmarked(&box.cache, root, &record));
    atomic_store(&record.validated_ns, start);
    ck_assert(stk_trust_has(&box.cache, root, &record));
    box.cache.options.fresh = STK_FRESH_OPEN;
    ck_assert(!stk_trust_has(&box.cache, root, &record));
    box.cache.options.fresh = STK_FRESH_NEVER;
    atomic_store(&record.validated_ns, 1);
    ck_assert(stk_trust_has(&box.cache, root, &record));
    stk_cache_distrust_root(&box.cache, root);
    ck_assert(!stk_trust_has(&box.cache, root, &record));
    ck_assert(!stk_trust_is_unmarked(&box.cache, root, &record));
}
END_TEST

START_TEST(young)
{
    struct stk_identity identity = {0};
    int64_t now = stk_clock_realtime_ns();
    box.cache.options.min_age_ns = 2 * STK_NS_PER_S;
    ck_assert(!stk_trust_is_young(&box.cache, &identity));
    identity.mtime_ns = now - STK_NS_PER_S;
    ck_assert(stk_trust_is_young(&box.cache, &identity));
    identity.mtime_ns = now - 3 * STK_NS_PER_S;
    identity.ctime_ns = now - STK_NS_PER_S;
    ck_assert(stk_trust_is_young(&box.cache, &identity));
    identity.ctime_ns = now - 3 * STK_NS_PER_S;
    ck_assert(!stk_trust_is_young(&box.cache, &identity));
    identity.mtime_ns = now + 1000 * STK_NS_PER_S; /* a server's clock that is ahead */
    ck_assert(stk_trust_is_young(&box.cache, &identity));
}
END_TEST

START_TEST(validates_open_files)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    uint32_t number = stk_trust_validate(&box.cache, box_place("file"));
    ck_assert_uint_ne(number, 0);
    struct stk_record *record = stk_catalogue_record(&box.cache.catalogue, number);
    int fd = open(box_origin("file"), O_RDONLY);
    int64_t before = stk_clock_boottime_ns();
    ck_assert(stk_trust_validate_fd(&box.cache, record, fd));
    ck_assert_int_ge(atomic_load(&record->validated_ns), before);
    box_write("file", "other");
    ck_assert(!stk_trust_validate_fd(&box.cache, record, fd));
    ck_assert(!stk_trust_validate_fd(&box.cache, record, -1));
    close(fd);
}
END_TEST

/* The race of a stat and a rename: the origin was asked before the rename and the answer is noted
 * after it. What was asked before a distrust does not make up for it. */
START_TEST(an_answer_from_before_a_distrust)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    uint32_t number = stk_trust_validate(&box.cache, box_place("file"));
    struct stk_record *record = stk_catalogue_record(&box.cache.catalogue, number);
    const struct stk_root *root = &box.cache.roots.roots[0];
    ck_assert(stk_trust_has(&box.cache, root, record));
    stk_cache_distrust(&box.cache, box_place("file"));
    ck_assert(!stk_trust_has(&box.cache, root, record));
    ck_assert_uint_eq(stk_trust_validate(&box.cache, box_place("file")), number);
    ck_assert(stk_trust_has(&box.cache, root, record));
    /* As if it were distrusted while the origin is asked. */
    atomic_store(&box.cache.catalogue.header->changed_ns[record->key % STK_CHANGED_SLOTS],
                 stk_clock_boottime_ns() + 3600 * STK_NS_PER_S);
    ck_assert_uint_eq(stk_trust_validate(&box.cache, box_place("file")), number);
    ck_assert(!stk_trust_has(&box.cache, root, record));
    /* The same of a version that was not known yet. */
    box_write("file", "other");
    uint32_t newer = stk_trust_validate(&box.cache, box_place("file"));
    ck_assert_uint_ne(newer, number);
    record = stk_catalogue_record(&box.cache.catalogue, newer);
    ck_assert(!stk_trust_has(&box.cache, root, record));
}
END_TEST

Suite *suite_trust(void)
{
    Suite *suite = suite_create("trust");
    TCase *all = unit_case(suite, "trust_records");
    tcase_add_test(all, believes);
    tcase_add_test(all, young);
    tcase_add_test(all, validates_open_files);
    tcase_add_test(all, an_answer_from_before_a_distrust);
    return suite;
}
