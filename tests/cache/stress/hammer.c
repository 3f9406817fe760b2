/*
 * hammer SECONDS [threads]: many workers against one catalogue.
 *
 * Eight processes (or threads) insert, look up, replace, claim, advance, finish, mark and reserve,
 * on the same few thousand keys. A parent kills processes at any instant and starts others. A
 * record's content follows from its key and its version alone. So a reader sees whatever is torn,
 * mixed up or half done. Prints what was done; exits 1 on any inconsistency.
 *
 * The catalogue lies on a tmpfs of its own, in a mount namespace of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/walk.h"
#include "cache/cache.h"
#include "cache/catalogue/changes.h"
#include "cache/catalogue/claim.h"
#include "cache/origin/entry_name.h"
#include "cache/version/versions.h"
#include "tests/unit/private.h"

#define WORKERS     8
#define KEYS        40000
#define VERSIONS    1000
#define DEVICE      0x801
#define BUDGET      2000000 /* blocks, and inodes */
#define BLOCK_BYTES 4096
#define SKIP_STATUS 77
#define TIER_HOME   "/dev/shm/tier"

/* All processes share this beside the catalogue. */
struct common {
    _Atomic uint64_t operations, fills, inserted, full, inconsistencies;
    _Atomic bool stop;
    _Atomic uint8_t marked[KEYS]; /* its inode was marked as written */
};

static struct common *common;
static struct stk_cache cache;
static char root_name[] = "ext4@0123456789abcdef";
static _Atomic bool noted[STK_TIERS];
static const struct stk_root root = {.canonical = "/data",
                                     .dev = DEVICE,
                                     .inode_counts = true,
                                     .usable = true,
                                     .name = root_name,
                                     .name_length = sizeof root_name - 1,
                                     .noted = noted};
static int64_t began_ns;

__attribute__((format(printf, 1, 2))) static void complain(const char *format, ...)
{
    if (atomic_fetch_add(&common->inconsistencies, 1) < 20) {
        va_list arguments;
        va_start(arguments, format);
        vfprintf(stderr, format, arguments);
        va_end(arguments);
    }
}

/* ---- what a record must say ---- */

static uint64_t mix(uint64_t key, uint64_t field)
{
    const uint64_t parts[] = {key, field};
    return stk_hash_64(parts, sizeof parts, 0);
}

/* The identity of a version of a file: everything follows from the two numbers. */
static struct stk_identity identity_of(uint32_t key, uint32_t version)
{
    return (struct stk_identity){
        .dev = DEVICE,
        .ino = key + 1,
        .size = 1 + mix(key, version) % 200000,
        .blocks = mix(key, version) >> 30,
        .mode = 0100644,
        .nlink = 1 + key % 3,
        .uid = key,
        .gid = version,
        .blksize = 4096,
        .mtime_ns = (int64_t)(mix(version, key) >> 2),
        .ctime_ns = (int64_t)(mix(version, key + 1) >> 2),
        .btime_ns = STK_NO_TIME,
    };
}

static uint64_t entry_ino_of(uint32_t key, uint32_t version)
{
    return mix(key, version ^ 0x55555555) | 1;
}

static void place_of(uint32_t key, struct stk_place *place)
{
    place->root = &root;
    place->key = stk_hash_128(&key, sizeof key, 9);
    place->below[0] = 'x';
    place->below[1] = '\0';
}

static void check_record(uint32_t key, struct stk_record *record)
{
    struct stk_identity found;
    if (!stk_record_get_identity(record, &found)) {
        complain("key %u: a damaged record\n", key);
    }
    struct stk_identity wanted = identity_of(key, found.gid);
    if (!stk_record_describes(record, &wanted) || found.btime_ns != STK_NO_TIME) {
        complain("key %u: another file's identity (uid %u, version %u)\n", key, found.uid,
                 found.gid);
    }
    if (stk_record_name(record) != stk_identity_name(&wanted, true, 0)) {
        complain("key %u: the name of another version\n", key);
    }
    uint64_t entry_ino = atomic_load(&record->entry_ino);
    if (entry_ino != entry_ino_of(key, found.gid) && entry_ino != 0) {
        complain("key %u: another entry's inode number\n", key);
    }
}

