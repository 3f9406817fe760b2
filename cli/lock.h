/* The lock of a home, held while runs begin and end. */
#ifndef STK_CLI_LOCK_H
#define STK_CLI_LOCK_H

/*
 * Takes HOME/lock; the fd, or -errno: -ENOENT where there is no such home; -EBUSY when its holder
 * has kept it for STK_LOCK_PATIENCE_S, e.g. because it is stopped. The home may be removed by the
 * holder before us: then it is made anew, if `create`.
 */
#define STK_LOCK_PATIENCE_S 5
int lock_take(const char *home, int create);
/* Lets it go; nothing for what is none. */
void lock_release(int fd);
/* Whether somebody holds the lock on this file for himself. Who looks delays him who takes it, and
 * hides nothing from others who look. */
int lock_is_held(const char *path);

#endif
