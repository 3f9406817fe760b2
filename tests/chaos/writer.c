/*
 * A writer: changes files in all ways there are, and keeps the ledger.
 *
 * Under the unit's lock it notes what paths may lead to, and does the change. Then it settles what
 * is there, which it reads from behind the origin. So a change that failed, or half of it, is known
 * as well. A change that went well through the library must be seen by its run from then on, and by
 * the descriptors that this process holds.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "content.h"
#include "player.h"

#define SMALL_BYTES 20000
#define LARGE_BYTES 300000
#define HOUR_S      3600

/* A change that is being made. */
struct change {
    const char *top; /* the directory by whose name it is made */
    unsigned unit, file;
    enum place place, latest; /* of the file; where latest leads */
    bool touched[PATHS], full, failed;
};

static char bytes[CONTENT_MOST_BYTES + CONTENT_BLOCK_BYTES];

/* ---- what there is ---- */

static uint64_t look_behind(unsigned unit, enum place place, unsigned file)
{
    char name[4096];
    struct stat stat;
    uint64_t stamp = 0;
    path_name(name, orders.behind, unit, place, file);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return VERSION_ABSENT;
    }
    bool seen = fstat(fd, &stat) == 0 && pread(fd, &stamp, sizeof stamp, 0) >= 0;
    close(fd);
    return seen ? version_of(stamp, (size_t)stat.st_size) : VERSION_ABSENT;
}

static void unit_name(char out[4096], const char *top, unsigned unit, const char *name)
{
    snprintf(out, 4096, "%s/u%u/%s", top, unit, name);
}

static enum place look_where_latest_leads(unsigned unit)
{
    char link[4096], target[8] = "";
    unit_name(link, orders.behind, unit, "latest");
    return readlink(link, target, sizeof target) == 1 && target[0] == 'b' ? PLACE_B : PLACE_A;
}

/* An exchange of directories that was cut short left one of them aside. */
static void put_back(unsigned unit)
{
    char aside[4096], name[4096];
    unit_name(aside, orders.behind, unit, "aside");
    for (enum place place = PLACE_A; place <= PLACE_B; place++) {
        unit_name(name, orders.behind, unit, place_name(place));
        if (access(name, F_OK) != 0) {
            rename(aside, name);
        }
    }
}

static void settle(const struct change *change)
{
    put_back(change->unit);
    for (enum place place = 0; place < PLACES; place++) {
        for (unsigned file = 0; file < FILES; file++) {
            unsigned path = path_number(change->unit, place, file);
            path_settle(orders.volume, path, look_behind(change->unit, place, file));
            if (change->touched[path] && !change->failed && orders.library) {
                run_knows(orders.run, orders.volume, path);
            }
        }
    }
}

/* ---- noting ---- */

static void note_path(struct change *change, enum place place, unsigned file, uint64_t version)
{
    unsigned path = path_number(change->unit, place, file);
    change->touched[path] = true;
    change->full |= !path_note(orders.volume, path, version);
}

/* Notes a file in a or b. If latest leads there, the file has another name. By that name the run
 * may still know a file that another process has replaced since. Then the run cannot see that its
 * own change concerns this name. */
static void note_file(struct change *change, enum place place, unsigned file, uint64_t version)
{
    unsigned other = path_number(change->unit, PLACE_LATEST, file);
    bool known =
        change->touched[other] || atomic_load(&ledger->floors[orders.run][other]) ==
                                      atomic_load(&ledger->paths[orders.volume][other].settled);
    note_path(change, place, file, version);
    if (change->latest == place) {
        note_path(change, PLACE_LATEST, file, version);
        change->touched[other] = known;
    }
}

static void check(struct change *change, bool well)
{
    change->failed |= !well;
}

/* ---- contents ---- */

static size_t draw_length(void)
{
    return 8 + dice(dice(4) == 0 ? LARGE_BYTES : SMALL_BYTES);
}

static bool write_at(const char *name, int flags, uint64_t stamp, size_t at, size_t length)
{
    int fd = open(name, O_WRONLY | O_CLOEXEC | flags, 0644);
    if (fd < 0) {
        return false;
    }
    size_t begin = at / 8 * 8; /* words that were begun are written again */
    content_make(stamp, begin, bytes, at + length - begin);
    bool well = true;
    for (size_t done = 0; well && done < length;) { /* in pieces, so that one can be seen */
        size_t some = length - done < 50000 ? length - done : 50000;
        well = pwrite(fd, bytes + (at - begin) + done, some, (off_t)(at + done)) == (ssize_t)some;
        done += some;
    }
    return close(fd) == 0 && well;
}

static struct timespec mtime_of(const char *name)
{
    struct stat found;
    return stat(name, &found) == 0 ? found.st_mtim : (struct timespec){.tv_sec = 1000000000};
}

static bool set_mtime(const char *name, struct timespec mtime)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, mtime};
    return utimensat(AT_FDCWD, name, times, 0) == 0;
}

