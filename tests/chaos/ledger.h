/*
 * The record of what really happened: the memory that all processes of a round of chaos share.
 *
 * For each path it keeps the versions that it has led to, one after the other. A writer notes each
 * coming version before it changes anything. Afterwards it notes what there is, which it reads from
 * behind the origin. So at any moment a path leads to the last version that is settled, or to one
 * noted since. A reader knows the place in this history from which on it may see versions (its
 * floor). So it can judge whether what it saw is right.
 *
 * Writers take a unit's lock; all else is single atomic words.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VOLUMES 2 /* of which one path leads to either, in mount namespaces of their own */
#define UNITS   6 /* directories whose names change among each other */
#define PLACES  3 /* in a unit: the directories a and b, and latest, a link to one of them */
#define FILES   5 /* in a directory */
#define PATHS   (UNITS * PLACES * FILES) /* in a volume */
#define RUNS    4096
#define HISTORY 32768 /* versions of one path; when it is full, nothing changes any more */

enum place { PLACE_A, PLACE_B, PLACE_LATEST };

/* A version of a path is a stamp and a length in one word. */
#define VERSION_ABSENT      UINT64_C(0)
#define VERSION_LENGTH_BITS 24

enum count {
    COUNT_OPERATIONS, /* of readers */
    COUNT_JUDGED,
    COUNT_UNJUDGED, /* because the origin was faulty, or written in place, at the same time */
    COUNT_CHANGES,
    COUNT_KILLED,
    COUNT_STOPPED,
    COUNT_VIOLATIONS,
    COUNTS
};

struct ledger {
    _Atomic uint64_t next_stamp;
    _Atomic uint64_t quake[VOLUMES]; /* odd while that origin is faulty */
    _Atomic uint64_t counts[COUNTS];
    struct {
        _Atomic uint32_t lock;
        _Atomic uint64_t unstable; /* odd while a file is written in place */
    } units[VOLUMES][UNITS];
    struct {
        _Atomic uint32_t noted, settled; /* numbers of versions; the first is 0 */
        _Atomic uint64_t versions[HISTORY];
    } paths[VOLUMES][PATHS];
    _Atomic uint32_t floors[RUNS][PATHS]; /* below which no process in that run may see anything */
};

extern struct ledger *ledger;

/* Maps the file; makes it if it is not there. Exits when it cannot. */
void ledger_open(const char *file);

void ledger_count(enum count which);
/* Makes a stamp, which shows volume and unit. */
uint64_t ledger_stamp(unsigned volume, unsigned unit);
bool ledger_is_of(uint64_t stamp, unsigned volume, unsigned unit);

/* Only odd units have files that are written in place: the others' are whole at every moment. */
bool unit_is_written_in_place(unsigned unit);

uint64_t version_of(uint64_t stamp, size_t length);
uint64_t version_stamp(uint64_t version);
size_t version_length(uint64_t version);

unsigned path_number(unsigned unit, enum place place, unsigned file);

/* Under the unit's lock. */
void unit_lock(unsigned volume, unsigned unit);
void unit_unlock(unsigned volume, unsigned unit);
/* Around what readers can see half done. */
void unit_write_begins(unsigned volume, unsigned unit);
void unit_write_ends(unsigned volume, unsigned unit);
/* The path may lead to this version from now on. False when its history is full. */
bool path_note(unsigned volume, unsigned path, uint64_t version);
/* It leads to this one, and to no other. */
void path_settle(unsigned volume, unsigned path, uint64_t version);

/* From now on the run must not see anything older than what is there. */
void run_begins(unsigned run, unsigned volume);
void run_knows(unsigned run, unsigned volume, unsigned path);

int64_t now_ns(void);
