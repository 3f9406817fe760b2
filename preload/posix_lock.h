/*
 * POSIX record locks belong to the process, and the close of any descriptor of the file ends them
 * all. So no descriptor of a file may be opened and closed in the program's stead while the process
 * has locks on it. The first lock, or question about one, turns all that the process has open of
 * the file into the origin, and marks the file as written: no later open in this run is an entry's.
 */
#ifndef STK_PRELOAD_POSIX_LOCK_H
#define STK_PRELOAD_POSIX_LOCK_H

/*
 * Prepares a POSIX lock of `fd`, whether `fd` is an entry's or the origin's own. Does nothing for
 * files that are not covered. If the origin of an entry cannot be opened, the entry stays and is
 * locked. Keeps errno. Threads, fork: safe. In a signal handler: safe. Call it outside the guard,
 * which it takes.
 */
void stk_posix_lock_before(int fd);

#endif
