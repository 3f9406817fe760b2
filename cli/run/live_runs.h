/*
 * Finds out which runs live, by their files in a catalogue's home. A run lives as long as a process
 * holds the lock on its file: the kernel releases the lock however `stoker run` ends. If only
 * `stoker run` was killed, the run lives as long as processes of its job do. These have the run's
 * name in their environment, and hold its file once they have opened what it covers. The
 * environment of another user's process cannot be read, nor that of one in another pid namespace.
 */
#pragma once

#include <stdbool.h>

/* The number of live runs, and of those whose `stoker run` was killed while the job goes on. */
struct live {
    unsigned runs, orphans;
};
struct live live_count(const char *home);
/* Calls `visit` with the file of each live run. */
typedef void live_visit(const char *path, bool orphaned, void *context);
void live_each(const char *home, live_visit *visit, void *context);

/* Calls `visit` with each run's file, whether the run lives or not. Skips the file for programs
 * outside of runs. */
void live_each_file(const char *home, void (*visit)(const char *path, void *context),
                    void *context);
/* Returns true if other processes of the run with this file exist. That is so if only `stoker run`
 * was killed, or if its command has left them behind. Looks at all processes of the machine. */
bool live_has_processes(const char *path);
/* Returns true if nothing of the run with this file goes on. */
bool live_is_over(const char *path);
