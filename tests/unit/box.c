/* A cache on a temporary directory. See tests/unit/box.h. */
#include "tests/unit/box.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

struct box box;

void box_prepare(void)
{
    box.options = (struct stk_options){.paths = "",
                                       .tiers = "/dev/shm:64M",
                                       .fresh = STK_FRESH_RUN,
                                       .min_age_ns = 0,
                                       .max_file_bytes = 1 << 20};
    unit_directory("origin");
}

void box_reopen(void)
{
    static struct stk_roots spelling;
    if (box.cache.catalogue.header != NULL) {
        stk_catalogue_close(&box.cache.catalogue);
    }
    memset(&box.cache, 0, sizeof box.cache);
    memset(&spelling, 0, sizeof spelling);
    stk_roots_spell(&spelling, unit_path("origin"));
    stk_cache_open(&box.cache, &box.options, &spelling);
    ck_assert_uint_eq(box.cache.roots.count, 1);
    box.cache.roots.roots[0].kind = STK_ROOT_UNKNOWN; /* as it is, for the tests' sake */
}

void box_open(void)
{
    box_prepare();
    box_reopen();
    ck_assert_ptr_nonnull(box.cache.catalogue.header);
    ck_assert_ptr_nonnull(box.cache.tier.shared);
    ck_assert_ptr_nonnull(box.cache.run.file);
}

void box_begin_run(void)
{
    usleep(1000);
    box.cache.run_start_ns = stk_clock_boottime_ns();
}

const char *box_origin(const char *name)
{
    return unit_join(unit_path("origin"), name);
}

void box_write(const char *name, const char *text)
{
    unit_tick();
    unit_write_text(box_origin(name), text);
    unit_tick();
}

void box_replace(const char *name, const char *text)
{
    unit_tick();
    unit_write_text(unit_path("aside"), text);
    ck_assert_int_eq(rename(unit_path("aside"), box_origin(name)), 0);
    unit_tick();
}

struct stk_place *box_place(const char *name)
{
    const char *path = box_origin(name);
    ck_assert(stk_cache_place(&box.cache, path, AT_FDCWD, path, &box.place));
    return &box.place;
}

enum stk_answer box_ask(const char *name)
{
    return stk_cache_lookup(&box.cache, box_place(name), &box.ask);
}

bool box_fill(const char *name)
{
    int64_t opened_ns = stk_clock_boottime_ns();
    int fd = open(box_origin(name), O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    bool filled =
        stk_cache_fill(&box.cache, box_place(name), fd, opened_ns, box.entry, &box.outcome);
    ck_assert_int_eq(lseek(fd, 0, SEEK_CUR), 0);
    close(fd);
    return filled;
}

void box_learn(const char *name)
{
    struct statx answer;
    stk_cache_stat_origin(&box.cache, box_place(name), false, &answer);
}

bool box_open_file(const char *name)
{
    switch (box_ask(name)) {
    case STK_ANSWER_HIT:
        strcpy(box.entry, box.ask.entry);
        return true;
    case STK_ANSWER_FILL:
        return box_fill(name);
    default:
        return false;
    }
}

struct stk_record *box_record(const char *name)
{
    uint32_t number = stk_catalogue_find(&box.cache.catalogue, box_place(name)->key);
    return stk_catalogue_record(&box.cache.catalogue, number);
}

int64_t box_used_blocks(void)
{
    return atomic_load(&box.cache.tier.shared->budget.used_blocks);
}

struct stk_run_counts box_counts(void)
{
    struct stk_run_counts counts;
    stk_run_read(&box.cache.run, &counts);
    return counts;
}
