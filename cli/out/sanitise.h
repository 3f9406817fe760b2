/* Foreign text, such as the words of a command, made safe for one line of a terminal. */
#pragma once

/* Replaces in place: invalid UTF-8, line ends, terminal control characters and those that turn text
 * around become question marks. Returns `text`. */
char *sanitise_line(char *text);
/* Does what sanitise_line() does, but keeps the control character `kept`, which means something to
 * the caller. */
char *sanitise_line_but(char *text, char kept);
