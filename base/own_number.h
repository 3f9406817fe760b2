/*
 * Numbers of descriptors that stay with one owner. A thread may close any number of the process
 * (close_range, a daemon's loop), and the kernel gives the number to the next file. No function
 * here gives a taken number to another owner before its release. So a thread may be stopped between
 * a look at its descriptor and the call on it: it cannot meet another owner's file. It can meet
 * only the file of a program that itself duplicates to a high number. No heap; safe in threads,
 * after fork (the child passes over the numbers of the parent's other threads) and in signal
 * handlers.
 */
#pragma once

#include <stdbool.h>

/* Says that the process runs no code but ours, so that each number has one owner without being
 * taken. Called before the process has threads. A child of fork inherits it. */
void stk_own_number_begin_alone(void);
/* Returns true after stk_own_number_begin_alone. */
bool stk_own_number_is_alone(void);

/* Duplicates `fd` to a number that is high, close-on-exec, and without an owner. Returns it, or
 * -errno; -EALREADY after stk_own_number_begin_alone. */
int stk_own_number_take(int fd);
/* Releases a number. Its descriptor is closed before. */
void stk_own_number_release(int number);
