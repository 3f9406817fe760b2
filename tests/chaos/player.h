/* One process of a round of chaos: its orders, and the tools of all its roles. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ledger.h"

/* From which version on a reader may see files. */
enum fresh {
    FRESH_RUN,  /* those there were when its run began */
    FRESH_OPEN, /* those there were when it opened; so it is without the library, too */
    FRESH_NEVER /* any */
};

/* The side on which a writer works. */
enum hand {
    HAND_HERE,  /* by the readers' own mount; with the library if there is one */
    HAND_BEHIND /* behind the origin, as another machine would */
};

struct orders {
    const char *data;   /* the covered directory */
    const char *behind; /* the same, behind the origin: never late, never faulty */
    unsigned volume, run, readers, writers, seconds;
    enum fresh fresh;
    enum hand hand;
    bool library, kills;
    uint64_t seed;
};

/* The operation that a process is at. Its parent looks on. */
struct desk {
    _Atomic int64_t since_ns; /* CLOCK_BOOTTIME; 0: between two operations */
    char operation[120];
};

extern struct orders orders;
extern struct desk *desk;

/* An operation begins, which the parent watches; and ends. */
void desk_take(const char *operation);
void desk_leave(void);

/* Prints a line that the round will report, and counts it. */
__attribute__((format(printf, 1, 2))) void violation(const char *format, ...);

/* A number below `end`, the next of this process. */
uint32_t dice(uint32_t end);
void dice_start(uint64_t seed);

/* The path's name below a directory. */
void path_name(char out[4096], const char *top, unsigned unit, enum place place, unsigned file);
const char *place_name(enum place place);

/* Each of these does a role's work once; until the time is over, again and again. */
void reader_begin(void);
void reader_act(void);
void reader_end(void);
void writer_begin(void);
void writer_act(void);

/* Reads a path once and judges what it finds: also after a write of this process's own. */
void reader_look(unsigned unit, enum place place, unsigned file);

/* Makes all files for the first time, behind the origin. */
void writer_make_all(void);
