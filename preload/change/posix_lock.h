/*
 * POSIX record locks belong to the process, and the close of any descriptor of the file ends them
 * all. So no descriptor of a file may be opened and closed in the program's stead while the process
 * has locks on it. The process's first lock of a file, or question about one, does two things. All
 * entries of the file that the process has open become the origin. The file is marked as written,
 * so no later open in this run gets an entry.
 */
#pragma once

/*
 * Prepares a POSIX lock of `fd`, whether `fd` is an entry's or the origin's own. Does nothing for
 * files that are not covered. If the origin of an entry cannot be opened, the entry stays and is
 * locked. Keeps errno. Threads, fork: safe. In a signal handler: safe. Call it outside the guard,
 * which it takes.
 */
void stk_posix_lock_before(int fd);
