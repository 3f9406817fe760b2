/* Entries that pass. See cli/passing.h. */
#include "cli/passing.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/local.h"
#include "base/sys.h"
#include "cache/claim.h"
#include "cache/drop.h"
#include "cache/entry.h"
#include "cache/passing.h"
#include "cli/leases.h"

#define LOOK_NS (STK_NS_PER_S / 2)

typedef char path_of_entry[STK_HOME_BYTES + STK_ERRAND_PATH_BYTES + 8];

struct room {
    struct stk_catalogue *catalogue;
    struct stk_passings *passings;
    const struct stk_errands *errands;
};

static bool name_entry(const struct room *room, const struct stk_passing *passing,
                       path_of_entry out)
{
    struct stk_tier tier;
    bool known =
        stk_tier_by_index(room->catalogue, stk_passing_tier(room->passings, passing), &tier);
    if (known) {
        snprintf(out, sizeof(path_of_entry), "%s" STK_ENTRY_TREE "%.*s", tier.home,
                 STK_ERRAND_PATH_BYTES - 1, passing->path);
    }
    return known;
}

/* Whether what lies there is what the record says; else somebody has dropped it already. */
static bool is_there(const struct room *room, const struct stk_passing *passing, const char *entry)
{
    struct stat stat_;
    const struct stk_record *record =
        stk_catalogue_record(room->catalogue, atomic_load(&passing->record));
    return record != NULL && stk_sys_fstatat(AT_FDCWD, entry, &stat_, AT_SYMLINK_NOFOLLOW) == 0 &&
           atomic_load(&record->entry_ino) == stat_.st_ino;
}

/* The kernel gives a lease to write only to who alone has the file open, or mapped, under whatever
 * number in whatever process. Who opens it in just that moment waits until it is given back. Where
 * maps cannot be known of, it may be open. */
static bool is_open_elsewhere(int fd)
{
    struct statfs fs;
    bool told = stk_sys_fstatfs(fd, &fs) == 0 && !stk_local_is_layered(&fs);
    bool alone = told && fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
    if (alone) {
        fcntl(fd, F_SETLEASE, F_UNLCK);
    }
    return !alone;
}

/* What came from the origin waits for its turn, however slow the shared tier is: its room is given
 * to nobody meanwhile. */
static bool is_to_be_put(const struct room *room, const struct stk_passing *passing, int fd)
{
    struct stat stat_;
    unsigned tier = stk_passing_tier(room->passings, passing);
    return stk_sys_fstat(fd, &stat_) == 0 && stk_errand_is_left(room->errands, tier, stat_.st_ino);
}

static bool is_being_made(const struct room *room, const struct stk_passing *passing)
{
    const struct stk_record *record =
        stk_catalogue_record(room->catalogue, atomic_load(&passing->record));
    return record != NULL && stk_claim_load(&record->claim).state == STK_FILLING;
}

static void give_back(const struct room *room, struct stk_passing *passing, int64_t blocks)
{
    struct stk_tier tier;
    unsigned index = stk_passing_tier(room->passings, passing);
    if (blocks > 0 && stk_tier_by_index(room->catalogue, index, &tier)) {
        stk_tier_release(tier.shared, blocks, 1);
    }
    stk_passing_end(room->passings, passing);
}

/* What it took, which is to be given back. */
static int64_t unlink_entry(const struct room *room, const struct stk_passing *passing)
{
    path_of_entry entry;
    bool there = name_entry(room, passing, entry) && is_there(room, passing, entry);
    return there ? stk_drop_passing(room->catalogue, atomic_load(&passing->record), entry) : 0;
}

/* ---- while the job runs ---- */

/* By slots: what was unlinked when somebody had just opened it; -1: nothing. */
static int left_open[STK_PASSING_SLOTS];

/* Of one that is claimed, and open here. Whoever had looked it up before it was unlinked may have
 * opened it since. */
static void drop(const struct room *room, struct stk_passing *passing, int fd)
{
    int64_t blocks = unlink_entry(room, passing);
    if (blocks > 0 && is_open_elsewhere(fd)) {
        stk_passing_gone(room->passings, passing, blocks);
        left_open[passing - room->passings->slots] = fd;
    } else {
        stk_sys_close(fd); /* only then its blocks are free */
        give_back(room, passing, blocks);
    }
}

