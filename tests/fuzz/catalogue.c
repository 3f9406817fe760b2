/*
 * The cache on a catalogue that was damaged: words changed, copied and swapped, torn pages, files
 * cut short, files that are none. Whatever it holds, a read must give bytes that the file has or
 * had. A stat must give what is or was true of it. All of that must end.
 */
#include "cache/catalogue/catalogue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sys.h"
#include "cache/catalogue/claim.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/world.h"

#define PAGE_BYTES   4096
#define SKIP_STATUS  77
#define RECORD_WORDS (sizeof(struct stk_record) / 8)
/* Eight attempts of an open, each with two seconds of patience and a look more. */
#define PATIENCE_NS (17 * STK_NS_PER_S)

enum kind { WORDS, MANY_WORDS, RUN_WORDS, TORN_PAGE, CUT, STRANGER, KINDS };

/* Counts that show that the fuzzer reaches what it is there for. */
static struct {
    uint64_t runs, lies, open, hits, fills, missed, lost, stats, stats_none, past_bytes, past_stats;
} seen;

/* ---- damage ---- */

static uint64_t take_value(struct fuzz_input *input, uint64_t was)
{
    static const uint64_t special[] = {0,
                                       1,
                                       2,
                                       3,
                                       UINT64_MAX,
                                       INT64_MAX,
                                       (uint64_t)INT64_MIN,
                                       UINT32_MAX,
                                       INT32_MAX,
                                       STK_SEGMENT_RECORDS,
                                       STK_SEGMENT_RECORDS + 1,
                                       UINT64_C(0xffffffff00000000),
                                       UINT64_C(0x0101010101010101)};
    switch (fuzz_pick(input, 6)) {
    case 0:
        return special[fuzz_pick(input, sizeof special / sizeof *special)];
    case 1:
        return was ^ UINT64_C(1) << fuzz_pick(input, 64);
    case 2:
        return was + (uint64_t)(int64_t)(int8_t)fuzz_take(input, 1);
    case 3: /* one half */
        return (was & UINT32_MAX) | fuzz_take(input, 4) << 32;
    case 4:
        return (was & ~(uint64_t)UINT32_MAX) | fuzz_take(input, 4);
    default:
        return fuzz_take(input, 8);
    }
}

static off_t record_offset(uint32_t number)
{
    return world.records.offset + (off_t)((number - 1) * sizeof(struct stk_record));
}

static const struct world_file *pick_known(struct fuzz_input *input)
{
    const struct world_file *file = &world.files[fuzz_pick(input, WORLD_FILES)];
    return file->record != 0 ? file : &world.files[0];
}

/* A word of the first tier; of its home only now and then, which is most of it. */
static off_t pick_tier_word(struct fuzz_input *input)
{
    const size_t home = offsetof(struct stk_tier_shared, home);
    const size_t budget = offsetof(struct stk_tier_shared, budget);
    size_t at;
    switch (fuzz_pick(input, 8)) {
    case 0:
        at = home + 8 * fuzz_pick(input, 4);
        break;
    case 1:
    case 2:
        at = 8 * fuzz_pick(input, (uint32_t)(home / 8));
        break;
    default:
        at = budget + 8 * fuzz_pick(input, sizeof(struct stk_budget) / 8);
    }
    return (off_t)(offsetof(struct stk_catalogue_header, tiers) + at);
}

/* A word of the file: of a record that counts, of the index, of the first tier, of the header. */
static off_t pick_word(struct fuzz_input *input)
{
    switch (fuzz_pick(input, 8)) {
    case 0:
        return pick_known(input)->slot;
    case 1:
        return pick_tier_word(input);
    case 2: /* what comes before the tiers */
        return (off_t)(8 * fuzz_pick(input, offsetof(struct stk_catalogue_header, tiers) / 8));
    case 3:
        return (off_t)(8 * fuzz_pick(input, sizeof(struct stk_catalogue_header) / 8));
    default:
        return record_offset(pick_known(input)->record) +
               (off_t)(8 * fuzz_pick(input, RECORD_WORDS));
    }
}

