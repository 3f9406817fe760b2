/* The world of the catalogue's fuzzer. See tests/fuzz/world.h. */
#include "tests/fuzz/world.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sys.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/private.h"

#define ORIGIN      "/dev/shm/origin"
#define MASTERS     "/dev/shm/masters" /* second names of the entries */
#define PRECIOUS    "/dev/shm/precious"
#define MAX_ENTRIES (2 * WORLD_FILES + 4)
#define RUN_BYTES   (224u << 10)

struct world world;

/* The entries as they were: their second names, and what they are. */
static struct entry {
    char path[512];
    char master[64];
    ino_t ino;
} entries[MAX_ENTRIES];
static unsigned entry_count;
static uint8_t run_was[RUN_BYTES];
static size_t run_bytes;

/* ---- time ---- */

static int64_t moved_ns;

int64_t __real_stk_sys_clock_ns(int clock);
int64_t __wrap_stk_sys_clock_ns(int clock);
int __wrap_stk_sys_futex_wait(void *word, uint32_t expected, int64_t timeout_ns);

int64_t __wrap_stk_sys_clock_ns(int clock)
{
    return __real_stk_sys_clock_ns(clock) + moved_ns;
}

int __wrap_stk_sys_futex_wait(void *word, uint32_t expected, int64_t timeout_ns)
{
    if (__atomic_load_n((uint32_t *)word, __ATOMIC_ACQUIRE) == expected) {
        moved_ns += timeout_ns;
    }
    return 0;
}

int64_t world_waited_ns(void)
{
    return moved_ns;
}

/* ---- small things ---- */

static void need(bool good, const char *what)
{
    if (!good) {
        fuzz_fail("setting up: %s: %s", what, strerror(errno));
    }
}

void world_write(const char *path, off_t offset, const void *data, size_t bytes)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t put = pwrite(fd, data, bytes, offset);
        (void)put;
        close(fd);
    }
}

static size_t read_file(const char *path, off_t offset, void *out, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? pread(fd, out, room, offset) : -1;
    if (fd >= 0) {
        close(fd);
    }
    return got > 0 ? (size_t)got : 0;
}

const char *world_path(const struct world_file *file)
{
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], ORIGIN "/%s", file->name);
    return path;
}

void world_place(const struct world_file *file, struct stk_place *place)
{
    const char *path = world_path(file);
    if (!stk_cache_place(&world.cache, path, AT_FDCWD, path, place)) {
        fuzz_fail("%s is not covered", path);
    }
}

uint64_t world_read_word(off_t offset)
{
    uint64_t word = 0;
    const struct world_part *parts[] = {&world.header, &world.index, &world.records};
    for (size_t i = 0; i < 3; i++) {
        off_t at = offset - parts[i]->offset;
        if (at >= 0 && at + 8 <= (off_t)parts[i]->bytes) {
            memcpy(&word, parts[i]->was + at, sizeof word);
        }
    }
    return word;
}

/* ---- the files ---- */

static size_t version_bytes(unsigned file, unsigned version)
{
    /* The last two: empty, and too large to be cached. Files 2 and 3 are of equal size. */
    return file == WORLD_FILES - 2   ? 0
           : file == WORLD_FILES - 1 ? WORLD_MAX_BYTES + 9
                                     : 700 + (file | 1) * 100 + version;
}

