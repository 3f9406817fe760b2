#include "cli/run/transient_entries.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/sys.h"
#include "cache/catalogue/claim.h"
#include "cache/origin/entry_name.h"
#include "cache/run/transient.h"
#include "cache/version/drop.h"
#include "cli/os/leases.h"

#define LOOK_NS (STK_NS_PER_S / 2)

typedef char path_of_entry[STK_HOME_BYTES + STK_SHARED_REQUEST_PATH_BYTES + 8];

struct mapped {
    struct stk_catalogue *catalogue;
    struct stk_transients *transients;
    const struct stk_shared_requests *requests;
};

static bool name_entry(const struct mapped *mapped, const struct stk_transient *transient,
                       path_of_entry out)
{
    struct stk_tier tier;
    bool known = stk_tier_by_index(mapped->catalogue,
                                   stk_transient_tier(mapped->transients, transient), &tier);
    if (known) {
        snprintf(out, sizeof(path_of_entry), "%s" STK_ENTRY_TREE "%.*s", tier.home,
                 STK_SHARED_REQUEST_PATH_BYTES - 1, transient->path);
    }
    return known;
}

/* Returns true if the file there is the one of the record; else it was dropped already. */
static bool is_there(const struct mapped *mapped, const struct stk_transient *transient,
                     const char *entry)
{
    struct stat stat_;
    const struct stk_record *record =
        stk_catalogue_record(mapped->catalogue, atomic_load(&transient->record));
    return record != NULL && stk_sys_fstatat(AT_FDCWD, entry, &stat_, AT_SYMLINK_NOFOLLOW) == 0 &&
           atomic_load(&record->entry_ino) == stat_.st_ino;
}

/* Returns true if the entry is still to be published. An entry that came from the origin keeps its
 * room until then, however slow the shared tier is. */
static bool is_to_be_put(const struct mapped *mapped, const struct stk_transient *transient, int fd)
{
    struct stat stat_;
    unsigned tier = stk_transient_tier(mapped->transients, transient);
    return stk_sys_fstat(fd, &stat_) == 0 &&
           stk_shared_request_is_queued(mapped->requests, tier, stat_.st_ino);
}

static bool is_being_made(const struct mapped *mapped, const struct stk_transient *transient)
{
    const struct stk_record *record =
        stk_catalogue_record(mapped->catalogue, atomic_load(&transient->record));
    return record != NULL && stk_claim_load(&record->claim).state == STK_FILLING;
}

static void give_back(const struct mapped *mapped, struct stk_transient *transient, int64_t blocks)
{
    struct stk_tier tier;
    unsigned index = stk_transient_tier(mapped->transients, transient);
    if (blocks > 0 && stk_tier_by_index(mapped->catalogue, index, &tier)) {
        stk_tier_release(tier.shared, blocks, 1);
    }
    stk_transient_end(mapped->transients, transient);
}

/* Returns the blocks that the entry took, which are to be given back. */
static int64_t unlink_entry(const struct mapped *mapped, const struct stk_transient *transient)
{
    path_of_entry entry;
    bool there = name_entry(mapped, transient, entry) && is_there(mapped, transient, entry);
    return there ? stk_drop_transient(mapped->catalogue, atomic_load(&transient->record), entry)
                 : 0;
}

/* ---- while the job runs ---- */

/* By slot: the descriptor of an entry that was unlinked just when another process had opened it.
 * -1: none. */
static int left_open[STK_TRANSIENT_SLOTS];

/* Drops an entry that is claimed, and open here. A process that had looked it up before it was
 * unlinked may have opened it since. */
static void drop(const struct mapped *mapped, struct stk_transient *transient, int fd)
{
    int64_t blocks = unlink_entry(mapped, transient);
    if (blocks > 0 && lease_finds_open(fd)) {
        stk_transient_gone(mapped->transients, transient, blocks);
        left_open[transient - mapped->transients->slots] = fd;
    } else {
        stk_sys_close(fd); /* only now its blocks are free */
        give_back(mapped, transient, blocks);
    }
}

static bool is_leased(const struct mapped *mapped, const struct stk_transient *transient)
{
    const struct stk_record *record =
        stk_catalogue_record(mapped->catalogue, atomic_load(&transient->record));
    return record != NULL && lease_is_held(atomic_load(&record->entry_ino));
}