static void put_word(off_t offset, uint64_t word)
{
    world_write(world.catalogue, offset, &word, sizeof word);
}

/* A whole record as another's, or the index's word as another's. */
static void copy_other(struct fuzz_input *input)
{
    const struct world_file *to = pick_known(input), *from = pick_known(input);
    uint32_t number = fuzz_pick(input, 4) == 0 ? 1 + fuzz_pick(input, 40) : from->record;
    if (fuzz_pick(input, 2) == 0) {
        put_word(to->slot, (world_read_word(to->slot) & ~(uint64_t)UINT32_MAX) | number);
        return;
    }
    /* With the key or without: with its own it is found. */
    for (unsigned i = fuzz_pick(input, 2); i < RECORD_WORDS; i++) {
        put_word(record_offset(to->record) + 8 * i, world_read_word(record_offset(number) + 8 * i));
    }
}

/* Another record as the one before this; perhaps in a circle. */
static void link_chain(struct fuzz_input *input)
{
    uint32_t number = pick_known(input)->record;
    uint32_t previous = fuzz_pick(input, 2) != 0 ? number : 1 + fuzz_pick(input, 40);
    world_write(world.catalogue,
                record_offset(number) + (off_t)offsetof(struct stk_record, previous), &previous,
                sizeof previous);
}

static void damage_words(struct fuzz_input *input, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint32_t what = fuzz_pick(input, 16);
        if (what < 2) {
            copy_other(input);
        } else if (what == 2) {
            link_chain(input);
        } else {
            off_t at = pick_word(input);
            put_word(at, take_value(input, world_read_word(at)));
        }
    }
}

static void damage_run(struct fuzz_input *input, bool early)
{
    for (unsigned i = 1 + fuzz_pick(input, 4); i > 0; i--) {
        off_t at = 8 * (off_t)fuzz_pick(input, fuzz_pick(input, 2) != 0 ? 3 : 16384);
        uint64_t word = take_value(input, 0);
        world_write(world.run, at, &word, sizeof word);
    }
    if (early && fuzz_pick(input, 8) == 0) {
        int error = truncate(world.run, (off_t)fuzz_pick(input, 200000));
        (void)error;
    }
}

static void tear_page(struct fuzz_input *input)
{
    uint8_t page[PAGE_BYTES];
    const struct world_part *parts[] = {&world.header, &world.index, &world.records};
    const struct world_part *part = parts[fuzz_pick(input, 3)];
    uint32_t number = fuzz_pick(input, (uint32_t)((part->bytes + PAGE_BYTES - 1) / PAGE_BYTES));
    switch (fuzz_pick(input, 3)) {
    case 0:
        memset(page, 0, sizeof page);
        break;
    case 1:
        memset(page, 0xff, sizeof page);
        break;
    default:
        for (size_t i = 0; i < sizeof page; i++) {
            page[i] = (uint8_t)(i * fuzz_take(input, 1) >> 3);
        }
    }
    world_write(world.catalogue, part->offset + (off_t)number * PAGE_BYTES, page, sizeof page);
}

static void cut(struct fuzz_input *input)
{
    off_t bytes = (off_t)fuzz_take(input, 4);
    int error = truncate(world.catalogue, bytes % (world.catalogue_bytes + 1));
    (void)error;
}

