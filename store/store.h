/*
 * The sample store: the products of decoding and preprocessing, kept for the user's other processes
 * and for later epochs. A value's key has 128 bits and is the hash of the value's sources. So
 * values are never stale, never change, and are never removed while the store lives. A value that
 * is found to be wrong can be made void: it stays in place, and no call finds it again.
 *
 * The store is one directory (an LMDB environment) on a local file system. All of it may fail: a
 * value that cannot be read is absent, a value that cannot be written is not kept, and the program
 * goes on without.
 *
 * No process waits for another one that writes. It holds its values back, up to
 * STK_STORE_PENDING_BYTES (store/pending.h), and writes them with the next value; further values
 * are dropped. While another process opens the store or enters the table of readers, a process
 * waits 0.5 s, and then not again until that process is gone: it may be stopped. Meanwhile the
 * store answers that nothing is there.
 *
 * - Values are admitted until the budget is used up; none is removed to make room.
 * - A link lets one key stand for another: a file's identity, say, for the key of its content. It
 *   takes some fifty bytes. Links wait for each other or for the next value, and are written
 *   together; the process that made a link follows it at once.
 * - stk_store_get copies nothing: the bytes lie in a read-only map that stays until the process
 *   ends. They begin at a multiple of 16 bytes. Each get checks the value against its hash.
 * - Thread-safe. After a fork the child opens the store again at its first call. Values that it got
 *   before stay valid; pending values are the parent's. A child in another pid namespace opens that
 *   namespace's store. Not for signal handlers.
 * - An open store has two descriptors. A program that closes them loses the store, and nothing
 * else.
 * - A store is never closed: it is for the life of the process. Opening its directory again gives
 * the store that is already open, with the budget of the last call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/tally.h"

#define STK_STORE_READERS 4096

struct stk_store;

struct stk_store_value {
    const void *data;
    size_t bytes;
};

/* Counts of this process; its children count for themselves. */
struct stk_store_counts {
    uint64_t gets, hits;  /* requests, and those that found a value */
    uint64_t puts, bytes; /* values written, and their bytes */
    uint64_t refused;     /* not written: budget or file system full, too many pending */
    uint64_t damaged;     /* found, but not the bytes that were written */
};

/*
 * Opens the store in `directory` with a budget in bytes. A missing directory is made, with mode
 * 0700; its name may have 400 bytes. With a budget of 0 the store is opened for reading only and no
 * file is made: if there is none yet, each call looks again. Returns NULL with errno: EINVAL for a
 * directory on a network file system or one that another user could write, ENOMEM for no address
 * space (store/place.h), or what the system said.
 */
struct stk_store *stk_store_open(const char *directory, uint64_t budget);

/* Returns false if the value is not there. */
bool stk_store_get(struct stk_store *store, struct stk_hash128 key, struct stk_store_value *out);

/* Keeps a copy of the value, unless there is one of this key. Returns true if it is written or will
 * be. */
bool stk_store_put(struct stk_store *store, struct stk_hash128 key, const void *data, size_t bytes);

/* Makes a value void that is not what its key says: no process gets it any more, and no value takes
 * its place. A caller that has got it keeps it unchanged. Returns false if it is not there or
 * cannot be changed. */
bool stk_store_void(struct stk_store *store, struct stk_hash128 key);

/* Lets `from` stand for `to` from now on, whatever it stood for. Returns false if that is not kept.
 */
bool stk_store_link(struct stk_store *store, struct stk_hash128 from, struct stk_hash128 to);

/* Finds the key that `from` stands for. Returns false if none is known. */
bool stk_store_follow(struct stk_store *store, struct stk_hash128 from, struct stk_hash128 *to);

/* Returns true if a value of so many bytes would probably be kept. It is cheap: ask before you make
 * one. */
bool stk_store_admits(struct stk_store *store, size_t bytes);

/*
 * Joins a run of the command. The budget is then what the command grants, at any moment, to the
 * store that this value of STOKER_DECODED names. While it is 0, the first call waits up to 50 ms
 * for more. The store of another value or of another pid namespace keeps its own budget. The tally
 * must stay mapped.
 */
void stk_store_join(struct stk_store *store, struct stk_tally *tally, const char *samples);

/* Sets the budget of this process. A larger one is tried even where the last was full. */
void stk_store_set_budget(struct stk_store *store, uint64_t budget);

/* Writes what is pending, if no other process writes now. Returns false if something is left. */
bool stk_store_flush(struct stk_store *store);

/* Returns the bytes of the budget that all processes together use. */
uint64_t stk_store_used_bytes(struct stk_store *store);

void stk_store_read_counts(const struct stk_store *store, struct stk_store_counts *out);