/* Times as other machines' clocks and tools set them. */
static bool set_odd_time(const char *temporary, const char *name)
{
    struct timespec mtime = mtime_of(temporary);
    switch (dice(12)) {
    case 0: /* fast */
        mtime.tv_sec += 1 + dice(HOUR_S);
        return set_mtime(temporary, mtime);
    case 1: /* slow */
    case 2:
        mtime.tv_sec -= 1 + dice(HOUR_S);
        return set_mtime(temporary, mtime);
    case 3: /* as rsync -t and tar do */
        return set_mtime(temporary, mtime_of(name));
    default:
        return true;
    }
}

/* ---- changes of a file ---- */

static bool make_file(struct change *change, const char *name, uint64_t stamp, size_t length)
{
    char temporary[4096], word[32];
    snprintf(word, sizeof word, "new-%d", getpid());
    unit_name(temporary, change->top, change->unit, word);
    return write_at(temporary, O_CREAT | O_TRUNC, stamp, 0, length) &&
           set_odd_time(temporary, name) && rename(temporary, name) == 0;
}

/* Often of the same length as before: then only its times and its inode are others. */
static void replace(struct change *change, const char *name)
{
    size_t before = version_length(look_behind(change->unit, change->place, change->file));
    size_t length = dice(2) == 0 && before > 0 ? before : draw_length();
    uint64_t stamp = ledger_stamp(orders.volume, change->unit);
    note_file(change, change->place, change->file, version_of(stamp, length));
    check(change, !change->full && make_file(change, name, stamp, length));
}

static void remove_and_make_again(struct change *change, const char *name)
{
    note_file(change, change->place, change->file, VERSION_ABSENT);
    check(change, !change->full && unlink(name) == 0);
    usleep(dice(20000));
    replace(change, name);
}

static void rewrite_in_place(struct change *change, const char *name)
{
    size_t length = version_length(look_behind(change->unit, change->place, change->file));
    uint64_t stamp = ledger_stamp(orders.volume, change->unit);
    struct timespec before = mtime_of(name);
    note_file(change, change->place, change->file, version_of(stamp, length));
    check(change, !change->full && write_at(name, 0, stamp, 0, length) &&
                      (dice(2) == 0 || set_mtime(name, before)));
}

static void rewrite_from_nothing(struct change *change, const char *name)
{
    size_t length = draw_length();
    uint64_t stamp = ledger_stamp(orders.volume, change->unit);
    note_file(change, change->place, change->file, version_of(0, 0));
    note_file(change, change->place, change->file, version_of(stamp, length));
    check(change, !change->full && write_at(name, O_TRUNC, stamp, 0, length));
}

static void shorten(struct change *change, const char *name)
{
    uint64_t now = look_behind(change->unit, change->place, change->file);
    size_t length = version_length(now) / 2;
    length = length < 8 ? 0 : length;
    note_file(change, change->place, change->file, version_of(version_stamp(now), length));
    check(change, !change->full && truncate(name, (off_t)length) == 0);
}

static void append(struct change *change, const char *name)
{
    uint64_t now = look_behind(change->unit, change->place, change->file);
    size_t length = version_length(now), more = 1 + dice(SMALL_BYTES);
    if (length < 8 || length + more > CONTENT_MOST_BYTES) {
        replace(change, name);
        return;
    }
    note_file(change, change->place, change->file, version_of(version_stamp(now), length + more));
    check(change, !change->full && write_at(name, 0, version_stamp(now), length, more));
}

/* ---- changes of directories and links ---- */

static void note_places(struct change *change)
{
    for (unsigned file = 0; file < FILES; file++) {
        uint64_t a = look_behind(change->unit, PLACE_A, file);
        uint64_t b = look_behind(change->unit, PLACE_B, file);
        note_file(change, PLACE_A, file, VERSION_ABSENT);
        note_file(change, PLACE_B, file, VERSION_ABSENT);
        note_file(change, PLACE_A, file, b);
        note_file(change, PLACE_B, file, a);
    }
}

static void touch_all(struct change *change)
{
    memset(change->touched, true, sizeof change->touched);
}

static void exchange_directories(struct change *change)
{
    char a[4096], b[4096], aside[4096];
    unit_name(a, change->top, change->unit, "a");
    unit_name(b, change->top, change->unit, "b");
    unit_name(aside, change->top, change->unit, "aside");
    note_places(change);
    touch_all(change); /* of directories and links, all names are asked again */
    check(change,
          !change->full && rename(a, aside) == 0 && rename(b, a) == 0 && rename(aside, b) == 0);
}

