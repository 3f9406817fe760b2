/*
 * The threads that fill the queued big files beside a job (big_files.h): those that the job has
 * begun, and those that are read ahead. They have a low priority.
 */
#pragma once

#include <stdbool.h>

#define BIG_TEAM_MOST 16 /* blocks at a time, over a network */

/* Starts threads until so many have been started, at most BIG_TEAM_MOST. Call it after
 * big_files_begin(). Safe in threads. */
void big_team_start(unsigned wanted);
/* Returns false once the threads are to end. */
bool big_team_goes_on(void);
/* Ends the threads once they have their blocks. Cuts their reads. Call it again until it returns
 * true: no thread is left. */
bool big_team_end(void);
