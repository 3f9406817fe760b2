/*
 * One version of a big file in blocks. A file in the tier has the blocks that were read so far; a
 * table beside the catalogue says which blocks these are.
 *
 *   HOME/fill/3f2a91c07bd4;0123456789abcdef       the block file (HOME of the tier)
 *   HOME/big/KEY3f2a91c07bd4.0                    its table (HOME of the catalogue)
 *
 * The table has one claim word (cache/catalogue/claim.h) for each block: absent, filling, or
 * present, which has the block's own check. So a kill tears nothing, and of all processes one fills
 * a block. The word's `tier` says whether the budget has paid for the block; that stays so until
 * the block file goes. A filler owns the very word that it has written, and not just its pid: a
 * thread can overtake another thread of its process.
 *
 * A block file never has another name, since its stamp is unique. The process that unlinks it gives
 * back what it took. The table is mapped, in a tmpfs, and allocated before it is touched; the block
 * file is never mapped. Lock-free, no heap; safe in threads, after fork and in signal handlers.
 * Errors are -errno.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cache/cache_core.h"
#include "cache/cache_place.h"
#include "cache/catalogue/claim.h"

#define STK_BIG_BLOCKS_KEY_DIGITS   16   /* of a table's name, before the version's */
#define STK_BIG_BLOCKS_GROUP        64   /* blocks that are filled at once, at the most */
#define STK_BIG_BLOCKS_ORIGIN_BYTES 3072 /* with the terminating zero */

/* The part that all processes share; the words lie behind it. Constant fields are copied when a
 * process maps it. */
struct stk_big_blocks_table {
    uint64_t magic, bytes; /* of the table */
    uint64_t size, block_bytes, stamp;
    uint64_t file_ino;
    _Atomic uint32_t gone;       /* 1: the block file is gone */
    _Atomic uint32_t whole;      /* 1: it has become the entry */
    _Atomic uint32_t passed;     /* 1: the file is a database: cache/origin/database.h */
    _Atomic uint32_t opened;     /* 1: the command has the file open, to complete it */
    _Atomic uint32_t refused;    /* generation of the budget that had no room, plus 1 */
    _Atomic uint64_t there;      /* no block before this one is missing */
    _Atomic int64_t paid_blocks; /* of 512 bytes */
    _Atomic uint64_t check; /* checksum of the present blocks, on a disk (cache/entry/checksum.h) */
    /* The file's path: the root's directory without links, "//", and the path below it. Empty:
     * unknown. */
    char origin[STK_BIG_BLOCKS_ORIGIN_BYTES];
};

/* One process's view. */
struct stk_big_blocks {
    struct stk_big_blocks_table *table; /* NULL: none */
    const struct stk_tier *tier;        /* of the block file */
    _Atomic uint64_t *words;
    uint64_t table_bytes;
    uint64_t size, block_bytes, count, stamp, file_ino;
    char file[STK_HOME_BYTES + 64];       /* path of the block file */
    char state[STK_TIER_PATH_BYTES + 64]; /* path of the table */
};

/* Maps the table of this version, in whichever tier it is. If there is none, makes it and the block
 * file, in blocks of so many bytes. It chooses the first tier that has room for all of the file
 * beside the missing blocks of other files, else the tier with most room. Returns -EALREADY if the
 * version has its entry. */
int stk_big_blocks_open(struct stk_big_blocks *blocks, const struct stk_cache *cache,
                        const struct stk_record *record, uint64_t block_bytes);
/* Notes the file's path in the table, for readers of the table alone. */
void stk_big_blocks_tell_origin(const struct stk_big_blocks *blocks, const struct stk_place *place);
/* Returns what lies below the root in a path that was noted so, behind the "//", or NULL. */
const char *stk_big_blocks_below(const char *origin);
/* Maps an existing table by its name in HOME/big, and makes nothing. Returns -ENOENT if it is not
 * this tier's, and -EPROTO if it is damaged. */
int stk_big_blocks_look(struct stk_big_blocks *blocks, const struct stk_cache *cache,
                        const char *name);
/* Takes such a name apart. Returns false if it is no table's. */
struct stk_big_blocks_name {
    uint64_t key, version; /* as in the record */
    unsigned tier;
};
bool stk_big_blocks_parse_name(const char *name, struct stk_big_blocks_name *out);
/* Unmaps the table. */
void stk_big_blocks_close(struct stk_big_blocks *blocks);
/* Notes that the block file is gone: no process looks for it again. */
void stk_big_blocks_lose(struct stk_big_blocks *blocks, const struct stk_cache *cache);
/* Unlinks the table of a block file that is gone or has another name. */
void stk_big_blocks_forget(struct stk_big_blocks *blocks, const struct stk_cache *cache);

/* Returns the length of one block. */
static inline uint64_t stk_big_blocks_bytes_of(const struct stk_big_blocks *blocks, uint64_t block)
{
    uint64_t begin = block * blocks->block_bytes, left = blocks->size - begin;
    return left < blocks->block_bytes ? left : blocks->block_bytes;
}
bool stk_big_blocks_is_present(const struct stk_big_blocks *blocks, uint64_t block);
/* Returns true if all blocks are present. Remembers how far it has looked. */
bool stk_big_blocks_are_all_present(const struct stk_big_blocks *blocks);

/* Takes an absent block, for filling. Returns the word by which the block is held, or 0. */
uint64_t stk_big_blocks_take(const struct stk_big_blocks *blocks, uint64_t block);
/* Go on from the word by which a block is held. Return false if another filler has overtaken this
 * one. */
bool stk_big_blocks_pay(const struct stk_big_blocks *blocks, uint64_t block, uint64_t *held);
bool stk_big_blocks_advance(const struct stk_big_blocks *blocks, uint64_t block, uint64_t *held);
bool stk_big_blocks_publish(const struct stk_big_blocks *blocks, uint64_t block, uint64_t held);
void stk_big_blocks_give_up(const struct stk_big_blocks *blocks, uint64_t block, uint64_t held);
bool stk_big_blocks_is_paid(uint64_t held);
/* Waits while another filler fills a block, as stk_claim_wait does. A dead or stuck filler also
 * loses its claims on later blocks, so a reader waits only once. */
void stk_big_blocks_wait(const struct stk_big_blocks *blocks, uint64_t block);
