/*
 * What each verb does and takes, once: `stoker --help`, `stoker VERB --help`, the manual pages and
 * the completion for bash are all made of this table (cli/help.c), and a test holds the flags that
 * the command takes against it.
 */
#ifndef STK_CLI_HELP_H
#define STK_CLI_HELP_H

#include <stdbool.h>
#include <stdio.h>

#define STK_VERSION "0.1.0"

enum { HELP_MOST_OPTIONS = 16, HELP_MOST_EXAMPLES = 5 };

struct help_option {
    const char *flag;     /* "--path" */
    const char *argument; /* "DIR", "" where it takes none; "[=first]" where it may have one */
    const char *meaning;
};

struct help_verb {
    const char *name;
    const char *brief;    /* one line, behind "stoker NAME" */
    const char *synopsis; /* what is behind the options */
    const char *about;    /* paragraphs, each ended by \n */
    struct help_option options[HELP_MOST_OPTIONS];
    const char *examples[HELP_MOST_EXAMPLES]; /* a command line each */
};

extern const struct help_verb help_verbs[];
extern const unsigned help_verb_count;

/* NULL: there is none of that name. */
const struct help_verb *help_find(const char *verb);
/* Whether that is --help, or -h. */
bool help_is_flag(const char *argument);
/* Whether it stands among a verb's own arguments, behind whatever of these is written already: as
 * no option's value, and not in a command's arguments. */
bool help_is_asked(const struct help_verb *verb, char **arguments);
/* The first screen: the verbs, at most 24 lines. */
void help_overview(FILE *out);
void help_verb(const struct help_verb *verb);

/* cli/manual.c: the page of that name ("stoker", "stoker-run", "libstoker.so") in the language of
 * man; false when there is none. */
bool manual_page(const char *name);
/* cli/completion.c */
void completion_bash(void);

#endif
