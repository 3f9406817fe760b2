/*
 * The files that the programs here read: DIR/0, DIR/1, ... Their bytes follow from their numbers
 * (tests/preload/neighbours/pair.py makes them). So a program can know by itself whether it got the
 * right ones.
 *
 * All of it may be called from a signal handler and on a small stack, but for WAY_FOPEN.
 */
#pragma once

#include <stddef.h>

enum files_way { WAY_OPEN, WAY_OPENAT, WAY_FOPEN, WAY_COUNT };

/* Reads DIR/NUMBER to its end. Returns 0 when all bytes and the results of fstat and stat are
 * right. Returns a positive errno when a call failed, -1 when something is wrong. */
int files_check(const char *dir, unsigned number, enum files_way way);

/* Compares what is open as fd, from its start: 0, errno or -1. */
int files_compare(int fd, unsigned number);

size_t files_size(unsigned number);

/* "DIR/NUMBER", at most `bytes` of it. Without stdio. */
void files_name(char *out, size_t bytes, const char *dir, unsigned number);
