/*
 * Where the command remembers things from run to run: XDG_STATE_HOME/stoker, or
 * ~/.local/state/stoker. Where neither is to be had nothing is remembered.
 */
#ifndef STK_CLI_STATE_H
#define STK_CLI_STATE_H

/* The path of what is kept there by this name; NULL: there is no such place. The caller frees. */
char *state_path(const char *name);
/* Makes the directories above a file that are missing, for this user alone; none in a directory of
 * another user's but root's. */
void state_make_parents(const char *path);

#endif