static bool is_leased(const struct room *room, const struct stk_passing *passing)
{
    const struct stk_record *record =
        stk_catalogue_record(room->catalogue, atomic_load(&passing->record));
    return record != NULL && lease_is_held(atomic_load(&record->entry_ino));
}

/* -ENOENT: it is gone; another -errno: somebody may have it open. */
static int open_entry(const struct room *room, const struct stk_passing *passing)
{
    path_of_entry entry;
    if (is_leased(room, passing)) {
        return -EAGAIN;
    }
    return name_entry(room, passing, entry)
               ? stk_sys_open_nolinks(entry, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
               : -ENOENT;
}

static void drop_if_unused(const struct room *room, struct stk_passing *passing)
{
    int fd = open_entry(room, passing);
    bool stays = is_being_made(room, passing) || (fd < 0 && fd != -ENOENT) ||
                 (fd >= 0 && (is_to_be_put(room, passing, fd) || is_open_elsewhere(fd)));
    if (stays) {
        stk_passing_opened(passing);
    } else if (fd < 0) {
        give_back(room, passing, 0); /* somebody else has dropped it */
    } else {
        drop(room, passing, fd);
        return;
    }
    if (fd >= 0) {
        stk_sys_close(fd);
    }
}

static void close_if_unused(const struct room *room, struct stk_passing *passing, int *fd)
{
    if (*fd >= 0 && !is_open_elsewhere(*fd)) {
        stk_sys_close(*fd);
        *fd = -1;
        give_back(room, passing, stk_passing_blocks(room->passings, passing));
    }
}

static void make_room(const struct room *room)
{
    for (unsigned i = 0; i < STK_PASSING_SLOTS; i++) {
        struct stk_passing *passing = &room->passings->slots[i];
        close_if_unused(room, passing, &left_open[i]);
        if (stk_passing_claim(passing)) {
            drop_if_unused(room, passing);
        }
    }
}

void passing_watch(struct session *session)
{
    struct room room = {&session->catalogue, stk_run_passings(&session->run),
                        stk_run_errands(&session->run)};
    signal(SIGIO, SIG_IGN); /* somebody wants to open what is leased */
    memset(left_open, -1, sizeof left_open);
    uint32_t seen = atomic_load(&room.passings->looked);
    while (stk_errands_are_open(room.errands)) {
        uint32_t asked = stk_passings_wait(room.passings, LOOK_NS);
        if (asked != seen) {
            make_room(&room);
            stk_passings_looked(room.passings, asked);
            seen = asked;
        }
    }
}

/* ---- afterwards ---- */

/* What another run has open takes its room as before, and nobody is left who could tell when that
 * ends: it counts until the tier is counted anew, by a run that begins alone. */
static void drop_for_good(const struct room *room, struct stk_passing *passing)
{
    int fd = open_entry(room, passing);
    int64_t blocks = unlink_entry(room, passing);
    bool held = fd >= 0 ? is_open_elsewhere(fd) : fd != -ENOENT;
    if (fd >= 0) {
        stk_sys_close(fd);
    }
    give_back(room, passing, held ? 0 : blocks);
}

void passing_drop_all(struct stk_catalogue *catalogue, const struct stk_run *run)
{
    struct room room = {catalogue, stk_run_passings(run), stk_run_errands(run)};
    void (*before)(int) = signal(SIGIO, SIG_IGN); /* as in passing_watch */
    for (unsigned i = 0; room.passings != NULL && i < STK_PASSING_SLOTS; i++) {
        struct stk_passing *passing = &room.passings->slots[i];
        uint32_t state = atomic_load(&passing->state);
        if (state == STK_PASSING_GONE) {
            give_back(&room, passing, stk_passing_blocks(room.passings, passing));
        } else if (state != STK_PASSING_FREE) {
            drop_for_good(&room, passing);
        }
    }
    signal(SIGIO, before);
}

void passing_sweep(const char *home, const char *run_path)
{
    static struct stk_catalogue catalogue;
    static struct stk_run run;
    if (stk_run_open(&run, run_path) != 0) {
        return;
    }
    if (stk_catalogue_open(&catalogue, home, false) == 0) {
        passing_drop_all(&catalogue, &run);
        stk_catalogue_close(&catalogue);
    }
    stk_run_close(&run);
}
