/*
 * The count of what a tier holds: HOME/account, beside the entries, for all users of the tier,
 * whatever catalogue they have. Each catalogue announces there what it holds and, in steps, what it
 * will take next (cache/tier/tier.h). So the count is too high by what was announced and not taken,
 * also after a kill. It is too low only by what was being taken during a recount.
 *
 * The file is small. A process reads and writes it whole under a lock, for which it waits 10 ms at
 * most, and never maps it: a failing disk is an error code. A damaged or lost count is made anew,
 * within 20 ms. A tier too large for that counts as all that its file system holds, until the
 * command has counted it. No heap; safe in threads, after fork and in signal handlers.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

struct stk_ledger {
    int64_t blocks, inodes;                               /* held or announced */
    int64_t ever_announced_blocks, ever_announced_inodes; /* never less than before */
};

/* Opens and locks the count of this home, and makes what is missing. Returns the descriptor for
 * stk_ledger_close, or -errno; -EAGAIN if another process holds the lock. */
int stk_ledger_open(const char *home, struct stk_ledger *out);
/* Writes the count (NULL: leaves it), and unlocks it. Returns 0 or -errno. */
int stk_ledger_close(int fd, const struct stk_ledger *count);
/* Takes off what was removed, for a caller without a catalogue. */
void stk_ledger_free(const char *home, int64_t blocks, int64_t inodes);

/* Walks `home` and counts what it really takes, everything included. Returns 0; -ETIME if
 * `limit_ns` (0: none) ran out first; -EINTR if `*stop` (NULL: never) became true; or -errno. */
int stk_ledger_walk(const char *home, int64_t limit_ns, const atomic_bool *stop, int64_t *blocks,
                    int64_t *inodes);
