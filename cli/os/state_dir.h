/*
 * The directory in which the command keeps files from run to run: XDG_STATE_HOME/stoker, or
 * ~/.local/state/stoker. If neither exists, nothing is kept. Nothing is kept either if another user
 * can change a directory on the path (base/trusted_path.h), as in the home that `sudo -E` keeps.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/os/detached.h"

/* Opens the state directory, or its subdirectory `subdirectory` (unless it is ""). With `make`,
 * makes missing directories. Returns a descriptor, which the caller closes, or -errno. -ENOENT and
 * -ENOTDIR: nothing is to be kept. -EPERM: another user can change a directory on the path. */
int state_open(const char *subdirectory, bool make);
/* Returns the end of a sentence that says why nothing can be kept or found there. */
const char *state_reason(int error);

/* Opens a file of that directory for reading, if this user owns it. Returns a descriptor or
 * -errno. */
int state_open_file(int directory, const char *name);
/* Writes a new file and renames it into place, so that the name always has a complete file. Returns
 * 0 or -errno. */
int state_put(int directory, const char *name, const char *text, size_t bytes);

/* Reads the file of that name in the state directory, up to `room` - 1 bytes, and ends the text
 * with a 0. The text is "" if there is no file. Call state_read() and state_write() only in work
 * for state_ask(). */
void state_read(const char *name, char *text, size_t room);
/* Writes a text to the file of that name in the state directory. Returns 0 or -errno. */
int state_write(const char *name, const char *text);

/* How long to wait for a home that may be on a server that does not answer. */
#define STATE_PATIENCE_MS 3000
/* Has a detached process do the work in the state directory. Returns true if the process answered.
 * After one late answer this process does not ask again. */
bool state_ask(detached_work *work, void *context, void *answer, size_t bytes);
/* Makes state_ask() stop asking, after the caller found out otherwise that the home does not
 * answer, and said so. */
void state_give_up(void);
