/* The user's command: finding it, starting it, waiting for it, and ending as it ended. */
#ifndef STK_CLI_COMMAND_H
#define STK_CLI_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

bool command_is_there(const char *name);
/* Ends with status 127 when there is no such command, 126 when it cannot be executed. */
void command_check(const char *name);
/* Why LD_PRELOAD cannot work on it ("static program", "setuid program"), or NULL. */
const char *command_cannot_preload(const char *name);
/* Has what we write beyond the limit on the size of files, or to a pipe that nobody reads any more,
 * fail, instead of ending us by a signal, and the job's end with us: what lies in memory would stay
 * there. The command gets its signals all the same. */
void command_outlive_writing(void);
/*
 * Starts the command with the environment as it is. From then on signals sent to us alone are
 * passed on to it; those of the terminal reach it by themselves, since it is in our process group.
 * No thread may have been started before: it changes signals that the command would inherit.
 * Returns false, with errno, if the kernel starts no further process. Then nothing is changed.
 */
bool command_start(char **command);
/* Executes the command in this process. It is the last resort where no further process starts. */
void command_become(char **command) __attribute__((noreturn));
/* Waits for it; the status as of waitpid. */
int command_wait(void);
/* The shell's number for a waitpid status. */
int command_exit_status(int status);
/* Ends this process just as the command ended: the same status, or the same signal. */
void command_end_like(int status) __attribute__((noreturn));

#endif