/* Returns a descriptor. -ENOENT: the entry is gone; another -errno: a process may have it open. */
static int open_entry(const struct mapped *mapped, const struct stk_transient *transient)
{
    path_of_entry entry;
    if (is_leased(mapped, transient)) {
        return -EAGAIN;
    }
    return name_entry(mapped, transient, entry)
               ? stk_sys_open_nolinks(entry, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
               : -ENOENT;
}

static void drop_if_unused(const struct mapped *mapped, struct stk_transient *transient)
{
    int fd = open_entry(mapped, transient);
    bool stays = is_being_made(mapped, transient) || (fd < 0 && fd != -ENOENT) ||
                 (fd >= 0 && (is_to_be_put(mapped, transient, fd) || lease_finds_open(fd)));
    if (stays) {
        stk_transient_opened(transient);
    } else if (fd < 0) {
        give_back(mapped, transient, 0); /* another process has dropped it */
    } else {
        drop(mapped, transient, fd);
        return;
    }
    stk_sys_close_opened(fd);
}

static void close_if_unused(const struct mapped *mapped, struct stk_transient *transient, int *fd)
{
    if (*fd >= 0 && !lease_finds_open(*fd)) {
        stk_sys_close(*fd);
        *fd = -1;
        give_back(mapped, transient, stk_transient_blocks(mapped->transients, transient));
    }
}

static void make_room(const struct mapped *mapped)
{
    for (unsigned i = 0; i < STK_TRANSIENT_SLOTS; i++) {
        struct stk_transient *transient = &mapped->transients->slots[i];
        close_if_unused(mapped, transient, &left_open[i]);
        if (stk_transient_claim(transient)) {
            drop_if_unused(mapped, transient);
        }
    }
}

void transient_watch(struct stk_catalogue *catalogue, const struct stk_run *run)
{
    struct mapped mapped = {catalogue, stk_run_transients(run), stk_run_shared_requests(run)};
    signal(SIGIO, SIG_IGN); /* sent if a process wants to open a leased file */
    memset(left_open, -1, sizeof left_open);
    uint32_t seen = atomic_load(&mapped.transients->looked);
    while (stk_shared_requests_go_on(mapped.requests)) {
        uint32_t asked = stk_transients_wait(mapped.transients, LOOK_NS);
        if (asked != seen) {
            make_room(&mapped);
            stk_transients_looked(mapped.transients, asked);
            seen = asked;
        }
    }
}

/* ---- afterwards ---- */

/* Drops an entry after its run. If another run has the entry open, it takes its room as before, and
 * no process notices when that ends. It counts until a run that begins alone counts the tier
 * anew. */
static void drop_for_good(const struct mapped *mapped, struct stk_transient *transient)
{
    int fd = open_entry(mapped, transient);
    int64_t blocks = unlink_entry(mapped, transient);
    bool held = fd >= 0 ? lease_finds_open(fd) : fd != -ENOENT;
    stk_sys_close_opened(fd);
    give_back(mapped, transient, held ? 0 : blocks);
}

void transient_drop_all(struct stk_catalogue *catalogue, const struct stk_run *run)
{
    struct mapped mapped = {catalogue, stk_run_transients(run), stk_run_shared_requests(run)};
    void (*before)(int) = signal(SIGIO, SIG_IGN); /* as in transient_watch() */
    for (unsigned i = 0; mapped.transients != NULL && i < STK_TRANSIENT_SLOTS; i++) {
        struct stk_transient *transient = &mapped.transients->slots[i];
        uint32_t state = atomic_load(&transient->state);
        if (state == STK_TRANSIENT_GONE) {
            give_back(&mapped, transient, stk_transient_blocks(mapped.transients, transient));
        } else if (state != STK_TRANSIENT_FREE) {
            drop_for_good(&mapped, transient);
        }
    }
    signal(SIGIO, before);
}

void transient_sweep(const char *home, const char *run_path)
{
    static struct stk_catalogue catalogue;
    static struct stk_run run;
    if (stk_run_open(&run, run_path) != 0) {
        return;
    }
    if (stk_catalogue_open(&catalogue, home, false) == 0) {
        transient_drop_all(&catalogue, &run);
        stk_catalogue_close(&catalogue);
    }
    stk_run_close(&run);
}
