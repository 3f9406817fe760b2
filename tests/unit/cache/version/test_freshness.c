/* cache/version/freshness.c */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cache/catalogue/claim.h"
#include "cache/version/freshness.h"
#include "cache/version/versions.h"
#include "tests/unit/box.h"

/* A run's start may be rounded up beyond now, by a tick. */
static int64_t begin_earlier(void)
{
    box.cache.run_start_ns -= STK_NS_PER_S;
    return box.cache.run_start_ns;
}

static bool is_trusted(const struct stk_record *record)
{
    return stk_freshness_of(&box.cache, record) == STK_FRESHNESS_FRESH;
}

START_TEST(believes)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_record record = {0};
    box_open();
    int64_t start = begin_earlier();
    ck_assert(!is_trusted(&record));
    atomic_store(&record.validated_ns, start - 1);
    ck_assert(!is_trusted(&record));
    ck_assert(stk_freshness_is_unmarked(&box.cache, &record));
    atomic_store(&record.validated_ns, start);
    ck_assert(is_trusted(&record));
    box.cache.options.fresh = STK_FRESH_OPEN;
    ck_assert(!is_trusted(&record));
    box.cache.options.fresh = STK_FRESH_NEVER;
    atomic_store(&record.validated_ns, 1);
    ck_assert(is_trusted(&record));
    stk_cache_distrust_all(&box.cache);
    ck_assert(!is_trusted(&record));
    ck_assert(!stk_freshness_is_unmarked(&box.cache, &record));
}
END_TEST

/* Notes a time as a process may whose clock is ahead of all others. */
START_TEST(ahead)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_record record = {0};
    const struct stk_identity identity = {0};
    box_open();
    begin_earlier();
    int64_t now_ns = stk_clock_boottime_ns();
    atomic_store(&record.validated_ns, now_ns);
    ck_assert(is_trusted(&record));
    for (int sign = -1; sign <= 1; sign += 2) {
        atomic_store(&record.validated_ns, sign * (now_ns + 3600 * STK_NS_PER_S));
        ck_assert(!is_trusted(&record));
        ck_assert(!stk_freshness_is_unmarked(&box.cache, &record));
        ck_assert(!stk_freshness_is_untouched(&box.cache, &record));
        ck_assert(stk_freshness_would(&box.cache, &record));
        stk_freshness_note(&box.cache, &record, &identity, now_ns);
        ck_assert_int_eq(atomic_load(&record.validated_ns), now_ns);
        ck_assert(is_trusted(&record));
    }
    atomic_store(&record.validated_ns, now_ns + 3600 * STK_NS_PER_S);
    stk_freshness_queue(&record, now_ns);
    ck_assert_int_eq(atomic_load(&record.validated_ns), -now_ns);
    ck_assert(stk_freshness_is_untouched(&box.cache, &record));
    /* Another process's look, later than any time that this process has met. */
    atomic_store(&record.validated_ns, stk_clock_boottime_ns());
    ck_assert(is_trusted(&record));
}
END_TEST

START_TEST(young)
{
    struct stk_identity identity = {0};
    int64_t now = stk_clock_realtime_ns();
    box.cache.options.min_age_ns = 2 * STK_NS_PER_S;
    ck_assert(!stk_freshness_is_young(&box.cache, &identity));
    identity.mtime_ns = now - STK_NS_PER_S;
    ck_assert(stk_freshness_is_young(&box.cache, &identity));
    identity.mtime_ns = now - 3 * STK_NS_PER_S;
    identity.ctime_ns = now - STK_NS_PER_S;
    ck_assert(stk_freshness_is_young(&box.cache, &identity));
    identity.ctime_ns = now - 3 * STK_NS_PER_S;
    ck_assert(!stk_freshness_is_young(&box.cache, &identity));
    identity.mtime_ns = now + 1000 * STK_NS_PER_S; /* a server's clock that is ahead */
    ck_assert(stk_freshness_is_young(&box.cache, &identity));
}
END_TEST

START_TEST(validates_open_files)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    uint32_t number = stk_freshness_validate(&box.cache, box_place("file"));
    ck_assert_uint_ne(number, 0);
    struct stk_record *record = stk_catalogue_record(&box.cache.catalogue, number);
    int64_t asked_ns = atomic_load(&record->validated_ns), opened_ns = stk_clock_boottime_ns();
    int fd = open(box_origin("file"), O_RDONLY);
    ck_assert(stk_freshness_validate_fd(&box.cache, record, fd, opened_ns));
    ck_assert_int_eq(atomic_load(&record->validated_ns), opened_ns);
    ck_assert(stk_freshness_validate_fd(&box.cache, record, fd, asked_ns)); /* opened long before */
    ck_assert_int_eq(atomic_load(&record->validated_ns), opened_ns);
    box_write("file", "other");
    ck_assert(!stk_freshness_validate_fd(&box.cache, record, fd, opened_ns));
    ck_assert(!stk_freshness_validate_fd(&box.cache, record, -1, opened_ns));
    close(fd);
}
END_TEST

/* An answer from a descriptor is as old as its open. If the path has changed since, the end of a
 * fill does not undo that. A run that began since does not believe the answer either. */
