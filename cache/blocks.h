/*
 * The blocks of one version of a big file: a file in the tier that has those of its blocks that
 * were read so far, and beside the catalogue a table that says which these are.
 *
 *   HOME/fill/3f2a91c07bd4;0123456789abcdef       the block file (HOME of the tier)
 *   HOME/big/KEY3f2a91c07bd4.0                    its table (HOME of the catalogue)
 *
 * The table has one claim word (cache/claim.h) for each block: absent, filling, or present, which
 * has the block's own check. So a kill tears nothing, and of all processes one fills a block. Its
 * `tier` says whether the budget has paid for the block: once paid for, it stays so until the block
 * file goes. A filler owns the very word that it has written, not just its pid: a thread that was
 * overtaken by another of its process is overtaken.
 *
 * A block file has no other name, ever: its stamp is its own. Who unlinks it gives back what it
 * took. The table is mapped, in a tmpfs, allocated before it is touched; the block file never is.
 * Lock-free, no heap, safe everywhere. Errors are -errno.
 */
#ifndef STK_CACHE_BLOCKS_H
#define STK_CACHE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/cache.h"
#include "cache/claim.h"

#define STK_BLOCKS_KEY_DIGITS   16   /* of a table's name, before the version's */
#define STK_BLOCKS_GROUP        64   /* blocks that are filled at once, at the most */
#define STK_BLOCKS_ORIGIN_BYTES 3072 /* with the terminating zero */

/* What all processes share; the words lie behind it. What does not change is copied when it is
 * mapped. */
struct stk_blocks_table {
    uint64_t magic, bytes; /* of the table */
    uint64_t size, block_bytes, stamp;
    uint64_t file_ino;
    _Atomic uint32_t gone;       /* 1: the block file is not there any more */
    _Atomic uint32_t whole;      /* 1: it has become the entry */
    _Atomic uint32_t passed;     /* 1: it is the origin's: cache/content.h */
    _Atomic uint32_t refused;    /* generation of the budget that had no room, plus 1 */
    _Atomic uint64_t there;      /* all blocks before this one are present */
    _Atomic int64_t paid_blocks; /* of 512 bytes */
    _Atomic uint64_t check;      /* of the blocks that are present, on a disk (cache/proof.h) */
    /* Whose blocks they are: the root's directory without links, "//", and the path below it.
     * Empty: nobody has said. */
    char origin[STK_BLOCKS_ORIGIN_BYTES];
};

/* One process's view. */
struct stk_blocks {
    struct stk_blocks_table *table; /* NULL: none */
    const struct stk_tier *tier;    /* that has the block file */
    _Atomic uint64_t *words;
    uint64_t table_bytes;
    uint64_t size, block_bytes, count, stamp, file_ino;
    char file[STK_HOME_BYTES + 64];       /* path of the block file */
    char state[STK_TIER_PATH_BYTES + 64]; /* path of the table */
};

/* Maps the table of this version, in whichever tier it is, and makes it and the block file if there
 * is none, in blocks of so many bytes: in the first tier that has room for all of the file beside
 * what is to come of others, else in the one that has most. */
int stk_blocks_open(struct stk_blocks *blocks, const struct stk_cache *cache,
                    const struct stk_record *record, uint64_t block_bytes);
/* Says in the table of which file it is, for those who have only that. */
void stk_blocks_tell_origin(const struct stk_blocks *blocks, const struct stk_place *place);
/*
 * Maps a table that is there, by its name in HOME/big, and makes nothing. -ENOENT: it is none of
 * this tier's; -EPROTO: it is damaged.
 */
int stk_blocks_look(struct stk_blocks *blocks, const struct stk_cache *cache, const char *name);
/* What such a name says. False: it is none. */
struct stk_blocks_name {
    uint64_t key, version; /* as in the record */
    unsigned tier;
};
bool stk_blocks_parse_name(const char *name, struct stk_blocks_name *out);
/* Unmaps it. */
void stk_blocks_close(struct stk_blocks *blocks);
/* The block file is there no more: nobody asks for it again. */
void stk_blocks_lose(struct stk_blocks *blocks, const struct stk_cache *cache);
/* Unlinks the table, whose block file has gone or has another name. */
void stk_blocks_forget(struct stk_blocks *blocks, const struct stk_cache *cache);

/* What one block is. */
static inline uint64_t stk_blocks_bytes_of(const struct stk_blocks *blocks, uint64_t block)
{
    uint64_t begin = block * blocks->block_bytes, left = blocks->size - begin;
    return left < blocks->block_bytes ? left : blocks->block_bytes;
}
bool stk_blocks_is_present(const struct stk_blocks *blocks, uint64_t block);
/* Whether all are; remembers how far it has looked. */
bool stk_blocks_are_all_present(const struct stk_blocks *blocks);

/* Takes an absent block, for filling; gives the word by which it is held, or 0. */
uint64_t stk_blocks_take(const struct stk_blocks *blocks, uint64_t block);
/* These go on from the word that was given; false: somebody has overtaken us. */
bool stk_blocks_pay(const struct stk_blocks *blocks, uint64_t block, uint64_t *held);
bool stk_blocks_advance(const struct stk_blocks *blocks, uint64_t block, uint64_t *held);
bool stk_blocks_publish(const struct stk_blocks *blocks, uint64_t block, uint64_t held);
void stk_blocks_give_up(const struct stk_blocks *blocks, uint64_t block, uint64_t held);
bool stk_blocks_is_paid(uint64_t held);
/* Waits while another fills a block, as stk_claim_wait does. A filler that is dead or stuck loses
 * what it holds behind that block as well: who wants these, too, has waited long enough. */
void stk_blocks_wait(const struct stk_blocks *blocks, uint64_t block);

#endif
