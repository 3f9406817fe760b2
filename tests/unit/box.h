/*
 * A cache on a temporary directory, for the tests of the cache as a whole. One box in a process:
 * SCRATCH/origin is the covered directory, /dev/shm the tier; files are named by what lies below.
 */
#pragma once

#include "cache/cache.h"
#include "tests/unit/unit.h"

struct box {
    struct stk_options options; /* files of any age, budget 64 MiB */
    struct stk_cache cache;
    struct stk_place place;     /* of the last call */
    struct stk_lookup ask;      /* of the last box_ask */
    struct stk_outcome outcome; /* of the last box_fill */
    char entry[STK_PATH_BYTES]; /* of the last box_fill */
};
extern struct box box;

/* Makes the origin and opens the cache with box.options as they are by default. */
void box_open(void);
/* Sets the options, without opening anything. */
void box_prepare(void);
/* Forgets everything that this process knows and opens again: another process's view. */
void box_reopen(void);
/* A new run begins. */
void box_begin_run(void);

/* "SCRATCH/origin/name". */
const char *box_origin(const char *name);
/* Writes an origin's file, whose time stamps then differ from all before. */
void box_write(const char *name, const char *text);
/* Writes it aside and renames it into place. */
void box_replace(const char *name, const char *text);

struct stk_place *box_place(const char *name);
enum stk_answer box_ask(const char *name);
/* As an open does: asks, and fills if that is the answer. True: box.entry is there to be used. */
bool box_open_file(const char *name);
bool box_fill(const char *name);
/* As a stat of a file that is not known does. */
void box_learn(const char *name);
/* The record that is current for this name, or NULL. */
struct stk_record *box_record(const char *name);
int64_t box_used_blocks(void);
struct stk_run_counts box_counts(void);
