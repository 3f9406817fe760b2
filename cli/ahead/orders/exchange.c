#include "cli/ahead/orders/exchange.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <uthash.h>

#include "base/sys.h"
#include "cache/catalogue/claim.h"
#include "cache/tier/tier.h"
#include "cache/version/drop.h"
#include "cli/fill/fill_persistently.h"
#include "cli/os/leases.h"

#define MOST_NOTES 16384
#define MOST_HELD  64 /* open files that are looked at in one search */

struct note {
    uint32_t record;
    unsigned opens;
    struct order_turn turn;
    UT_hash_handle hh; /* the table keeps the order in which notes are added */
    char entry[];
};

static struct {
    struct stk_cache *cache;
    pthread_mutex_t lock;
    struct note *notes;
    _Atomic uint64_t promised; /* bytes, to all callers */
    atomic_bool on;
} exchange = {.lock = PTHREAD_MUTEX_INITIALIZER};

void exchange_begin(struct stk_cache *cache)
{
    exchange.cache = cache;
    signal(SIGIO, SIG_IGN); /* cli/os/leases.h */
}

/* ---- notes ---- */

static void forget(struct note *note)
{
    HASH_DEL(exchange.notes, note);
    free(note);
}

static bool is_in_memory(uint32_t number)
{
    struct stk_tier tier;
    struct stk_catalogue *catalogue = &exchange.cache->catalogue;
    const struct stk_record *record = stk_catalogue_record(catalogue, number);
    return record != NULL &&
           stk_tier_by_index(catalogue, stk_claim_load(&record->claim).tier, &tier) &&
           tier.shared->memory != 0;
}

static struct note *make_note(const struct order_turn *turn, uint32_t record, unsigned opens,
                              const char *entry)
{
    size_t bytes = strlen(entry) + 1;
    struct note *note = calloc(1, sizeof *note + bytes);
    if (note != NULL) {
        note->record = record;
        note->opens = opens;
        note->turn = *turn;
        memcpy(note->entry, entry, bytes);
    }
    return note;
}

/* Puts the note behind all others, in the place of the record's last one. */
static void add(struct note *note)
{
    struct note *last;
    HASH_FIND(hh, exchange.notes, &note->record, sizeof note->record, last);
    if (last != NULL) {
        forget(last);
    } else if (HASH_COUNT(exchange.notes) >= MOST_NOTES) {
        forget(exchange.notes);
    }
    HASH_ADD(hh, exchange.notes, record, sizeof note->record, note);
}

void exchange_note(const struct order_turn *turn, uint32_t record, unsigned opens,
                   const char *entry)
{
    struct note *note = is_in_memory(record) ? make_note(turn, record, opens, entry) : NULL;
    if (note != NULL) {
        pthread_mutex_lock(&exchange.lock);
        add(note);
        pthread_mutex_unlock(&exchange.lock);
    }
}

/* ---- what goes ---- */

/* Returns true if the job has opened the file, or should have by now. */
static bool may_go(const struct note *note)
{
    return stk_run_opens(&exchange.cache->run, note->record) != note->opens ||
           order_queue_is_late(&note->turn);
}

/* Returns true if the entry is still the record's. */
static bool is_of_record(const struct note *note, int fd)
{
    struct stat stat;
    const struct stk_record *record =
        stk_catalogue_record(&exchange.cache->catalogue, note->record);
    return record != NULL && stk_sys_fstat(fd, &stat) == 0 &&
           atomic_load(&record->entry_ino) == stat.st_ino;
}

enum fate { STAYS, GONE, HELD, UNKNOWN };

static enum fate drop(const struct note *note)
{
    int fd = stk_sys_open_nolinks(note->entry, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return GONE;
    }
    bool is_there = is_of_record(note, fd), held = is_there && lease_finds_open(fd);
    if (is_there && !held) {
        stk_drop_entry(exchange.cache, note->record, note->entry);
    }
    stk_sys_close(fd);
    return held ? HELD : GONE;
}

/* When a pass is over, the next one may want its files again. */
static enum fate judge(const struct note *note)
{
    return order_queue_is_over(&note->turn) ? UNKNOWN : may_go(note) ? drop(note) : STAYS;
}

static bool has_room(uint64_t bytes)
{
    return fill_has_room(exchange.cache, bytes + atomic_load(&exchange.promised));
}

/* Drops files until there is room for so many bytes, or until all have been looked at. */
static bool search(uint64_t bytes)
{
    struct note *note = NULL, *next = NULL;
    unsigned held = 0;
    HASH_ITER(hh, exchange.notes, note, next)
    {
        if (has_room(bytes) || held == MOST_HELD) {
            break;
        }
        enum fate fate = judge(note);
        held += fate == HELD;
        if (fate != HELD && fate != STAYS) {
            forget(note);
        }
    }
    return has_room(bytes);
}

bool exchange_make_room(uint64_t bytes)
{
    pthread_mutex_lock(&exchange.lock);
    bool room = search(bytes);
    if (room) {
        atomic_fetch_add(&exchange.promised, bytes);
    }
    pthread_mutex_unlock(&exchange.lock);
    atomic_store(&exchange.on, true);
    return room;
}

void exchange_end_promise(uint64_t bytes)
{
    atomic_fetch_sub(&exchange.promised, bytes);
}

bool exchange_is_on(void)
{
    return atomic_load(&exchange.on);
}
