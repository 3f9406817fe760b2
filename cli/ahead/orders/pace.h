/*
 * Finds out how many requests at a time the origin rewards, by hill climbing. A change that has
 * made files come faster goes on. A change that has made them come more slowly is turned round.
 * More requests that have changed nothing are taken back. Rounds in which threads had nothing to
 * read say nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct request_pace {
    unsigned allowed, least, most;
    unsigned finished;  /* files in this round */
    bool idle;          /* a thread had nothing to read in this round */
    int64_t began_ns;   /* of this round; 0: none */
    double rate;        /* files a second, of the last round that changed something; 0: none */
    unsigned unchanged; /* rounds since then */
    bool lowers;        /* the direction of the last change */
    bool raised;        /* this round is the first one with more */
};

/* Begins with `allowed` requests at a time. */
void pace_begin(struct request_pace *pace, unsigned allowed, unsigned least, unsigned most);
/* Notes that a thread had nothing to read. */
void pace_note_idle(struct request_pace *pace);
/* Notes a file that came from the origin, and may change `allowed`. */
void pace_note_file(struct request_pace *pace, int64_t now_ns);
