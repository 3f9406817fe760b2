/*
 * One LMDB environment, as store/store.c needs it: the only place that knows LMDB.
 *
 * Values are never removed or replaced, and each is so large that LMDB gives it pages of its own
 * (small ones are padded). Such pages are never used again, so a value stays where it is after the
 * transaction that found it: reading takes a reader's slot for a microsecond, however long the
 * value is looked at.
 *
 * Links lie in the same tree, in its own pages, which are written anew again and again: they are
 * copied out while the reader's slot is held.
 *
 * Not thread-safe but where said; an environment belongs to the process that opened it.
 */
#ifndef STK_STORE_ENV_H
#define STK_STORE_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct stk_env;

/* A value as it is written: a head and a body. */
struct stk_env_parts {
    const void *head, *body;
    size_t head_bytes, body_bytes;
};

struct stk_env_options {
    uint64_t budget, most; /* now; later at the most, 0: not known */
    unsigned readers;
    bool at_once; /* do not wait for another process that opens it */
};

/* Opens or makes the environment's files. NULL with errno: EAGAIN while another process, perhaps a
 * stopped one, is in the way, after 0.5 s if it may wait; ENOMEM, too, where addresses are
 * limited and the map would take too many of them (store/map.h). */
struct stk_env *stk_env_open(const char *directory, const struct stk_env_options *options);

/* Thread-safe. Finds a value: its bytes (with padding), until the process ends. */
bool stk_env_find(struct stk_env *env, struct stk_hash128 key, const void **data, size_t *bytes);
/* Thread-safe. Before a value's bytes are read; false: they cannot be. */
bool stk_env_fetch(const struct stk_env *env, const void *data, size_t bytes);
/* Thread-safe. Writes over the first bytes of a value that was found, where it lies: all processes
 * see it at once, and nothing of LMDB's changes. False: not written. */
bool stk_env_overwrite(const struct stk_env *env, const void *found, const void *bytes,
                       size_t count);
/* Thread-safe. Where a link leads. */
bool stk_env_follow(struct stk_env *env, struct stk_hash128 from, struct stk_hash128 *to);

/*
 * Writing: begin, add..., end. One thread at a time, of one process at a time: the caller sees to
 * it, since LMDB would wait for the other without an end. False: nothing is begun, the budget or
 * the file system is full, the descriptors are not ours any more. Nothing of what was added since
 * begin is there until `end` has said true; after a false one everything is given up.
 */
bool stk_env_begin(struct stk_env *env);
bool stk_env_add(struct stk_env *env, struct stk_hash128 key, const struct stk_env_parts *parts);
bool stk_env_link(struct stk_env *env, struct stk_hash128 from, struct stk_hash128 to);
bool stk_env_end(struct stk_env *env);

/* Thread-safe, without a system call where it lies in memory. Whether a value of so many bytes has
 * room now. */
bool stk_env_has_room(struct stk_env *env, size_t bytes);
/* Thread-safe. Another budget from now on, in this process; it holds within the map. */
void stk_env_set_budget(struct stk_env *env, uint64_t budget);
/* Thread-safe. Bytes that the environment takes, or all that it may where the disk does not say. */
uint64_t stk_env_used_bytes(struct stk_env *env);

#endif
