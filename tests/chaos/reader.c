/*
 * A reader: looks at files in all ways there are, and judges what it finds by the ledger.
 *
 * A look at a path must show a version that the path has led to, whole, and not older than its
 * floor. Only while the origin is faulty, or files of the unit are written in place, may it be
 * something in between. It is never another unit's or volume's.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "content.h"
#include "player.h"

#define MAPS_OF_OURS 64 /* the catalogue's segments, mapped as they are wanted */

/* One look at a path, from before it is opened until it has been read. */
struct look {
    const char *way;
    unsigned unit, path;
    uint32_t floor, noted;
    uint64_t unstable, quake; /* as they were before */
    char name[4096];
};

static char bytes[CONTENT_MOST_BYTES + CONTENT_BLOCK_BYTES];
static struct look held;
static int held_fd = -1;
static unsigned fds_before, maps_before;

/* ---- the window of a look ---- */

static uint32_t floor_of(unsigned path)
{
    switch (orders.fresh) {
    case FRESH_RUN:
        return atomic_load(&ledger->floors[orders.run][path]);
    case FRESH_OPEN:
        return atomic_load(&ledger->paths[orders.volume][path].settled);
    case FRESH_NEVER:
        break;
    }
    return 0;
}

static void look_begin(struct look *look, const char *way, unsigned unit, enum place place,
                       unsigned file)
{
    look->way = way;
    look->unit = unit;
    look->path = path_number(unit, place, file);
    path_name(look->name, orders.data, unit, place, file);
    look->unstable = atomic_load(&ledger->units[orders.volume][unit].unstable);
    look->quake = atomic_load(&ledger->quake[orders.volume]);
    look->noted = atomic_load(&ledger->paths[orders.volume][look->path].noted);
    look->floor = floor_of(look->path);
}

static bool is_shaken(const struct look *look)
{
    return look->quake % 2 == 1 || look->quake != atomic_load(&ledger->quake[orders.volume]);
}

static bool is_disturbed(const struct look *look)
{
    return is_shaken(look) || look->unstable % 2 == 1 ||
           look->unstable != atomic_load(&ledger->units[orders.volume][look->unit].unstable);
}

/* ---- judging ---- */

static void say_wrong(const struct look *look, const char *what, const char *more)
{
    uint32_t settled = atomic_load(&ledger->paths[orders.volume][look->path].settled);
    violation("%s: %s by %s in run %u: %s; floor %u, settled %u", look->name, what, look->way,
              orders.run, more, look->floor, settled);
}

static void pass(const struct look *look, const char *what, const char *more)
{
    if (is_disturbed(look)) {
        ledger_count(COUNT_UNJUDGED);
    } else {
        say_wrong(look, what, more);
    }
}

/* The last version of the path that agrees in these bits; -1 if there is none. */
static int64_t find_last(unsigned path, uint64_t wanted, uint64_t bits)
{
    int64_t number = atomic_load(&ledger->paths[orders.volume][path].noted);
    while (number >= 0 &&
           ((atomic_load(&ledger->paths[orders.volume][path].versions[number]) ^ wanted) & bits)) {
        number--;
    }
    return number;
}

static void judge_version(const struct look *look, uint64_t seen, uint64_t bits)
{
    char more[96];
    int64_t number = find_last(look->path, seen, bits);
    snprintf(more, sizeof more, "stamp %" PRIx64 ", length %zu, number %" PRId64,
             version_stamp(seen), version_length(seen), number);
    if (number < 0) {
        pass(look, "a version that never was there", more);
    } else if (number < (int64_t)look->floor) {
        say_wrong(look, "a version that is too old", more);
    } else {
        ledger_count(COUNT_JUDGED);
    }
}

static void judge_errno(const struct look *look, int error)
{
    uint32_t noted = atomic_load(&ledger->paths[orders.volume][look->path].noted);
    if (error == ENOENT && !is_shaken(look)) {
        judge_version(look, VERSION_ABSENT, ~UINT64_C(0));
    } else if (is_shaken(look) || (error == ESTALE && noted != look->noted)) {
        ledger_count(COUNT_UNJUDGED);
    } else {
        say_wrong(look, "an error", strerror(error));
    }
}

