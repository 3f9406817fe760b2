/*
 * Where the command remembers things from run to run: XDG_STATE_HOME/stoker, or
 * ~/.local/state/stoker. If there is neither, nothing is remembered. Nor is it if another user can
 * change a directory on the path (base/way.h), as in the home that `sudo -E` keeps.
 */
#ifndef STK_CLI_STATE_H
#define STK_CLI_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/apart.h"

/* Opens that directory, or its subdirectory `room` (unless ""). With `make`, makes what is missing.
 * Returns the descriptor, which the caller closes, or -errno: -ENOENT and -ENOTDIR if nothing is to
 * be remembered, -EPERM if another user can change a directory on the path. */
int state_open(const char *room, bool make);
/* Returns the end of a sentence that says why nothing can be kept or found there. */
const char *state_reason(int error);

/* Opens a file of that directory for reading, if this user owns it. Returns it or -errno. */
int state_open_file(int directory, const char *name);
/* Writes a new file and renames it into its place, so that it is whole at any time. Returns 0 or
 * -errno. */
int state_put(int directory, const char *name, const char *text, size_t bytes);

/* Reads the file of that name in the directory itself, as far as `text` has room, with a 0 behind;
 * "" if there is none. Call this and state_write() only in work for state_ask(). */
void state_read(const char *name, char *text, size_t room);
/* Writes a text to the file of that name in the directory itself. Returns 0 or -errno. */
int state_write(const char *name, const char *text);

/* How long anybody waits for a home that may be on a server that does not answer. */
#define STATE_PATIENCE_MS 3000
/* Has work done there by a process that may be left behind: whether it gave its answer. Where it
 * has not answered in time it is not asked again by this process. */
bool state_ask(apart_work *work, void *context, void *answer, size_t bytes);
/* The same was found out otherwise, and said. */
void state_give_up(void);

#endif