/* Something else by the catalogue's name. */
static void put_stranger(struct fuzz_input *input)
{
    static const char junk[300000] = "this is no catalogue";
    const char *path = world.catalogue;
    uint32_t what = fuzz_pick(input, 9);
    int error = 0;
    if (what < 6) {
        unlink(path);
    }
    switch (what) {
    case 0:
        error = mkdir(path, 0700);
        break;
    case 1:
        error = mkfifo(path, 0600);
        break;
    case 2:
        error = symlink("/dev/shm/precious", path);
        break;
    case 3:
        error = symlink("/dev/zero", path);
        break;
    case 4:
        error = open(path, O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        close(error);
        world_write(path, 0, junk, fuzz_pick(input, sizeof junk));
        break;
    case 5:
        break; /* nothing */
    case 6:
        error = chmod(path, 0644);
        break;
    case 7:
        error = chown(path, 12345, 12345);
        break;
    default:
        error = chmod(path, 0400);
    }
    (void)error;
}

/* Damages the catalogue. Files are cut only before they are mapped. To touch memory behind a file's
 * end is SIGBUS, and a program that cuts it under its user could as well kill the process. */
static void damage(struct fuzz_input *input, enum kind kind, bool early)
{
    switch (kind) {
    case WORDS:
        damage_words(input, 1 + fuzz_pick(input, 3));
        break;
    case MANY_WORDS:
        damage_words(input, 4 + fuzz_pick(input, 40));
        break;
    case RUN_WORDS:
        damage_run(input, early);
        break;
    case TORN_PAGE:
        tear_page(input);
        break;
    case CUT:
        cut(input);
        break;
    default:
        put_stranger(input);
    }
}

/* ---- what must hold ---- */

static void check_identity(const struct world_file *file, const struct stk_identity *identity,
                           const char *who)
{
    int version = world_version_of(file, identity);
    /* The check sum has 16 bits, so that one lie in 65,536 is well made. */
    if (version < 0 && ++seen.lies <= 2 + seen.runs / 8192) {
        return;
    }
    if (version < 0) {
        fuzz_fail("%s of %s: size %llu, inode %llu, mode %o, links %u: never true", who, file->name,
                  (unsigned long long)identity->size, (unsigned long long)identity->ino,
                  identity->mode, identity->nlink);
    }
    seen.past_stats += (unsigned)version + 1 != file->versions;
}

/* Opens the path with a version that it never had: all that came before is looked through. */
static void check_unknown_name(const struct world_file *file, const char *path)
{
    char other[STK_PATH_BYTES], origin[STK_PATH_BYTES];
    uint32_t record = 0;
    snprintf(other, sizeof other, "%s", path);
    char *digit = strrchr(other, '/') + 1;
    *digit = *digit == 'a' ? 'b' : 'a';
    if (stk_cache_find_entry(&world.cache, other, origin, &record) &&
        strcmp(origin, world_path(file)) != 0) {
        fuzz_fail("%s is said to be an entry of %s", other, origin);
    }
}

/* Opens an entry as the preload does; 0 or an errno. Its bytes must be the file's. */
static int check_entry(const struct world_file *file, const char *path, bool current)
{
    static char data[2 * WORLD_MAX_BYTES];
    int fd = stk_sys_open_nolinks(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -fd;
    }
    ssize_t got = read(fd, data, sizeof data);
    int version = got >= 0 ? world_version_with(file, data, (size_t)got) : -1;
    close(fd);
    if (version < 0) {
        fuzz_fail("%s: %zd bytes that it never had, from %s", file->name, got, path);
    }
    bool past = !file->link && (unsigned)version + 1 != file->versions;
    if (past && current) {
        fuzz_fail("%s: old bytes in what was filled just now", file->name);
    }
    seen.past_bytes += past;
    return 0;
}

static void check_entry_name(const struct world_file *file, const char *path)
{
    char origin[STK_PATH_BYTES];
    struct stk_identity identity;
    uint32_t record;
    struct stat stat_;
    check_unknown_name(file, path);
    if (!stk_cache_find_entry(&world.cache, path, origin, &record)) {
        return;
    }
    if (strcmp(origin, world_path(file)) != 0) {
        fuzz_fail("%s is said to be an entry of %s", path, origin);
    }
    if (record != 0 && lstat(path, &stat_) == 0 &&
        stk_cache_stat_entry(&world.cache, record, stat_.st_ino, &identity)) {
        check_identity(file, &identity, "fstat");
    }
}

static void fill(const struct world_file *file, const struct stk_place *place)
{
    char entry[STK_PATH_BYTES];
    struct stk_outcome outcome;
    int64_t opened_ns = stk_clock_boottime_ns();
    int fd = open(world_path(file), O_RDONLY | O_CLOEXEC);
    bool filled = stk_cache_fill(&world.cache, place, fd, opened_ns, entry, &outcome);
    stk_cache_count(&world.cache, &outcome);
    if (lseek(fd, 0, SEEK_CUR) != 0) {
        fuzz_fail("%s: the origin's offset has moved", file->name);
    }
    close(fd);
    if (filled) {
        check_entry(file, entry, true);
        check_entry_name(file, entry);
    }
    seen.fills += filled;
    seen.missed += !filled;
}

/* An open as the preload does it. */
static void open_file(const struct world_file *file, const struct stk_place *place)
{
    struct stk_lookup ask;
    enum stk_answer answer = stk_cache_lookup(&world.cache, place, &ask);
    seen.open++;
    if (answer == STK_ANSWER_HIT) {
        int error = check_entry(file, ask.entry, false);
        if (error == 0) {
            seen.hits++;
            stk_cache_count(&world.cache, &(struct stk_outcome){.kind = STK_COUNT_HITS,
                                                                .record = ask.record,
                                                                .size = ask.size});
            check_entry_name(file, ask.entry);
            return;
        }
        if (error == ENOENT) {
            seen.lost++;
            stk_cache_lost(&world.cache, &ask);
            answer = STK_ANSWER_FILL;
        }
    }
    if (answer == STK_ANSWER_FILL) {
        fill(file, place);
    }
}

static void stat_file(const struct world_file *file, const struct stk_place *place, bool nofollow)
{
    struct stk_identity identity;
    if (!stk_cache_stat(&world.cache, place, nofollow, &identity)) {
        seen.stats_none++;
        return;
    }
    seen.stats++;
    check_identity(file, &identity, nofollow ? "lstat" : "stat");
}

static void change_file(const struct stk_place *place, uint32_t what)
{
    struct stk_mark mark;
    struct stat stat_ = {.st_dev = 1, .st_ino = 2, .st_mode = S_IFREG | 0600};
    struct statx answer;
    switch (what) {
    case 0:
        stk_cache_mark_written(&world.cache, place, &mark);
        stk_cache_unmark_written(&world.cache, &mark);
        break;
    case 1:
        stk_cache_mark_written(&world.cache, place, &mark);
        break;
    case 2:
        stk_cache_mark_inode(&world.cache, &stat_);
        break;
    case 3:
        stk_cache_distrust(&world.cache, place);
        break;
    case 4:
        stk_cache_distrust_inode(&world.cache, &stat_);
        break;
    case 5:
        stk_cache_distrust_all(&world.cache);
        break;
    default:
        stk_cache_stat_origin(&world.cache, place, false, &answer);
    }
}

static void use_file(struct fuzz_input *input, const struct world_file *file)
{
    struct stk_place place;
    world_place(file, &place);
    for (int i = 0; i < 2; i++) {
        int64_t before_ns = world_waited_ns();
        stat_file(file, &place, false);
        stat_file(file, &place, true);
        stk_cache_is_readable(&world.cache, &place);
        open_file(file, &place);
        if (world_waited_ns() - before_ns > PATIENCE_NS) {
            fuzz_fail("%s: waited for %lld ms", file->name,
                      (long long)(world_waited_ns() - before_ns) / 1000000);
        }
        uint32_t what = fuzz_pick(input, 24);
        if (what < 7) {
            change_file(&place, what);
        }
    }
}

static void check_counts(void)
{
    struct stk_run_counts counts;
    stk_run_read(&world.cache.run, &counts);
    for (int why = 0; why < STK_BYPASS_KINDS; why++) {
        if (strlen(stk_bypass_name((enum stk_bypass)why)) == 0) {
            fuzz_fail("a reason without a name");
        }
    }
}

/* ---- the target ---- */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    if (!world_make()) {
        fprintf(stderr, "fuzz: skipped: no private mount namespace: %s\n", strerror(errno));
        exit(SKIP_STATUS);
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_input input = fuzz_input(data, bytes);
    enum kind kind = (enum kind)fuzz_pick(&input, KINDS);
    static const enum stk_fresh fresh[] = {STK_FRESH_RUN, STK_FRESH_NEVER, STK_FRESH_RUN,
                                           STK_FRESH_OPEN};
    world.options.fresh = fresh[fuzz_pick(&input, 4)];
    bool named = kind == RUN_WORDS && fuzz_pick(&input, 2) != 0;
    snprintf(world.options.run, sizeof world.options.run, "%s", named ? world.run : "");
    /* Before the process opens the catalogue, or while it has it open. */
    bool early = kind >= CUT || fuzz_pick(&input, 2) != 0;
    if (early) {
        damage(&input, kind, early);
    }
    world_open();
    if (!early) {
        use_file(&input, &world.files[0]);
        damage(&input, kind, early);
    }
    for (unsigned i = 0; i < world.count; i++) {
        use_file(&input, &world.files[i]);
    }
    check_counts();
    world_close();
    world_restore();
    seen.runs++;
    return 0;
}

/* Every page of the file torn in three ways, and the file cut at every page and a little beside. */
size_t fuzz_systematic(size_t number, uint8_t *out, size_t room)
{
    const struct world_part *parts[] = {&world.header, &world.index, &world.records};
    (void)room;
    for (uint8_t part = 0; part < 3; part++) {
        size_t pages = (parts[part]->bytes + PAGE_BYTES - 1) / PAGE_BYTES;
        if (number < 3 * pages) {
            /* kind, fresh, early, part, page, fill */
            uint8_t torn[] = {TORN_PAGE,
                              0,
                              (uint8_t)(number & 1),
                              part,
                              (uint8_t)(number / 3),
                              (uint8_t)(number % 3)};
            memcpy(out, torn, sizeof torn);
            return sizeof torn;
        }
        number -= 3 * pages;
    }
    for (uint8_t part = 0; part < 3; part++) {
        size_t pages = (parts[part]->bytes + PAGE_BYTES - 1) / PAGE_BYTES;
        if (number < 3 * pages) {
            off_t at =
                parts[part]->offset + (off_t)(number / 3 * PAGE_BYTES) + (off_t)(number % 3) * 1000;
            uint8_t short_file[] = {
                CUT, 0, (uint8_t)at, (uint8_t)(at >> 8), (uint8_t)(at >> 16), (uint8_t)(at >> 24)};
            memcpy(out, short_file, sizeof short_file);
            return sizeof short_file;
        }
        number -= 3 * pages;
    }
    uint8_t stranger[] = {STRANGER, 0, (uint8_t)number, 0x55, 0xaa, 1, 0};
    memcpy(out, stranger, sizeof stranger);
    return number < 9 ? sizeof stranger : 0;
}

bool fuzz_report(void)
{
    printf("fuzz-catalogue: %llu opens: %llu hits, %llu fills, %llu left to the origin, %llu lost "
           "entries, %llu of old versions; %llu stats, %llu not answered, %llu of old versions, "
           "%llu never true\n",
           (unsigned long long)seen.open, (unsigned long long)seen.hits,
           (unsigned long long)seen.fills, (unsigned long long)seen.missed,
           (unsigned long long)seen.lost, (unsigned long long)seen.past_bytes,
           (unsigned long long)seen.stats, (unsigned long long)seen.stats_none,
           (unsigned long long)seen.past_stats, (unsigned long long)seen.lies);
    return seen.runs == 0 || (seen.hits > seen.runs && seen.fills > 0 && seen.stats > seen.runs);
}
