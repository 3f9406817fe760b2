/* A terminal that is redrawn again and again, by plain ANSI sequences. Its former contents come
 * back at the end, even if a signal ends the program. For one thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum screen_event { SCREEN_TIME, SCREEN_RESIZED, SCREEN_LEAVE };

/* Returns true if stdout is a terminal that can be drawn on. Then takes over the terminal, and the
 * signals that mean to leave. */
bool screen_begin(void);
void screen_size(unsigned *columns, unsigned *rows);
/* Draws lines, which have no control characters and are no longer than a row. */
void screen_draw(char *const *lines, unsigned count);
/* Waits for an event, at most `limit_ns`. The key q, Ctrl-C and all signals that end programs mean
 * SCREEN_LEAVE. */
enum screen_event screen_wait(int64_t limit_ns);
/* Gives the terminal back. If another process's signal asked to leave, ends this process by that
 * signal. */
void screen_end(void);
