/*
 * Decoded copies in directories of the user's own (--decoded DIR, STOKER_DECODED), which no tier
 * contains. Runs remember these directories (cli/tiers/known_list.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Remembers the directory of "DIR[:SIZE]". Does nothing for a value without a directory. */
void stores_remember(const char *value);

/* One directory and its stores. */
struct known_store {
    const char *directory;
    uint64_t bytes; /* allocated, of all its stores */
    bool used;      /* a process has one of them open */
};
/* Calls `visit` for each directory with stores: that of the environment, and remembered ones. */
void stores_each(void (*visit)(const struct known_store *store, void *context), void *context);
/* Removes the stores that no process has open. Returns the bytes that went. */
uint64_t stores_remove(const char *directory);
