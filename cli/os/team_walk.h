/* Walks a tree of millions of files by several threads. */
#pragma once

#include "base/walk.h"

/*
 * Visits everything below `top` that is no directory, by a thread for each processor and eight at
 * most. Several threads call `visit` at a time, in no order. It does not go into what is mounted
 * below the top. Returns 0, -errno of the top directory, or a visitor's value, which ends the walk
 * of all threads.
 */
int team_walk(const char *top, stk_walk_visitor *visit, void *context);
