/*
 * A terminal that is drawn over again and again, by plain ANSI sequences. What was on it comes back
 * at the end, also when a signal ends it. For one thread.
 */
#ifndef STK_CLI_SCREEN_H
#define STK_CLI_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

enum screen_event { SCREEN_TIME, SCREEN_RESIZED, SCREEN_LEAVE };

/* Whether stdout is a terminal that can be drawn on; takes it then, and the signals by which it is
 * left. */
bool screen_begin(void);
void screen_size(unsigned *columns, unsigned *rows);
/* Lines without control characters, none longer than a row. */
void screen_draw(char *const *lines, unsigned count);
/* Waits so long, or until something happens; q, Ctrl-C and whatever ends a program mean to leave.
 */
enum screen_event screen_wait(int64_t limit_ns);
/* Gives the terminal back, and ends as the signal wants by which it was left, if it is one that
 * ends programs from elsewhere. */
void screen_end(void);

#endif
