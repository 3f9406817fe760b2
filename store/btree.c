#include "store/btree.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC     UINT32_C(0xBEEFC0DE)
#define VERSION   1
#define NO_PAGE   UINT64_MAX
#define BRANCH    0x01
#define MOST_DEEP 32

/* The head of each page. */
struct page {
    uint64_t number;
    uint16_t pad, flags;
    uint16_t lower, upper; /* where its list of nodes ends, and where the last one begins */
};

struct tree {
    uint32_t pad;
    uint16_t flags, depth;
    uint64_t branches, leaves, overflows, entries, root;
};

/* Pages 0 and 1: of the last transaction, and of the one before. */
struct head {
    struct page page;
    uint32_t magic, version;
    uint64_t address, map_bytes;
    struct tree trees[2];
    uint64_t last_page, txn;
};

/* A node of a branch: the number of the page below it, in parts of 16 bits, and a key. */
struct node {
    uint16_t low, middle, high, key_bytes;
};

static bool read_at(int fd, void *to, size_t bytes, uint64_t at)
{
    return pread(fd, to, bytes, (off_t)at) == (ssize_t)bytes;
}

bool stk_btree_read_heads(int fd, size_t page_bytes)
{
    char byte;
    return read_at(fd, &byte, 1, 0) && read_at(fd, &byte, 1, page_bytes);
}

static int compare(const void *one, size_t one_bytes, const void *other, size_t other_bytes)
{
    int difference = memcmp(one, other, one_bytes < other_bytes ? one_bytes : other_bytes);
    return difference != 0 ? difference : (one_bytes > other_bytes) - (one_bytes < other_bytes);
}

/* The i-th node of a page; false: the page is damaged. */
static bool take_node(const char *bytes, size_t page_bytes, size_t i, struct node *node,
                      const char **key)
{
    uint16_t at;
    memcpy(&at, bytes + sizeof(struct page) + i * sizeof at, sizeof at);
    if (at + sizeof *node > page_bytes) {
        return false;
    }
    memcpy(node, bytes + at, sizeof *node);
    *key = bytes + at + sizeof *node;
    return at + sizeof *node + node->key_bytes <= page_bytes;
}

/* The page below a branch where the key is: the last one that begins with it, or with less. The
 * first one begins with nothing. */
static uint64_t next_of(const char *bytes, size_t page_bytes, const void *wanted,
                        size_t wanted_bytes)
{
    struct page page;
    struct node node;
    const char *key;
    memcpy(&page, bytes, sizeof page);
    size_t first = 0, end = (page.lower - sizeof page) / sizeof(uint16_t);
    while (end - first > 1) {
        size_t middle = first + (end - first) / 2;
        if (!take_node(bytes, page_bytes, middle, &node, &key)) {
            return NO_PAGE;
        }
        bool behind = compare(key, node.key_bytes, wanted, wanted_bytes) <= 0;
        first = behind ? middle : first;
        end = behind ? end : middle;
    }
    return take_node(bytes, page_bytes, first, &node, &key)
               ? node.low | (uint64_t)node.middle << 16 | (uint64_t)node.high << 32
               : NO_PAGE;
}

static bool is_branch(const char *bytes, size_t page_bytes)
{
    struct page page;
    memcpy(&page, bytes, sizeof page);
    return (page.flags & BRANCH) != 0 && page.lower > sizeof page && page.lower <= page_bytes;
}

/* Reads the pages from `page` down to the key. Damage that is not a read error is left to LMDB. */
static bool read_down(int fd, char *bytes, size_t page_bytes, uint64_t page, const void *key,
                      size_t key_bytes)
{
    bool read = true, more = page != NO_PAGE;
    for (unsigned depth = 0; more && depth < MOST_DEEP; depth++) {
        read = read_at(fd, bytes, page_bytes, page * page_bytes);
        more = read && is_branch(bytes, page_bytes);
        page = more ? next_of(bytes, page_bytes, key, key_bytes) : NO_PAGE;
        more = page != NO_PAGE;
    }
    return read;
}

bool stk_btree_read_way(int fd, size_t page_bytes, uint64_t txn, enum stk_btree tree,
                        const void *key, size_t key_bytes)
{
    struct head head;
    if (!read_at(fd, &head, sizeof head, txn % 2 * page_bytes)) {
        return false;
    }
    if (head.magic != MAGIC || head.version != VERSION) {
        return true;
    }
    char *bytes = head.txn == txn ? malloc(page_bytes) : NULL;
    bool read =
        bytes != NULL && read_down(fd, bytes, page_bytes, head.trees[tree].root, key, key_bytes);
    free(bytes);
    return read;
}
