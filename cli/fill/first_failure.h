/* The first of many failures in words, so that one of them can be named. */
#pragma once

#include <stdatomic.h>

/* Zeroed: there was none. It stays until the process ends. */
struct first_failure {
    _Atomic(char *) text;
};

/* Notes that a path failed with this errno, unless another one is noted. Any thread may call it. */
void first_failure_note(struct first_failure *failure, const char *path, int error);
/* Returns "PATH: REASON", or "". */
const char *first_failure_text(struct first_failure *failure);
