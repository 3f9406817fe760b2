/* The user's command: finding it, starting it, waiting for it, and ending as it ended. */
#pragma once

#include <stdbool.h>

bool command_is_there(const char *name);
/* Ends with status 127 if there is no such command, and with 126 if it cannot be executed. */
void command_check(const char *name);
/* Returns why LD_PRELOAD cannot work on the command ("static program", "setuid program"), or
 * NULL. */
const char *command_cannot_preload(const char *name);
/* Makes two writes of this process fail that would end it by a signal: beyond the limit on file
 * sizes, and to a pipe without a reader. If the process ended there, the cache in memory would stay
 * behind. The command itself gets these signals as usual. */
void command_outlive_writing(void);
/*
 * Starts the command with the present environment. From then on, signals sent to this process alone
 * are passed on to the command. Signals of the terminal reach the command directly, since it is in
 * this process group.
 *
 * Call it before any thread is started: it changes signals that the command would inherit. Returns
 * false, with errno, if the kernel starts no further process; then nothing is changed.
 */
bool command_start(char **command);
/* Executes the command in this process, as a last resort if no further process starts. */
void command_become(char **command) __attribute__((noreturn));
/* Waits for the command. Returns its status as waitpid() gives it. */
int command_wait(void);
/* Returns the shell's exit status for a status of waitpid(). */
int command_exit_status(int status);
/* Ends this process as the command ended: with the same status, or by the same signal. */
void command_end_like(int status) __attribute__((noreturn));
