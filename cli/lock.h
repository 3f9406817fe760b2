/* The lock of a home, held while runs begin and end. */
#ifndef STK_CLI_LOCK_H
#define STK_CLI_LOCK_H

/* Takes HOME/lock, waiting for it; the fd, or -errno. The home may be removed by the holder before
 * us: then it is made anew, if `create`, else -ENOENT. */
int lock_take(const char *home, int create);
/* Lets it go. */
void lock_release(int fd);
/* Whether somebody holds the lock on this file. */
int lock_is_held(const char *path);

#endif
