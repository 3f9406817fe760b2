/*
 * Where the command remembers things from run to run: XDG_STATE_HOME/stoker, or
 * ~/.local/state/stoker. Where neither is to be had nothing is remembered; nor is it where another
 * user has a hand in a directory on the way (base/way.h), as in the home that `sudo -E` keeps.
 */
#ifndef STK_CLI_STATE_H
#define STK_CLI_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/apart.h"

/* Opens that directory, or the one called `room` in it ("": itself); where `make`, what is missing
 * is made. The descriptor, which is the caller's to close, or -errno: -ENOENT and -ENOTDIR where
 * nothing is to be remembered, -EPERM where another user has a hand in it. */
int state_open(const char *room, bool make);
/* Says why nothing can be kept or found there, as the end of a sentence. */
const char *state_reason(int error);

/* Opens a file of that directory for reading: one of this user's own. Or -errno. */
int state_open_file(int directory, const char *name);
/* Writes a file aside and renames it into its place, so it is whole at any time. 0 or -errno. */
int state_put(int directory, const char *name, const char *text, size_t bytes);

/* Reads the file of that name in the directory itself, as far as there is room for it, with a 0
 * behind; "": there is nothing. Both of these are for work that is asked for as below. */
void state_read(const char *name, char *text, size_t room);
/* Puts a text in its place. 0 or -errno. */
int state_write(const char *name, const char *text);

/* How long anybody waits for a home that may be on a server that does not answer. */
#define STATE_PATIENCE_MS 3000
/* Has work done there by a process that may be left behind: whether it gave its answer. Where it
 * has not answered in time it is not asked again by this process. */
bool state_ask(apart_work *work, void *context, void *answer, size_t bytes);
/* The same was found out otherwise, and said. */
void state_give_up(void);

#endif