/* ---- operations ---- */

static struct stk_record *look_up(uint32_t key)
{
    struct stk_place place;
    place_of(key, &place);
    uint32_t number = stk_catalogue_find(&cache.catalogue, place.key);
    struct stk_record *record = stk_catalogue_record(&cache.catalogue, number);
    if (number != 0 && record == NULL) {
        complain("key %u: number %u has no record\n", key, number);
    }
    if (record != NULL) {
        check_record(key, record);
    }
    return record;
}

static void remember(uint32_t key, uint32_t version)
{
    struct stk_place place;
    place_of(key, &place);
    struct stk_identity identity = identity_of(key, version);
    uint32_t number = stk_versions_remember(&cache, &place, &identity);
    if (number == 0) {
        atomic_fetch_add(&common->full, 1);
        return;
    }
    atomic_fetch_add(&common->inserted, 1);
    check_record(key, stk_catalogue_record(&cache.catalogue, number));
}

/* The entry of a version, of its size but of no blocks. False: it is there, or the tier is full. */
static bool make_entry(const struct stk_record *record)
{
    char path[STK_PATH_BYTES];
    bool named = stk_entry_path(path, TIER_HOME, &root, "x", stk_record_name(record));
    int fd = named ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400) : -1;
    if (fd < 0) {
        return false;
    }
    bool made = ftruncate(fd, (off_t)record->size) == 0;
    close(fd);
    return made;
}

/* Fills as cache/file/fill.c does, without the copying: a process that finds the entry made has
 * adopted it. */
static void fill(uint32_t key)
{
    struct stk_budget *budget = &cache.catalogue.header->tiers[0].budget;
    struct stk_record *record = look_up(key);
    if (record == NULL) {
        return;
    }
    struct stk_claim claim = stk_claim_load(&record->claim);
    if (claim.state == STK_FILLING && !stk_claim_wait(&record->claim)) {
        claim = stk_claim_load(&record->claim);
    }
    if (claim.state == STK_PRESENT || claim.state == STK_FILLING ||
        !stk_claim_take(&record->claim, claim)) {
        return;
    }
    int64_t blocks = stk_budget_blocks_of(record->size, BLOCK_BYTES);
    bool reserved = stk_budget_reserve(budget, blocks, 1);
    for (int i = 0; i < 4 && stk_claim_advance(&record->claim); i++) {
    }
    if (!reserved) {
        stk_claim_finish(&record->claim, STK_REFUSED, 0, atomic_load(&budget->generation));
        return;
    }
    if (!make_entry(record)) {
        stk_budget_release(budget, blocks, 1);
    }
    atomic_store(&record->entry_ino, entry_ino_of(key, record->gid));
    if (stk_claim_finish(&record->claim, STK_PRESENT, 0, 0)) {
        atomic_fetch_add(&common->fills, 1); /* paid for until a new version drops it */
    }
}

static void mark(uint32_t key)
{
    stk_changes_note(&cache.catalogue, stk_changes_inode(DEVICE, key + 1), STK_WRITTEN, NULL);
    atomic_store(&common->marked[key], 1);
}

static void check_marks(uint32_t key)
{
    bool marked = atomic_load(&common->marked[key]) != 0;
    uint64_t inode = stk_changes_inode(DEVICE, key + 1);
    if (marked && stk_changes_last(&cache.catalogue, inode).written_ns < began_ns) {
        complain("key %u: the mark is lost\n", key);
    }
}

