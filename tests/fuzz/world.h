/*
 * The world of the catalogue's fuzzer: a few files, all of them cached, in a mount namespace of its
 * own. It keeps the catalogue's file, the run's file and the entries as they then are, to come back
 * to.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cache/cache.h"

#define WORLD_FILES     16
#define WORLD_VERSIONS  2 /* some files have a past */
#define WORLD_MAX_BYTES 8192

struct world_file {
    const char *name; /* below the origin */
    bool link;        /* a symbolic one, to the first file */
    unsigned versions;
    struct stk_identity identity[WORLD_VERSIONS]; /* the last is the current one */
    char content[WORLD_VERSIONS][WORLD_MAX_BYTES + 64];
    uint32_t record; /* its number, 0: none */
    off_t slot;      /* where the index names it, in the catalogue's file; 0: nowhere */
};

/* A stretch of the catalogue's file, as it was. */
struct world_part {
    off_t offset;
    size_t bytes;
    uint8_t *was;
};

struct world {
    char origin[64], home[64], catalogue[128], run[128];
    struct world_file files[WORLD_FILES];
    unsigned count;
    struct world_part header, index, records;
    off_t catalogue_bytes;
    struct stk_options options;
    struct stk_cache cache; /* while open */
};
extern struct world world;

/* Makes it; false where there can be no private mount namespace. */
bool world_make(void);
/* Brings everything back to how it was. The cache must be closed. */
void world_restore(void);

/* Opens and closes the cache, as another process would. */
void world_open(void);
void world_close(void);
/* Fills `place` for a file; the path is one of a few static buffers. */
void world_place(const struct world_file *file, struct stk_place *place);
const char *world_path(const struct world_file *file);
/* Writes into the catalogue's (or the run's) file; reads what was there in the beginning. */
void world_write(const char *path, off_t offset, const void *data, size_t bytes);
uint64_t world_read_word(off_t offset);
/* Which version has these bytes or this identity; -1: none. */
int world_version_with(const struct world_file *file, const char *data, size_t bytes);
int world_version_of(const struct world_file *file, const struct stk_identity *identity);

/* The process's clock, which a wait moves forward instead of waiting. */
int64_t world_waited_ns(void);