START_TEST(a_descriptor_is_as_old_as_its_open)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    for (int late = 0; late < 2; late++) {
        const char *name = late ? "late" : "file";
        box_write(name, "hello");
        int64_t opened_ns = stk_clock_boottime_ns();
        int fd = open(box_origin(name), O_RDONLY | O_CLOEXEC);
        box_replace(name, "other");
        if (late) {
            box_begin_run();
        } else {
            stk_cache_distrust(&box.cache, box_place(name));
        }
        ck_assert(
            stk_cache_fill(&box.cache, box_place(name), fd, opened_ns, box.entry, &box.outcome));
        ck_assert(unit_has_text(box.entry, "hello")); /* as it was opened */
        ck_assert(box_open_file(name));
        ck_assert(unit_has_text(box.entry, "other"));
        close(fd);
    }
}
END_TEST

/* A version that is too young to be remembered still ends the trust in an older one. */
START_TEST(a_young_version_ends_the_trust_in_an_older_one)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    for (int by_open = 0; by_open < 2; by_open++) {
        const char *name = by_open ? "opened" : "asked";
        box.cache.options.min_age_ns = 0;
        box_write(name, "hello");
        box_learn(name);
        ck_assert(is_trusted(box_record(name)));
        box.cache.options.min_age_ns = 60 * STK_NS_PER_S;
        box_write(name, "other");
        if (by_open) {
            ck_assert(!box_fill(name));
            ck_assert_int_eq(box.outcome.why, STK_BYPASS_YOUNG);
        } else {
            box_learn(name);
        }
        ck_assert(!is_trusted(box_record(name)));
    }
}
END_TEST

/* A file that is looked at while it grows leaves no record of each size. */
START_TEST(what_grows_is_not_remembered)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box.cache.options.min_age_ns = 60 * STK_NS_PER_S;
    uint32_t first = atomic_load(&box.cache.catalogue.header->areas.counts[STK_AREA_RECORDS].next);
    for (int i = 0; i < 100; i++) {
        char text[128];
        memset(text, 'x', sizeof text);
        text[i] = '\0';
        unit_write_text(box_origin("log"), text);
        box_learn("log");
        ck_assert(!box_open_file("log"));
    }
    ck_assert_uint_eq(atomic_load(&box.cache.catalogue.header->areas.counts[STK_AREA_RECORDS].next),
                      first);
}
END_TEST

/* An open file that is gone is its inode's, where the numbers count. */
START_TEST(in_place)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "first");
    int fd = open(box_origin("file"), O_RDONLY);
    const struct stk_place *place = box_place("file");
    for (int i = 0; i < 4; i++) {
        bool counts = i % 2 == 0, gone = i >= 2;
        struct stk_identity identity;
        if (gone) {
            unlink(box_origin("file"));
        }
        box.cache.roots.roots[0].inode_counts = counts;
        ck_assert(stk_identity_of_file(fd, 0, &identity));
        ck_assert(stk_freshness_is_in_place(&box.cache, place, &identity) == (counts || !gone));
    }
    close(fd);
}
END_TEST

/* The race of a stat and a rename: the origin was asked before the rename and the answer is noted
 * after it. An answer from before a distrust does not make up for it. */
START_TEST(an_answer_from_before_a_distrust)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    uint32_t number = stk_freshness_validate(&box.cache, box_place("file"));
    struct stk_record *record = stk_catalogue_record(&box.cache.catalogue, number);
    ck_assert(is_trusted(record));
    stk_cache_distrust(&box.cache, box_place("file"));
    ck_assert(!is_trusted(record));
    ck_assert_uint_eq(stk_freshness_validate(&box.cache, box_place("file")), number);
    ck_assert(is_trusted(record));
    /* Distrusted while the origin is asked, and the answer is noted after it. */
    struct stk_look look;
    ck_assert_int_eq(stk_freshness_look(&box.cache, box_place("file"), false, &look), 0);
    stk_cache_distrust(&box.cache, box_place("file"));
    ck_assert_uint_eq(stk_freshness_remember(&box.cache, box_place("file"), &look), number);
    ck_assert(!is_trusted(record));
    /* The race again, with a version that was not known yet. */
    box_write("file", "other");
    ck_assert_int_eq(stk_freshness_look(&box.cache, box_place("file"), false, &look), 0);
    stk_cache_distrust(&box.cache, box_place("file"));
    uint32_t newer = stk_freshness_remember(&box.cache, box_place("file"), &look);
    ck_assert_uint_ne(newer, number);
    record = stk_catalogue_record(&box.cache.catalogue, newer);
    ck_assert(!is_trusted(record));
}
END_TEST

Suite *suite_freshness(void)
{
    Suite *suite = suite_create("freshness");
    TCase *all = unit_case(suite, "trust_records");
    tcase_add_test(all, believes);
    tcase_add_test(all, ahead);
    tcase_add_test(all, young);
    tcase_add_test(all, validates_open_files);
    tcase_add_test(all, a_descriptor_is_as_old_as_its_open);
    tcase_add_test(all, a_young_version_ends_the_trust_in_an_older_one);
    tcase_add_test(all, what_grows_is_not_remembered);
    tcase_add_test(all, in_place);
    tcase_add_test(all, an_answer_from_before_a_distrust);
    return suite;
}