static void write_version(unsigned number, unsigned version)
{
    struct world_file *file = &world.files[number];
    size_t bytes = version_bytes(number, version);
    for (size_t i = 0; i < bytes; i++) {
        file->content[version][i] = (char)(i * 7 + number * 31 + version * 101 + i / 251);
    }
    int fd = open(ORIGIN "/aside", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    need(fd >= 0 && write(fd, file->content[version], bytes) == (ssize_t)bytes, "a file");
    close(fd);
    need(rename(ORIGIN "/aside", world_path(file)) == 0, "a file's name");
}

static void make_file(unsigned number)
{
    static const char *const names[WORLD_FILES] = {
        "a",       "b",   "dir/a", "dir/b", "dir/deep/a", "dir/deep/b", "c",     "d;e",
        "dir;x/a", "e e", "f",     "link",  "g",          "h",          "empty", "large"};
    struct world_file *file = &world.files[number];
    file->name = names[number];
    file->link = strcmp(file->name, "link") == 0;
    if (file->link) {
        need(symlink("a", ORIGIN "/link") == 0, "a link");
    } else {
        write_version(number, 0);
    }
    file->versions = 1;
    world.count++;
}

static void note_identity(struct world_file *file)
{
    struct statx answer;
    unsigned version = file->versions - 1;
    need(stk_sys_statx(AT_FDCWD, world_path(file), AT_STATX_FORCE_SYNC,
                       STATX_BASIC_STATS | STATX_BTIME, &answer) == 0 &&
             stk_identity_from_statx(&file->identity[version], &answer),
         "an identity");
}

/* Returns the file that a read gives: through a link it is the first one. */
static const struct world_file *subject(const struct world_file *file)
{
    return file->link ? &world.files[0] : file;
}

int world_version_with(const struct world_file *file, const char *data, size_t bytes)
{
    file = subject(file);
    for (unsigned i = 0; i < file->versions; i++) {
        if (bytes == file->identity[i].size && memcmp(data, file->content[i], bytes) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static bool is_same(const struct stk_identity *a, const struct stk_identity *b)
{
    return stk_identity_same_version(a, b) && a->blocks == b->blocks && a->mode == b->mode &&
           a->nlink == b->nlink && a->uid == b->uid && a->gid == b->gid &&
           a->blksize == b->blksize && a->atime_ns == b->atime_ns && a->btime_ns == b->btime_ns;
}

int world_version_of(const struct world_file *file, const struct stk_identity *identity)
{
    file = subject(file);
    for (unsigned i = 0; i < file->versions; i++) {
        if (is_same(identity, &file->identity[i])) {
            return (int)i;
        }
    }
    return -1;
}

/* ---- the cache ---- */

void world_open(void)
{
    static struct stk_roots spelling;
    if (spelling.count == 0) {
        stk_roots_spell(&spelling, ORIGIN);
    }
    memset(&world.cache, 0, sizeof world.cache);
    stk_cache_open(&world.cache, &world.options, &spelling);
    for (unsigned i = 0; i < world.cache.roots.count; i++) {
        world.cache.roots.roots[i].kind = STK_ROOT_UNKNOWN; /* as it is, for the tests' sake */
    }
}

void world_close(void)
{
    struct stk_run *run = &world.cache.run;
    if (world.cache.catalogue.header != NULL) {
        stk_catalogue_close(&world.cache.catalogue);
    }
    for (unsigned i = 0; i < STK_RUN_SEGMENTS; i++) {
        if (run->files[i] != NULL) {
            munmap(run->files[i], STK_RUN_SEGMENT_BYTES);
        }
    }
    if (run->file != NULL) {
        munmap(run->file, 160u << 10); /* a run's view lives as long as its process, but here */
    }
}

static void open_file(struct world_file *file)
{
    struct stk_place place;
    struct stk_lookup ask;
    struct stk_outcome outcome;
    struct statx answer;
    world_place(file, &place);
    if (stk_cache_lookup(&world.cache, &place, &ask) == STK_ANSWER_FILL) {
        int64_t opened_ns = stk_clock_boottime_ns();
        int fd = open(world_path(file), O_RDONLY | O_CLOEXEC);
        stk_cache_fill(&world.cache, &place, fd, opened_ns, ask.entry, &outcome);
        close(fd);
    }
    stk_cache_stat_origin(&world.cache, &place, false, &answer);
}

/* Where in its file a mapped address lies. */
static off_t offset_of(const void *address)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    need(maps != NULL, "/proc/self/maps");
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long start, end, offset;
        if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
            start <= (uintptr_t)address && (uintptr_t)address < end) {
            fclose(maps);
            return (off_t)(offset + (uintptr_t)address - start);
        }
    }
    fuzz_fail("an address that is not mapped");
}

static void keep_part(struct world_part *part, const void *address, size_t bytes)
{
    part->offset = offset_of(address);
    part->bytes = bytes;
    part->was = malloc(bytes);
    need(part->was != NULL && read_file(world.catalogue, part->offset, part->was, bytes) == bytes,
         "the catalogue");
}

static void find_record(struct world_file *file)
{
    struct stk_place place;
    world_place(file, &place);
    file->record = stk_catalogue_find(&world.cache.catalogue, place.key);
    for (size_t i = 0; file->record != 0 && i < world.index.bytes; i += sizeof(uint64_t)) {
        uint64_t slot;
        memcpy(&slot, world.index.was + i, sizeof slot);
        if ((uint32_t)slot == file->record) {
            file->slot = world.index.offset + (off_t)i;
        }
    }
}

static void keep_catalogue(void)
{
    struct stat stat_;
    struct stk_catalogue *catalogue = &world.cache.catalogue;
    need(stat(world.catalogue, &stat_) == 0, "the catalogue");
    world.catalogue_bytes = stat_.st_size;
    keep_part(&world.header, catalogue->header, sizeof *catalogue->header);
    keep_part(&world.index,
              stk_area_item(&catalogue->file, &catalogue->header->areas, STK_AREA_NODES, 0),
              STK_SEGMENT_NODES * sizeof(struct stk_index_node));
    keep_part(&world.records,
              stk_area_item(&catalogue->file, &catalogue->header->areas, STK_AREA_RECORDS, 0),
              STK_SEGMENT_RECORDS * sizeof(struct stk_record));
    for (unsigned i = 0; i < world.count; i++) {
        find_record(&world.files[i]);
    }
    run_bytes = read_file(world.run, 0, run_was, sizeof run_was);
    need(run_bytes > 0, "the run's file");
}

/* ---- entries ---- */

static bool is_directory(const char *path)
{
    struct stat stat_;
    return lstat(path, &stat_) == 0 && S_ISDIR(stat_.st_mode);
}

static void each_entry(const char *directory, void (*visit)(const char *path))
{
    char path[4096];
    DIR *names = opendir(directory);
    struct dirent *name;
    while (names != NULL && (name = readdir(names)) != NULL) {
        if (strcmp(name->d_name, ".") == 0 || strcmp(name->d_name, "..") == 0) {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", directory, name->d_name);
        if (is_directory(path)) {
            each_entry(path, visit);
        } else {
            visit(path);
        }
    }
    if (names != NULL) {
        closedir(names);
    }
}

static void keep_entry(const char *path)
{
    struct stat stat_;
    for (unsigned i = 0; i < entry_count; i++) {
        if (strcmp(entries[i].path, path) == 0) {
            return;
        }
    }
    need(entry_count < MAX_ENTRIES && stat(path, &stat_) == 0, "an entry");
    struct entry *entry = &entries[entry_count];
    snprintf(entry->path, sizeof entry->path, "%s", path);
    snprintf(entry->master, sizeof entry->master, MASTERS "/%u", entry_count++);
    entry->ino = stat_.st_ino;
    need(link(path, entry->master) == 0, "an entry's second name");
}

static void remove_stranger(const char *path)
{
    struct stat stat_;
    for (unsigned i = 0; i < entry_count; i++) {
        if (strcmp(entries[i].path, path) == 0 && lstat(path, &stat_) == 0 &&
            stat_.st_ino == entries[i].ino) {
            return;
        }
    }
    unlink(path);
}

static void restore_entries(void)
{
    char directory[128];
    static const char *const rooms[] = {"tree", "fill"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(directory, sizeof directory, "%s/%s", world.home, rooms[i]);
        each_entry(directory, remove_stranger);
    }
    for (unsigned i = 0; i < entry_count; i++) {
        if (link(entries[i].master, entries[i].path) != 0 && errno != EEXIST) {
            fuzz_fail("%s cannot be put back: %s", entries[i].path, strerror(errno));
        }
    }
}

/* ---- making and restoring ---- */

static void set_options(void)
{
    world.options = (struct stk_options){.paths = "",
                                         .tiers = "/dev/shm:64M",
                                         .fresh = STK_FRESH_RUN,
                                         .min_age_ns = 0,
                                         .max_file_bytes = WORLD_MAX_BYTES};
    snprintf(world.origin, sizeof world.origin, ORIGIN);
    snprintf(world.home, sizeof world.home, "/dev/shm/stoker-%u", geteuid());
    snprintf(world.catalogue, sizeof world.catalogue, "%s/catalogue", world.home);
    snprintf(world.run, sizeof world.run, "%s/runs/" STK_RUN_OUTSIDE, world.home);
}

static void make_origin(void)
{
    static const char *const directories[] = {
        ORIGIN, MASTERS, PRECIOUS, ORIGIN "/dir", ORIGIN "/dir/deep", ORIGIN "/dir;x"};
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        need(mkdir(directories[i], 0755) == 0, directories[i]);
    }
    for (unsigned i = 0; i < WORLD_FILES; i++) {
        make_file(i);
    }
}

/* Fills the cache with the first versions and their entries, and then with the second ones. */
static void fill_cache(void)
{
    char tree[128];
    snprintf(tree, sizeof tree, "%s/tree", world.home);
    for (unsigned version = 0; version < WORLD_VERSIONS; version++) {
        for (unsigned i = 0; i < world.count; i++) {
            struct world_file *file = &world.files[i];
            if (version > 0 && i % 3 == 1 && !file->link && i < WORLD_FILES - 2) {
                write_version(i, version);
                file->versions++;
            }
            note_identity(file);
        }
        usleep(20000);
        world_open();
        need(world.cache.catalogue.header != NULL && world.cache.tier.shared != NULL &&
                 world.cache.run.file != NULL,
             "the cache");
        world.cache.run_start_ns = stk_clock_boottime_ns();
        for (unsigned i = 0; i < world.count; i++) {
            open_file(&world.files[i]);
        }
        each_entry(tree, keep_entry);
        if (version + 1 < WORLD_VERSIONS) {
            world_close();
        }
    }
}

bool world_make(void)
{
    if (!private_enter("size=256m")) {
        return false;
    }
    /* So that reading changes no field of stat. */
    need(mount(NULL, "/dev/shm", NULL, MS_REMOUNT | MS_NOATIME, "size=256m") == 0, "noatime");
    set_options();
    make_origin();
    fill_cache();
    keep_catalogue();
    world_close();
    world_restore();
    return true;
}

/* Whatever has taken the name of the catalogue goes; the file is made anew, not changed in place,
 * as it may be anything. */
static void restore_file(const char *path, off_t bytes)
{
    if (is_directory(path)) {
        rmdir(path);
    }
    unlink(path);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, bytes) != 0) {
        fuzz_fail("%s cannot be made: %s", path, strerror(errno));
    }
    close(fd);
}

void world_restore(void)
{
    restore_file(world.catalogue, world.catalogue_bytes);
    const struct world_part *parts[] = {&world.header, &world.index, &world.records};
    for (size_t i = 0; i < 3; i++) {
        world_write(world.catalogue, parts[i]->offset, parts[i]->was, parts[i]->bytes);
    }
    restore_file(world.run, (off_t)run_bytes);
    world_write(world.run, 0, run_was, run_bytes);
    restore_entries();
    if (!is_directory(PRECIOUS)) {
        fuzz_fail("what is none of ours is gone");
    }
}