static void mark_path(uint32_t key)
{
    struct stk_place place;
    struct stk_mark taken;
    place_of(key, &place);
    stk_cache_mark_written(&cache, &place, &taken);
    if (stk_changes_last(&cache.catalogue, place.key.low).written_ns < began_ns) {
        complain("key %u: the path's mark is lost\n", key);
    }
}

static void check_budget(void)
{
    const struct stk_budget *budget = &cache.catalogue.header->tiers[0].budget;
    int64_t blocks = atomic_load(&budget->used_blocks), inodes = atomic_load(&budget->used_inodes);
    if (blocks > BUDGET || blocks < 0 || inodes > BUDGET || inodes < 0) {
        complain("budget exceeded: %lld blocks, %lld inodes\n", (long long)blocks,
                 (long long)inodes);
    }
}

static void operate(unsigned *seed)
{
    uint32_t choice = (uint32_t)rand_r(seed) % 100;
    uint32_t key = (uint32_t)rand_r(seed) % KEYS;
    if (choice < 50) {
        look_up(key);
        check_marks(key);
    } else if (choice < 65) {
        remember(key, (uint32_t)rand_r(seed) % (choice < 55 ? VERSIONS : 2));
    } else if (choice < 70) {
        remember(key % 16, (uint32_t)rand_r(seed) % VERSIONS); /* where all meet */
    } else if (choice < 80) {
        fill(key);
    } else if (choice < 90) {
        fill(key % 16);
    } else if (choice < 92) {
        mark(key);
    } else if (choice < 95) {
        mark_path(key);
    } else {
        check_budget();
    }
    atomic_fetch_add_explicit(&common->operations, 1, memory_order_relaxed);
}

/* ---- workers ---- */

static void *work(void *context)
{
    unsigned seed = (unsigned)(uintptr_t)context;
    while (!atomic_load_explicit(&common->stop, memory_order_relaxed)) {
        operate(&seed);
    }
    return NULL;
}

static bool open_catalogue(void)
{
    int error = stk_catalogue_open(&cache.catalogue, "/dev/shm", true);
    if (error != 0) {
        complain("the catalogue cannot be opened: %s\n", strerror(-error));
    }
    return error == 0;
}

static pid_t start_worker(unsigned seed)
{
    pid_t pid = fork();
    if (pid == 0) {
        /* A view of its own, as after exec: every worker maps for itself. */
        if (open_catalogue()) {
            work((void *)(uintptr_t)seed);
        }
        _exit(0);
    }
    return pid;
}

/* Kills one after the other, a few a millisecond, until the time is up; returns how many. */
static unsigned kill_and_restart(pid_t workers[WORKERS], int64_t end_ns)
{
    unsigned kills = 0, seed = 1;
    while (stk_clock_boottime_ns() < end_ns) {
        usleep(500 + (unsigned)rand_r(&seed) % 3000);
        int victim = rand_r(&seed) % WORKERS;
        int status = 0;
        kill(workers[victim], SIGKILL);
        waitpid(workers[victim], &status, 0);
        if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL) {
            complain("a worker died of signal %d\n", WTERMSIG(status));
        }
        workers[victim] = start_worker(++kills + WORKERS);
    }
    return kills;
}

static unsigned hammer_by_processes(int64_t end_ns)
{
    pid_t workers[WORKERS];
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i] = start_worker(i + 1);
    }
    unsigned kills = kill_and_restart(workers, end_ns);
    atomic_store(&common->stop, true);
    for (int i = 0; i < WORKERS; i++) {
        int status;
        waitpid(workers[i], &status, 0);
        if (status != 0) {
            complain("a worker ended with status %d\n", status);
        }
    }
    return kills;
}

static void hammer_by_threads(int64_t end_ns)
{
    pthread_t threads[WORKERS];
    if (!open_catalogue()) {
        return;
    }
    for (uintptr_t i = 0; i < WORKERS; i++) {
        pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    }
    while (stk_clock_boottime_ns() < end_ns) {
        usleep(10000);
    }
    atomic_store(&common->stop, true);
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
    }
    stk_catalogue_close(&cache.catalogue);
}

