/*
 * The count of what a tier holds: HOME/account, beside the entries, for all who use the tier,
 * whatever catalogue they have. Each catalogue announces there what it holds and, in steps, what it
 * will take next (cache/tier.h): so the count is too high by what was announced and not taken, also
 * after a kill, and never too low but by what was being taken while it was counted anew.
 *
 * A small file, read and written whole under a lock that is waited for 10 ms at most, and never
 * mapped: a failing disk is an error code. What is damaged or lost is counted anew, within 20 ms; a
 * tier too large for that counts as all that its file system holds, until the command has counted
 * it. No heap; safe everywhere.
 */
#ifndef STK_CACHE_ACCOUNT_H
#define STK_CACHE_ACCOUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct stk_account {
    int64_t blocks, inodes;                               /* held or announced */
    int64_t ever_announced_blocks, ever_announced_inodes; /* never less than before */
};

/* Opens and locks the count of this home; makes what is missing. The descriptor for
 * stk_account_close, or -errno; -EAGAIN when another holds the lock. */
int stk_account_open(const char *home, struct stk_account *out);
/* Writes what it is now (NULL: as it was), and lets it go. 0 or -errno. */
int stk_account_close(int fd, const struct stk_account *count);
/* Takes off what is gone, for one without a catalogue. */
void stk_account_free(const char *home, int64_t blocks, int64_t inodes);

/* Walks `home` and counts what it really takes, everything included. 0; -ETIME when `limit_ns` (0:
 * none) ran out first; -EINTR when `*stop` (NULL: never) became true; or -errno. */
int stk_account_walk(const char *home, int64_t limit_ns, const atomic_bool *stop, int64_t *blocks,
                     int64_t *inodes);

#endif
