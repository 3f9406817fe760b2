/*
 * The sample store: what decoding and preprocessing have made, kept for the user's other processes
 * and for later epochs. Values by a 128-bit key, the hash of what they were made from: they are
 * never stale, never change and are never removed while the store lives. One that is found to be
 * wrong can be made void: it stays where it is, and is not got any more.
 *
 * It lies in one directory (an LMDB environment) on a local file system. Everything about it may
 * fail: what cannot be read is not there, what cannot be written is not kept, and the program goes
 * on without. Nobody waits for another process that writes: he keeps his values aside and writes
 * them with the next, up to STK_STORE_ASIDE_BYTES; beyond that they are dropped. For one that opens
 * the store, or makes its readers known, he waits 0.5 s, and then not again until it is gone: it
 * may have been stopped, and meanwhile nothing is there.
 *
 * - Values are admitted until the budget is used up; none goes to make room.
 * - A link lets one key stand for another: of a file's identity, say, for the key of its content.
 * It takes some fifty bytes. Links wait for each other or for the next value, and are written
 * together; the process that made one follows it at once.
 * - stk_store_get copies nothing: the bytes lie in a read-only map that stays until the process
 * ends. They begin at a multiple of 16 bytes. Every value is checked against its hash when it is
 * got.
 * - Thread-safe. After a fork the child opens the store again at its first call; values it has got
 *   before stay valid, what its parent kept aside is the parent's. One in another pid namespace
 * opens that one's store. Not for signal handlers.
 * - An open store has two descriptors. A program that closes them loses the store, no more.
 * - Never closed: a store is for as long as the process lives. A directory that is opened again is
 *   the store that is open already, with the budget that came last.
 */
#ifndef STK_STORE_STORE_H
#define STK_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/tally.h"

#define STK_STORE_ASIDE_BYTES (8u << 20)
#define STK_STORE_ASIDE_LINKS 512
#define STK_STORE_READERS     4096

struct stk_store;

struct stk_store_value {
    const void *data;
    size_t bytes;
};

/* Of this process; what happens in its children is counted there. */
struct stk_store_counts {
    uint64_t gets, hits;  /* asked for, and found */
    uint64_t puts, bytes; /* written, and their bytes */
    uint64_t refused;     /* not written: budget, file system full, too many aside */
    uint64_t damaged;     /* found, but not what was written */
};

/*
 * Opens the store in `directory` (made if missing, mode 0700, a name no longer than 400 bytes) with
 * a budget of so many bytes. 0 opens it for reading only, and makes no file: what is not there yet
 * is looked for again at each call. NULL, and why in errno: EINVAL for a directory on a network
 * file system or one that somebody else could write, ENOMEM for no address space (store/map.h), or
 * what the system said.
 */
struct stk_store *stk_store_open(const char *directory, uint64_t budget);

/* False: not there. */
bool stk_store_get(struct stk_store *store, struct stk_hash128 key, struct stk_store_value *out);

/* Keeps a copy of the value. True when it is written or will be; one that is there already is kept
 * as it is. */
bool stk_store_put(struct stk_store *store, struct stk_hash128 key, const void *data, size_t bytes);

/* For a value that is not what its key says: nobody gets it any more, in any process, and nothing
 * takes its place. Who has got it keeps it as it was. False: it is not there, or cannot be changed.
 */
bool stk_store_void(struct stk_store *store, struct stk_hash128 key);

/* `from` stands for `to` from now on, whatever it stood for. False: not kept. */
bool stk_store_link(struct stk_store *store, struct stk_hash128 from, struct stk_hash128 to);

/* What `from` stands for; false: nothing is known. */
bool stk_store_follow(struct stk_store *store, struct stk_hash128 from, struct stk_hash128 *to);

/* Whether a value of so many bytes would probably be kept: cheap, for those who would make it. */
bool stk_store_admits(struct stk_store *store, size_t bytes);

/*
 * In a run of the command: the budget is what the command grants to the store that this value of
 * STOKER_SAMPLES names, at any moment (where it is 0, the first call waits up to 50 ms for more);
 * another value's store, or another pid namespace's, keeps its
 * own. The tally must stay mapped.
 */
void stk_store_join(struct stk_store *store, struct stk_tally *tally, const char *samples);

/* Whether values should be made when they are wanted for the first time; else the second time, when
 * the command has seen what its entries leave. */
bool stk_store_at_first_touch(struct stk_store *store);

/* Another budget from now on, in this process. A larger one is tried even where the last was full.
 */
void stk_store_set_budget(struct stk_store *store, uint64_t budget);

/* Writes what was kept aside, if nobody else writes now. False when something is left. */
bool stk_store_flush(struct stk_store *store);

/* Bytes of the budget that are used, by all processes. */
uint64_t stk_store_used_bytes(struct stk_store *store);

void stk_store_read_counts(const struct stk_store *store, struct stk_store_counts *out);

#endif
