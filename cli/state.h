/*
 * Where the command remembers things from run to run: XDG_STATE_HOME/stoker, or
 * ~/.local/state/stoker. Where neither is to be had nothing is remembered.
 */
#ifndef STK_CLI_STATE_H
#define STK_CLI_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/apart.h"

/* The path of what is kept there by this name; NULL: there is no such place. The caller frees. */
char *state_path(const char *name);
/* Makes the directories above a file that are missing, for this user alone; none in a directory of
 * another user's but root's. */
void state_make_parents(const char *path);

/* What is kept there by this name, as far as there is room for it, with a 0 behind; "": nothing.
 * Both of these are for work that is asked for as below. */
void state_read(const char *name, char *text, size_t room);
/* Puts a text in its place, at once: whether that was done. */
bool state_write(const char *name, const char *text);

/* How long anybody waits for a home that may be on a server that does not answer. */
#define STATE_PATIENCE_MS 3000
/* Has work done there by a process that may be left behind: whether it gave its answer. Where it
 * has not answered in time it is not asked again by this process. */
bool state_ask(apart_work *work, void *context, void *answer, size_t bytes);
/* The same was found out otherwise, and said. */
void state_give_up(void);

#endif
