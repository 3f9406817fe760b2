/* Text of anybody's making, such as a command's words, made fit for one line of a terminal. */
#ifndef STK_CLI_PLAIN_H
#define STK_CLI_PLAIN_H

/* In its place: what is no UTF-8, would end the line, or a terminal could take for a command, is a
 * question mark then. Returns it. */
char *plain_line(char *text);
/* Does what plain_line() does, but keeps one control character that means something to the caller.
 */
char *plain_line_but(char *text, char kept);

#endif
