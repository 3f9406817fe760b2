/* The verbs and their flags, described once. `stoker --help`, `stoker VERB --help` and bash's
 * completion are made of this table, and the manual pages of that (scripts/manual.py). A test
 * compares it with the flags that the command accepts. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#define STK_VERSION "0.1.0"

enum { HELP_MOST_OPTIONS = 20, HELP_MOST_EXAMPLES = 5 };

struct help_option {
    const char *flag;     /* "--path" */
    const char *argument; /* "DIR"; "" if it takes none; "[=first]" if it is optional */
    const char *meaning;
};

struct help_verb {
    const char *name;
    const char *brief;    /* one line, printed behind "stoker NAME" */
    const char *synopsis; /* printed behind the options */
    const char *about;    /* paragraphs, each ended by \n */
    struct help_option options[HELP_MOST_OPTIONS];
    const char *examples[HELP_MOST_EXAMPLES]; /* one command line each */
};

extern const struct help_verb help_verbs[];
extern const unsigned help_verb_count;

/* Returns NULL if there is no such verb. */
const struct help_verb *help_find(const char *verb);
/* Returns true for --help and -h. */
bool help_is_flag(const char *argument);
/* Returns true if the verb's own arguments, as far as they are typed, ask for help. Skips values of
 * options and the arguments of the user's command. */
bool help_is_asked(const struct help_verb *verb, char **arguments);
/* Prints the first screen: the verbs, in at most 24 lines. */
void help_overview(FILE *out);
void help_verb(const struct help_verb *verb);
/* Prints the variables of the environment (base/options.h). */
void help_environment(void);

/* Print the completion for a shell. */
void completion_bash(void);
void completion_zsh(void);
void completion_fish(void);
