/* The verbs of the command. Each gets the arguments behind it and returns the exit status. */
#ifndef STK_CLI_VERBS_H
#define STK_CLI_VERBS_H

int verb_run(char **arguments);
int verb_warm(char **arguments);
int verb_env(char **arguments);
int verb_ls(char **arguments);
int verb_top(char **arguments);
int verb_last(char **arguments);
int verb_clear(char **arguments);
int verb_verify(char **arguments);
int verb_doctor(char **arguments);
int verb_report(char **arguments);
int verb_share(char **arguments);

#endif
