/* The verbs of the command that have no folder of their own. Each function gets the arguments
 * behind the verb and returns the exit status. */
#pragma once

int verb_run(char **arguments);
int verb_warm(char **arguments);
int verb_env(char **arguments);
int verb_ls(char **arguments);
int verb_last(char **arguments);
int verb_clear(char **arguments);
int verb_report(char **arguments);

/* Lists the records of runs, the newest first. Returns the exit status. */
int report_list(void);
