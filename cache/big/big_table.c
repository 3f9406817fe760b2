#include "cache/big/big_table.h"

#include <sys/mman.h>

#include "base/invariant.h"
#include "base/sys.h"
#include "cache/origin/entry_name.h"

#define SLOTS    1024
#define WINDOW   16 /* of them that a file may have */
#define ATTEMPTS 8

_Atomic uint32_t stk_big_count;

/* 5 MB, mapped when the process meets its first big file: NULL until then. */
static struct stk_big *_Atomic table;
static _Atomic uint64_t turns;

/* Maps the table if it is not there. Returns NULL if there is no room for it. */
static struct stk_big *ensure_table(void)
{
    struct stk_big *known = atomic_load(&table);
    size_t bytes = SLOTS * sizeof *known;
    if (known != NULL) {
        return known;
    }
    struct stk_big *made =
        stk_sys_mmap(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made != NULL && !atomic_compare_exchange_strong(&table, &known, made)) {
        stk_sys_munmap(made, bytes);
        return known;
    }
    return made;
}

/* Returns the i-th of the slots that a file may have. */
static struct stk_big *slot_of(struct stk_big *slots, uint64_t dev, uint64_t ino, uint32_t i)
{
    uint64_t hash = (ino + (dev << 32)) * UINT64_C(0x9e3779b97f4a7c15);
    return &slots[((hash >> 32) + i) % SLOTS];
}

static bool is_of(struct stk_big *big, uint64_t dev, uint64_t ino)
{
    return atomic_load(&big->ino) == ino && atomic_load(&big->dev) == dev;
}

void stk_big_let_go(struct stk_big *big)
{
    int32_t users = atomic_fetch_sub(&big->users, 1);
    STK_INVARIANT(users > 0);
    (void)users;
}

/* A slot with users is not changed. */
static bool use(struct stk_big *big, uint64_t dev, uint64_t ino)
{
    int32_t users = atomic_load(&big->users);
    do {
        if (users < 0) {
            return false;
        }
    } while (!atomic_compare_exchange_weak(&big->users, &users, users + 1));
    if (!is_of(big, dev, ino)) {
        stk_big_let_go(big);
        return false;
    }
    return true;
}

struct stk_big *stk_big_find(uint64_t dev, uint64_t ino)
{
    struct stk_big *slots = atomic_load(&table);
    for (uint32_t i = 0; i < WINDOW && ino != 0 && slots != NULL; i++) {
        struct stk_big *big = slot_of(slots, dev, ino, i);
        if (is_of(big, dev, ino) && use(big, dev, ino)) {
            atomic_store(&big->turn, atomic_fetch_add(&turns, 1) + 1);
            return big;
        }
    }
    return NULL;
}

/* From now on it is ours to change. */
static bool seize(struct stk_big *big)
{
    int32_t nobody = 0;
    return atomic_compare_exchange_strong(&big->users, &nobody, -1);
}

static void clear(struct stk_big *big)
{
    atomic_store(&big->ino, 0);
    stk_big_blocks_close(&big->blocks);
}

struct stk_big *stk_big_take_slot(uint64_t dev, uint64_t ino)
{
    struct stk_big *slots = ensure_table();
    for (int attempt = 0; attempt < ATTEMPTS && slots != NULL; attempt++) {
        struct stk_big *oldest = NULL;
        for (uint32_t i = 0; i < WINDOW; i++) {
            struct stk_big *big = slot_of(slots, dev, ino, i);
            if (atomic_load(&big->users) == 0 &&
                (oldest == NULL || atomic_load(&big->turn) < atomic_load(&oldest->turn))) {
                oldest = big;
            }
        }
        if (oldest == NULL) {
            return NULL;
        }
        if (seize(oldest)) {
            clear(oldest);
            return oldest;
        }
    }
    return NULL;
}

void stk_big_give_slot(struct stk_big *big, uint64_t dev, uint64_t ino)
{
    if (ino != 0) {
        atomic_store(&big->turn, atomic_fetch_add(&turns, 1) + 1);
        atomic_store(&big->dev, dev);
        atomic_store(&big->ino, ino);
    }
    atomic_store(&stk_big_count, 1);
    atomic_store(&big->users, 0);
}

void stk_big_drop(struct stk_big *big, uint64_t dev, uint64_t ino)
{
    if (seize(big)) {
        if (is_of(big, dev, ino)) {
            clear(big);
            atomic_store(&big->turn, 0);
        }
        atomic_store(&big->users, 0);
    }
}

/* ---- the queue of the run ---- */

/* Enters the file into the queue by its entry's path. Another version has another table and another
 * ticket: the end of one says nothing about the other. */
static __attribute__((noinline)) uint64_t tell(struct stk_cache *cache, const struct stk_big *big)
{
    struct stk_entry_parts parts;
    return stk_entry_parse(big->entry, big->blocks.tier->home, &parts)
               ? stk_big_queue_add(stk_run_big_queue(&cache->run), big->blocks.stamp,
                                   big->root->key.low, stk_root_below(big->root, parts.file))
               : 0;
}

/* The queue may have given the ticket's slot to another file. */
void stk_big_mark(struct stk_cache *cache, struct stk_big *big, uint32_t marks)
{
    struct stk_big_queue *queue = stk_run_big_queue(&cache->run);
    if (queue != NULL && !stk_big_queue_mark(queue, atomic_load(&big->ticket), marks)) {
        uint64_t ticket = tell(cache, big);
        atomic_store(&big->ticket, ticket);
        stk_big_queue_mark(queue, ticket, marks);
    }
}
