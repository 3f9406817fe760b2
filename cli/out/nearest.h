/*
 * Guesses which word was meant by a mistyped one: "did you mean ...?". For one thread.
 */
#pragma once

/* The word, and the best candidate so far, or NULL. Both texts stay the caller's. */
struct nearest {
    const char *word, *best;
    unsigned errors; /* of the best candidate: letters too many, too few, wrong or swapped */
};

struct nearest nearest_to(const char *word);
/* Takes the candidate if it has at most two errors, less than half of its letters, and fewer errors
 * than the best one. */
void nearest_try(struct nearest *nearest, const char *candidate);