/* Bytes from offset `at` on; `whole` if they are all there are. */
static void judge_bytes(const struct look *look, const char *seen, size_t length, size_t at,
                        bool whole)
{
    char more[256];
    uint64_t stamp = length == 0 ? 0 : content_judge(seen, length, at);
    if (length == 0 && whole && is_disturbed(look)) {
        ledger_count(
            COUNT_UNJUDGED); /* all empty files are alike: it may be another name's by now */
    } else if (length == 0 && whole) {
        judge_version(look, version_of(0, 0), ~UINT64_C(0));
    } else if (length == 0 || stamp == CONTENT_SILENT) {
        ledger_count(COUNT_UNJUDGED);
    } else if (stamp == CONTENT_TORN) {
        content_explain(seen, length, at, more, sizeof more);
        pass(look, "torn bytes", more);
    } else if (!ledger_is_of(stamp, orders.volume, look->unit)) {
        snprintf(more, sizeof more, "stamp %" PRIx64, stamp);
        say_wrong(look, "bytes of another file or volume", more);
    } else {
        judge_version(look, version_of(stamp, whole ? length : 1),
                      whole ? ~UINT64_C(0) : ~UINT64_C(0) << VERSION_LENGTH_BITS);
    }
}

/* ---- ways of looking ---- */

static ssize_t read_whole(int fd)
{
    size_t used = 0;
    ssize_t got = 1;
    while (got > 0 && used < sizeof bytes) {
        size_t most = dice(4) == 0 ? 1 + dice(5000) : sizeof bytes;
        most = most < sizeof bytes - used ? most : sizeof bytes - used;
        got = read(fd, bytes + used, most);
        used += got > 0 ? (size_t)got : 0;
    }
    return got < 0 ? -1 : (ssize_t)used;
}

/* Says what helps to find the cause: the sizes, the number by which the file is known, and its
 * name. */
static void judge_size(const struct look *look, int fd, const struct stat *stat, ssize_t got)
{
    char link[64], name[200] = "", more[400];
    struct stat again;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (stat->st_size == got) {
        return;
    }
    ssize_t length = readlink(link, name, sizeof name - 1);
    name[length > 0 ? length : 0] = '\0';
    int result = fstat(fd, &again);
    snprintf(more, sizeof more,
             "read %zd, fstat %jd (inode %ju), then %jd (%d), %jd to the end, %s", got,
             (intmax_t)stat->st_size, (uintmax_t)stat->st_ino, (intmax_t)again.st_size, result,
             (intmax_t)lseek(fd, 0, SEEK_END), name);
    pass(look, "another size by fstat than by reading", more);
}

static void judge_fd(const struct look *look, int fd)
{
    struct stat stat;
    ssize_t got = read_whole(fd);
    if (got < 0) {
        judge_errno(look, errno);
        return;
    }
    judge_bytes(look, bytes, (size_t)got, 0, true);
    if (fstat(fd, &stat) != 0) {
        judge_errno(look, errno);
    } else {
        judge_size(look, fd, &stat, got);
    }
}

static int look_open(const struct look *look)
{
    int fd = open(look->name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        judge_errno(look, errno);
    }
    return fd;
}

static void by_open(const struct look *look)
{
    int fd = look_open(look);
    if (fd >= 0) {
        judge_fd(look, fd);
        close(fd);
    }
}

static void by_range(const struct look *look)
{
    int fd = look_open(look);
    if (fd < 0) {
        return;
    }
    size_t at = dice(300000), length = CONTENT_BLOCK_BYTES + dice(20000);
    ssize_t got = pread(fd, bytes, length, (off_t)at);
    if (got < 0) {
        judge_errno(look, errno);
    } else {
        judge_bytes(look, bytes, (size_t)got, at, false);
    }
    close(fd);
}

static void by_stdio(const struct look *look)
{
    FILE *file = fopen(look->name, "re");
    if (file == NULL) {
        judge_errno(look, errno);
        return;
    }
    errno = 0;
    size_t got = fread(bytes, 1, sizeof bytes, file);
    if (ferror(file)) {
        judge_errno(look, errno);
    } else {
        judge_bytes(look, bytes, got, 0, true);
    }
    fclose(file);
}

static void by_stat(const struct look *look)
{
    struct stat found;
    if (stat(look->name, &found) != 0) {
        judge_errno(look, errno);
    } else if (found.st_size == 0) {
        judge_version(look, version_of(0, 0), ~UINT64_C(0));
    } else {
        judge_version(look, (uint64_t)found.st_size, (UINT64_C(1) << VERSION_LENGTH_BITS) - 1);
    }
}

