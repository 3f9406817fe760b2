/* The lock of a home, held while runs begin and end. */
#pragma once

/*
 * Takes the lock on HOME/lock. Returns a descriptor, or -errno: -ENOENT if there is no such home,
 * -EBUSY if its holder kept it for STK_LOCK_PATIENCE_S, e.g. because the holder is stopped. The
 * holder before may remove the home: with `create`, the home is then made anew.
 */
#define STK_LOCK_PATIENCE_S 5
int lock_take(const char *home, int create);
/* Releases the lock. Does nothing for a negative `fd`. */
void lock_release(int fd);
/* Returns true if a process holds an exclusive lock on this file. The check itself takes a shared
 * lock for a moment. That may delay a process that takes the lock, but two checks do not mistake
 * each other for a holder. */
int lock_is_held(const char *path);
