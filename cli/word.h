/* Text as one word of a shell's command line. */
#ifndef STK_CLI_WORD_H
#define STK_CLI_WORD_H

/* In single quotes, as every shell reads it. The caller frees. */
char *word_quoted(const char *text);
/* For a command that a user is told to type: as it is, or quoted where a shell would read it
 * otherwise, with blanks at which no line is broken (cli/summary_lines.h). The caller frees. */
char *word_of(const char *text);

#endif