/* All is quiet: a present record has its entry now, and nothing else has changed. */
static void check_everything(void)
{
    if (!open_catalogue()) {
        return;
    }
    for (uint32_t key = 0; key < KEYS; key++) {
        const struct stk_record *record = look_up(key);
        bool present = record != NULL && stk_claim_load(&record->claim).state == STK_PRESENT;
        if (present && atomic_load(&record->entry_ino) == 0) {
            complain("key %u: present without an entry\n", key);
        }
        check_marks(key);
    }
    check_budget();
}

static int64_t found_blocks, found_inodes;

static int count_entry(void *context, int dirfd, const char *name, const struct stat *stat)
{
    (void)context;
    (void)dirfd;
    (void)name;
    if (S_ISREG(stat->st_mode)) {
        found_blocks += stk_budget_blocks_of((uint64_t)stat->st_size, BLOCK_BYTES);
        found_inodes++;
    }
    return 0;
}

/* Checks the accounts. Where no process was killed, the use is what the entries were charged
 * with. */
static void check_accounts(void)
{
    const struct stk_budget *budget = &cache.catalogue.header->tiers[0].budget;
    stk_walk(TIER_HOME, count_entry, NULL);
    int64_t blocks = found_blocks, inodes = found_inodes;
    if (blocks != atomic_load(&budget->used_blocks) ||
        inodes != atomic_load(&budget->used_inodes)) {
        complain("the budget is off: %lld blocks used, %lld charged\n", (long long)blocks,
                 (long long)atomic_load(&budget->used_blocks));
    }
}

/* ---- set-up ---- */

static bool set_up(void)
{
    common = mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (common == MAP_FAILED || !open_catalogue()) {
        return false;
    }
    struct stk_tier_shared *tier = &cache.catalogue.header->tiers[0];
    /* Ready, so that new versions drop the entries of old ones. */
    tier->block_bytes = BLOCK_BYTES;
    strcpy(tier->home, TIER_HOME);
    if (mkdir(TIER_HOME, 0700) != 0 || mkdir(TIER_HOME "/tree", 0700) != 0) {
        return false;
    }
    atomic_store(&tier->path_hash, stk_tier_hash(tier->home));
    stk_budget_set(&tier->budget, BUDGET, BUDGET);
    atomic_store(&tier->setup, STK_TIER_READY);
    stk_catalogue_close(&cache.catalogue);
    return true;
}

int main(int argc, char **argv)
{
    int seconds = argc > 1 ? atoi(argv[1]) : 0;
    bool threads = argc > 2 && strcmp(argv[2], "threads") == 0;
    if (seconds <= 0) {
        fprintf(stderr, "usage: hammer SECONDS [threads]\n");
        return 2;
    }
    if (!private_enter("size=400m")) {
        fprintf(stderr, "hammer: skipped: no private mount namespace: %s\n", strerror(errno));
        return SKIP_STATUS;
    }
    if (!set_up()) {
        perror("hammer");
        return 1;
    }
    began_ns = stk_clock_boottime_ns();
    int64_t end_ns = began_ns + seconds * STK_NS_PER_S;
    unsigned kills = 0;
    if (threads) {
        hammer_by_threads(end_ns);
    } else {
        kills = hammer_by_processes(end_ns);
    }
    check_everything();
    if (threads) {
        check_accounts();
    }
    printf("hammer: %llu operations, %llu versions remembered, %llu fills, %llu without room, "
           "%u kills, budget used %lld of %d, %llu inconsistencies\n",
           (unsigned long long)common->operations, (unsigned long long)common->inserted,
           (unsigned long long)common->fills, (unsigned long long)common->full, kills,
           (long long)cache.catalogue.header->tiers[0].budget.used_blocks, BUDGET,
           (unsigned long long)common->inconsistencies);
    return common->inconsistencies == 0 ? 0 : 1;
}
