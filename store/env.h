/*
 * One LMDB environment, as store/store.c needs it: the only place that knows LMDB.
 *
 * Values are never removed or replaced. Each is so large that LMDB gives it pages of its own; small
 * ones are padded. LMDB never uses such pages again, so a value stays in place after the
 * transaction that found it. A reader therefore holds a slot of LMDB's table for a microsecond,
 * however long it uses the value.
 *
 * Links lie in the pages of the tree itself, which are written anew again and again. They are
 * copied out while the reader's slot is held.
 *
 * Functions are not thread-safe unless they say so. An environment belongs to the process that
 * opened it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct stk_env;

/* A value to be written: a head and a body. */
struct stk_env_parts {
    const void *head, *body;
    size_t head_bytes, body_bytes;
};

struct stk_env_options {
    uint64_t budget, most; /* the budget now, and its largest later value; 0: not known */
    unsigned readers;
    bool at_once; /* do not wait for another process that opens it */
};

/* Opens or makes the environment's files. Returns NULL with errno. EAGAIN: another process, perhaps
 * a stopped one, was in the way, for 0.5 s if the call may wait. ENOMEM: no memory, or addresses
 * are limited and the map would take too many of them (store/place.h). */
struct stk_env *stk_env_open(const char *directory, const struct stk_env_options *options);

/* Finds a value. Its bytes, with padding, stay until the process ends. Thread-safe. */
bool stk_env_find(struct stk_env *env, struct stk_hash128 key, const void **data, size_t *bytes);
/* Brings a value's bytes to memory before they are read. Returns false if the disk cannot read
 * them. Thread-safe. */
bool stk_env_fetch(const struct stk_env *env, const void *data, size_t bytes);
/* Writes over the first bytes of a found value in place: all processes see the change at once, and
 * nothing of LMDB's changes. Returns false if nothing was written. Thread-safe. */
bool stk_env_overwrite(const struct stk_env *env, const void *found, const void *bytes,
                       size_t count);
/* Finds the key that a link leads to. Thread-safe. */
bool stk_env_follow(struct stk_env *env, struct stk_hash128 from, struct stk_hash128 *to);

/*
 * Writing: begin, add..., end. The caller makes sure that one thread of one process writes at a
 * time, since LMDB would wait for another writer without an end. Begin returns false if the budget
 * or the file system is full, or if the program closed the environment's descriptors. Nothing that
 * was added is visible until `end` has returned true. After a false one all of it is given up.
 */
bool stk_env_begin(struct stk_env *env);
bool stk_env_add(struct stk_env *env, struct stk_hash128 key, const struct stk_env_parts *parts);
bool stk_env_link(struct stk_env *env, struct stk_hash128 from, struct stk_hash128 to);
bool stk_env_end(struct stk_env *env);

/* Returns true if a value of so many bytes has room now. Makes no system call if the environment
 * lies in memory. Thread-safe. */
bool stk_env_has_room(struct stk_env *env, size_t bytes);
/* Sets the budget of this process, within the map. Thread-safe. */
void stk_env_set_budget(struct stk_env *env, uint64_t budget);
/* Returns the bytes that the environment takes; where the disk does not say, all that it may take.
 * Thread-safe. */
uint64_t stk_env_used_bytes(struct stk_env *env);