static sigjmp_buf beyond_the_file;

static void on_bus(int number)
{
    (void)number;
    siglongjmp(beyond_the_file, 1);
}

/* The pages of a faulty origin end a program, with the library or without. */
static void judge_map(const struct look *look, const char *map, size_t length)
{
    signal(SIGBUS, on_bus);
    if (sigsetjmp(beyond_the_file, 1) == 0) {
        memcpy(bytes, map, length);
        signal(SIGBUS, SIG_DFL);
        judge_bytes(look, bytes, length, 0, true);
    } else {
        signal(SIGBUS, SIG_DFL);
        pass(look, "SIGBUS", "");
    }
}

static void by_map(const struct look *look)
{
    struct stat stat;
    int fd = look_open(look);
    if (fd >= 0 && fstat(fd, &stat) == 0 && stat.st_size > 0) {
        size_t length = (size_t)stat.st_size;
        char *map = mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map != MAP_FAILED) {
            judge_map(look, map, length < sizeof bytes ? length : sizeof bytes);
            munmap(map, length);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
}

/* Opened now, read some looks later. */
static void by_holding(const struct look *look)
{
    if (held_fd >= 0) {
        judge_fd(&held, held_fd);
        close(held_fd);
    }
    held = *look;
    held_fd = look_open(look);
}

static const struct way {
    const char *name;
    void (*look)(const struct look *look);
    unsigned share;
} ways[] = {
    {"open", by_open, 8}, {"range", by_range, 3}, {"stdio", by_stdio, 2},
    {"stat", by_stat, 4}, {"map", by_map, 2},     {"holding", by_holding, 1},
};
#define SHARES 20

static const struct way *draw_way(void)
{
    uint32_t drawn = dice(SHARES);
    const struct way *way = ways;
    while (drawn >= way->share) {
        drawn -= (way++)->share;
    }
    return way;
}

/* ---- the role ---- */

static void look_by(const struct way *way, unsigned unit, enum place place, unsigned file)
{
    struct look look;
    look_begin(&look, way->name, unit, place, file);
    desk_take(look.name);
    way->look(&look);
    desk_leave();
    ledger_count(COUNT_OPERATIONS);
}

void reader_look(unsigned unit, enum place place, unsigned file)
{
    look_by(&ways[0], unit, place, file);
}

/* A map of a file that gets shorter ends a program, with the library or without. */
void reader_act(void)
{
    unsigned unit = dice(UNITS);
    const struct way *way = draw_way();
    if (way->look == by_map && unit_is_written_in_place(unit)) {
        way = &ways[0];
    }
    look_by(way, unit, (enum place)dice(PLACES), dice(FILES));
    if (dice(8) == 0) {
        usleep(dice(4000));
    }
}

static unsigned count_lines(const char *path)
{
    unsigned lines = 0;
    FILE *file = fopen(path, "re");
    for (int c = file != NULL ? fgetc(file) : EOF; c != EOF; c = fgetc(file)) {
        lines += c == '\n';
    }
    if (file != NULL) {
        fclose(file);
    }
    return lines;
}

static unsigned count_names(const char *path)
{
    unsigned names = 0;
    DIR *directory = opendir(path);
    while (directory != NULL && readdir(directory) != NULL) {
        names++;
    }
    if (directory != NULL) {
        closedir(directory);
    }
    return names;
}

void reader_begin(void)
{
    reader_look(dice(UNITS), PLACE_A, 0); /* the library sets itself up */
    fds_before = count_names("/proc/self/fd");
    maps_before = count_lines("/proc/self/maps");
}

void reader_end(void)
{
    if (held_fd >= 0) {
        close(held_fd);
        held_fd = -1;
    }
    unsigned fds = count_names("/proc/self/fd"), maps = count_lines("/proc/self/maps");
    if (fds != fds_before) {
        violation("run %u: a reader began with %u descriptors and ended with %u", orders.run,
                  fds_before, fds);
    }
    if (maps > maps_before + MAPS_OF_OURS) {
        violation("run %u: a reader began with %u maps and ended with %u", orders.run, maps_before,
                  maps);
    }
}
