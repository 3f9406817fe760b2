/*
 * Which runs live, by their files in a catalogue's home. One does as long as somebody holds the
 * lock on its file, which the kernel lets go of when `stoker run` ends in whatever way; and when
 * only that was killed, as long as processes of its job go on: these have its name in their
 * environment, which of another user's process nobody can read.
 */
#ifndef STK_CLI_LIVE_H
#define STK_CLI_LIVE_H

#include <stdbool.h>

/* How many; and of how many of them `stoker run` was killed, while the job goes on. */
struct live {
    unsigned runs, orphans;
};
struct live live_count(const char *home);
/* Calls `visit` with the file of each. */
typedef void live_visit(const char *path, bool orphaned, void *context);
void live_each(const char *home, live_visit *visit, void *context);

/* Calls `visit` with each run's file, whether it lives or not; not with that of all that is outside
 * of runs. */
void live_each_file(const char *home, void (*visit)(const char *path, void *context),
                    void *context);
/* Whether processes of the run with this file are there besides us, as they are when only `stoker
 * run` was killed, or when its command has left them behind. Looks at all processes of the machine.
 */
bool live_has_processes(const char *path);
/* Whether nothing of the run with this file goes on. */
bool live_is_over(const char *path);

#endif