static void lead_latest_elsewhere(struct change *change)
{
    char link[4096], temporary[4096];
    enum place other = change->latest == PLACE_A ? PLACE_B : PLACE_A;
    unit_name(link, change->top, change->unit, "latest");
    unit_name(temporary, change->top, change->unit, "latest-new");
    for (unsigned file = 0; file < FILES; file++) {
        note_path(change, PLACE_LATEST, file, look_behind(change->unit, other, file));
    }
    unlink(temporary);
    check(change, !change->full && symlink(place_name(other), temporary) == 0 &&
                      rename(temporary, link) == 0);
}

/* ---- the role ---- */

static void change_whole_files(struct change *change, const char *name)
{
    switch (dice(8)) {
    case 0:
        exchange_directories(change);
        break;
    case 1:
        lead_latest_elsewhere(change);
        break;
    case 2:
        remove_and_make_again(change, name);
        break;
    default:
        replace(change, name);
    }
}

static void change_in_place(struct change *change, const char *name)
{
    void (*const all[])(struct change *, const char *) = {rewrite_in_place, rewrite_in_place,
                                                          rewrite_from_nothing, shorten, append};
    unit_write_begins(orders.volume, change->unit);
    all[dice(sizeof all / sizeof all[0])](change, name);
    settle(change);
    unit_write_ends(orders.volume, change->unit);
}

/* Returns true if the descriptor shows what there is now, or if that cannot be known. */
static bool shows(const struct change *change, int fd, ssize_t *got)
{
    uint64_t quake = atomic_load(&ledger->quake[orders.volume]);
    uint64_t now = look_behind(change->unit, change->place, change->file);
    *got = pread(fd, bytes, sizeof bytes, 0);
    bool shaken = quake % 2 == 1 || quake != atomic_load(&ledger->quake[orders.volume]);
    uint64_t stamp = *got > 0 ? content_judge(bytes, (size_t)*got, 0) : 0; /* empty: none */
    return *got < 0 || shaken || now == version_of(stamp, (size_t)*got);
}

/* Opens a descriptor of the file, before this process's library writes it in place. Returns -1 if
 * there is none. If another process has replaced the file, the run may know the former one: that is
 * another file.
 */
static int hold(const struct change *change, const char *name)
{
    ssize_t got;
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && !shows(change, fd, &got)) {
        close(fd);
        return -1;
    }
    return fd;
}

static void look_held(const struct change *change, const char *name, int fd)
{
    ssize_t got;
    if (!shows(change, fd, &got)) {
        violation("%s: run %u, which wrote it in place, reads by a descriptor of before %zd bytes "
                  "and not its own",
                  name, orders.run, got);
    }
}

/* With the unit's lock. In place only by the readers' own mount: what other machines write in place
 * the kernel's own cache may not notice. */
static void act(struct change *change)
{
    char name[4096];
    path_name(name, change->top, change->unit, change->place, change->file);
    bool in_place = unit_is_written_in_place(change->unit) && orders.hand == HAND_HERE &&
                    dice(2) == 0 &&
                    look_behind(change->unit, change->place, change->file) != VERSION_ABSENT;
    int held = in_place && orders.library ? hold(change, name) : -1;
    if (in_place) {
        change_in_place(change, name);
    } else {
        change_whole_files(change, name);
        settle(change);
    }
    if (held >= 0) {
        if (!change->failed) {
            look_held(change, name, held);
        }
        close(held);
    }
}

static void pause_between(void)
{
    usleep(dice(6) == 0 ? 1000 : 20000 + dice(150000));
}

void writer_act(void)
{
    struct change change = {.top = orders.hand == HAND_HERE ? orders.data : orders.behind,
                            .unit = dice(UNITS),
                            .file = dice(FILES),
                            .place = dice(2) == 0 ? PLACE_A : PLACE_B};
    desk_take("a change");
    unit_lock(orders.volume, change.unit);
    change.latest = look_where_latest_leads(change.unit);
    act(&change);
    unit_unlock(orders.volume, change.unit);
    desk_leave();
    ledger_count(COUNT_CHANGES);
    if (orders.hand == HAND_HERE) {
        reader_look(change.unit, change.place, change.file);
        reader_look(change.unit, PLACE_LATEST, change.file);
    }
    pause_between();
}

void writer_make_all(void)
{
    orders.hand = HAND_BEHIND;
    for (unsigned unit = 0; unit < UNITS; unit++) {
        char name[4096];
        struct change change = {.top = orders.behind, .unit = unit, .latest = PLACE_A};
        unit_name(name, orders.behind, unit, "");
        mkdir(name, 0755);
        for (enum place place = PLACE_A; place <= PLACE_B; place++) {
            unit_name(name, orders.behind, unit, place_name(place));
            mkdir(name, 0755);
        }
        unit_name(name, orders.behind, unit, "latest");
        check(&change, symlink("a", name) == 0);
        for (unsigned i = 0; i < 2 * FILES; i++) {
            change.place = (enum place)(i % 2);
            change.file = i / 2;
            path_name(name, orders.behind, unit, change.place, change.file);
            replace(&change, name);
        }
        settle(&change);
    }
}
