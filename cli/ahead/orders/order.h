/*
 * One order: the files that a loader is going to open, first to last, as far as the loader has sent
 * them.
 *
 * An order is a guess. So its first files are probes: no more files than these are read until the
 * job has opened some of them. Later probes are files that the loader was done with long ago. An
 * order whose probes are not opened has failed, and no more of its files are read. Samples of a
 * data set have probes in all of their orders together: sample_files.h says whether these hold.
 *
 * An order that goes beside another one, its leader, has the files that samples open beside those
 * of a list (beside.h). Its paths are numbered as the leader's, and it ends with the leader. So
 * that a rule which holds no longer costs little, it has many probes, and reads ahead as many files
 * as the job has opened of it, and a few more.
 *
 * The caller holds a lock, but for the probes of one order, which it gives by order_judge().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/run/run.h"

#define ORDER_PROBES  64   /* a wrong guess costs so many files */
#define ORDER_PENDING 8192 /* paths that wait; the sender keeps the rest */
#define ORDER_SLACK   4096 /* files that the loader is done with until a probe has failed */
#define ORDER_UNHEARD 128  /* samples, at most, that were asked for since the last message */

/* The begin of a message. Behind it come paths, each with its zero, or what `dataset` says. */
struct order_message {
    uint64_t magic;
    uint64_t dataset; /* if it is not 0, indices of its samples come in the place of paths, as
                         uint64_t: the command knows what these have opened (sample_files.h) */
    uint64_t done;  /* how many of the files, from the first, the loader is done with, or one of the
                       values below: in which order the job opens them is unknown */
    uint64_t asked; /* how many it has asked its workers for */
};
#define ORDER_UNORDERED UINT64_MAX
#define ORDER_TREE      (UINT64_MAX - 1) /* unordered files of a tree: tree_walk.h */
#define ORDER_SHARDS    (UINT64_MAX - 2) /* unordered files that are read from front to back */
#define ORDER_OPENED    (UINT64_MAX - 3) /* no order, but what samples of `dataset` have opened */
/* No order, but the path that a list of `dataset` has for a sample, and the others that the sample
   has opened. */
#define ORDER_BESIDE        (UINT64_MAX - 4)
#define ORDER_LIST          (UINT64_MAX - 5) /* the paths to come are those of a list of `dataset` */
#define ORDER_IDS           (UINT64_MAX - 6) /* as ORDER_LIST, but with ids in the place of paths */
#define ORDER_MAGIC         UINT64_C(0x34726564726f6b73) /* changes with the layout */
#define ORDER_PROBED        'p'                          /* the first answer: files are read */
#define ORDER_BELIEVED      'b'                          /* the second one: the job opens them */
#define ORDER_REFUTED       'r'                          /* the last one: it does not */
#define ORDER_MESSAGE_BYTES (64u << 10)                  /* at most */

struct order_chunk;

struct order_probe {
    uint64_t number; /* of the file in the order */
    uint32_t record; /* 0: the probe is judged, or there is none */
    uint32_t each;   /* the files that it stands for */
};

struct order {
    int fd;     /* of the connection; -1: the slot is free */
    bool ended; /* the loader has closed it */
    int64_t began_ns;
    struct order_chunk *first, *last; /* what was received. A list's stay until the loader is done
                                         with them, for an order beside it that begins later */
    struct order_chunk *next;         /* the one with the next path, or NULL */
    size_t at;                        /* of that path */
    uint64_t dataset;                 /* of which samples are sent, or 0 */
    uint64_t list_of;                 /* the data set that has the list, or 0 */
    bool has_ids;                     /* no file has its paths: only those beside it are read */
    const struct order *leader;       /* NULL: it goes beside none */
    unsigned rule;                    /* by which paths follow from the leader's */
    unsigned followed;                /* rules that have an order beside this one */
    unsigned width;                   /* files of each of these; 0: none was sent yet */
    uint64_t received, taken, done, asked;
    uint64_t skipped; /* of those taken: they were there, or the job had opened them */
    struct order_probe probes[ORDER_PROBES];
    unsigned probing, opened, missed;
    uint64_t confirmed; /* files for which probes stand that were opened */
    uint32_t recent;    /* the last probes that were judged: a bit for each, 1 if it was missed */
    unsigned in_vain;   /* files without room, one after the other */
    unsigned
        least_opens; /* the fewest that a file had before its turn, as earlier passes left it */
    bool failed, believed; /* for good */
};

/* Begins an order of the connection `fd`, which it owns from now on. */
void order_begin(struct order *order, int fd);
/* Begins an order beside `leader`, by the next rule. `fd` is a copy of the leader's connection. */
void order_begin_beside(struct order *order, struct order *leader, int fd);
/* Takes over what has been added to the leader. Returns false for want of memory. */
bool order_follow(struct order *order);
/* Closes the order's connection, and frees its paths. */
void order_end(struct order *order);
/* Returns true if nothing follows from the ids of an order, of which samples have shown enough. */
bool order_is_useless(const struct order *order);
/* Returns true if a rule for the files beside this order's has no order yet. */
bool order_has_rule(const struct order *order);
/* Adds a message. Returns false if that is none. */
bool order_add(struct order *order, const void *message, size_t bytes);
/* Returns true if all of its paths are taken. */
bool order_is_empty(const struct order *order);
/* Returns true if another file may be read. */
bool order_has_next(const struct order *order);
/* Takes the next path, which order_has_next() has promised. Returns its number. */
uint64_t order_take(struct order *order, char path[STK_PATH_BYTES]);
/* Returns true if the files are those of a tree: what the job opens shows which come next. */
bool order_is_of_tree(const struct order *order);
/* Returns true if files that were there say nothing of an order: it begins amid a job. */
bool order_begins_amid(const struct order *order);
/* Makes a file that was read a probe, if it is the turn of one. `record`: 0 if it was not read. The
 * loader hears of the first ones: an order of files that were there cannot be doubted. */
void order_probe(struct order *order, uint64_t number, uint32_t record);
/* Notes whether there was room for a file. */
void order_note_room(struct order *order, bool room);
/* Returns true if the job has opened this file in its turn: workers may have been asked for it, and
 * it was opened more often than others were before their turn. `opens`: by the job, so far. */
bool order_was_opened(struct order *order, uint64_t number, unsigned opens);
/* Returns how many files before what workers were asked for this one is; 0: it is late, or the job
 * opens the files in no known order. */
uint64_t order_lead(const struct order *order, uint64_t number);
/* Looks which probes the job has opened by now. Sends a byte to the loader once the order is
 * believed. */
void order_judge(struct order *order, struct stk_run *run);
/* Judges the rule of an order that goes beside another one and ends. If the job has not opened what
 * the loader is done with, the rule is refuted, or has fewer probes left for later passes. */
void order_judge_rule(const struct order *order);
