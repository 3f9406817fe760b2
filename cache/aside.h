/*
 * Files that processes share by mapping them: made aside, complete, and renamed into place, so that
 * nobody ever sees half of one. No heap; safe in threads, after fork and in signal handlers.
 */
#ifndef STK_CACHE_ASIDE_H
#define STK_CACHE_ASIDE_H

/* Writes a new, empty file, with all the room that it needs. 0 or -errno. */
typedef int stk_aside_write(int fd, const void *context);

/* Makes the file at `path`, for this user alone. 0; -EEXIST: one is there already, and stays;
 * another -errno: none is made. Nothing is left aside but by a kill. */
int stk_aside_make(const char *path, stk_aside_write *write, const void *context);

#endif
