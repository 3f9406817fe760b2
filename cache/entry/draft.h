/*
 * Drafts: an entry is written in a file of its own, HOME/fill/..., and published by a rename when
 * it is complete. No heap; safe in threads, after fork and in signal handlers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/path.h"
#include "cache/origin/entry_name.h"
#include "cache/tier/tier.h"

/* An entry that is being written. */
struct stk_entry_draft {
    int fd;
    bool own; /* no other draft gets the number while this one is open (base/own_number.h) */
    uint64_t dev, ino;
    bool removed; /* another process had unlinked it when it was discarded */
    char path[STK_HOME_BYTES + 64];
};

/* Takes a draft's name apart: the pid namespace of its filler, and the filler's pid there. */
bool stk_entry_parse_draft(const char *name, uint64_t *namespace, uint64_t *pid);
/* Begins a draft of so many bytes. Returns 0, or -errno with nothing left behind. */
int stk_entry_begin(struct stk_entry_draft *draft, const struct stk_tier *tier, uint64_t bytes);
/* Moves the draft to a number of its own, if there is one. Returns 0, or -EBADF if the draft was
 * closed before. */
int stk_entry_move_up(struct stk_entry_draft *draft);
/* Returns true if the descriptor is still the draft's. Another thread may close any number. The
 * number then belongs to the next opened file, which must be neither written nor closed. */
bool stk_entry_holds(const struct stk_entry_draft *draft);
/* Returns true if the descriptor is still the draft's, with its stat. */
bool stk_entry_stat(const struct stk_entry_draft *draft, struct stat *stat);
/* Writes all of the bytes at this offset. Returns 0 or -errno; -EBADF if the descriptor is not the
 * draft's any more, and then it has written nothing. */
int stk_entry_write(const struct stk_entry_draft *draft, const void *data, size_t bytes,
                    off_t offset);
/* Closes a draft, if it is still open. */
void stk_entry_close(struct stk_entry_draft *draft);
/* Discards a draft. Notes whether another process had unlinked it: whichever process unlinks a
 * draft gives back what it took. */
void stk_entry_discard(struct stk_entry_draft *draft);
/*
 * Renames a complete draft to its place. Makes missing directories and counts them against the
 * tier's budget, and notes the root's path in its directory. Returns 0; -EEXIST if an entry is
 * there, which is as good; or another -errno. On an error the draft is discarded.
 */
int stk_entry_publish(struct stk_entry_draft *draft, const struct stk_tier *tier,
                      const struct stk_root *root, const char *path);
