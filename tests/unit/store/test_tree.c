/* store/btree.c */
#include "store/btree.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/env.h"
#include "tests/unit/unit.h"

#define LINKS        20000
#define LINK_BYTES   17 /* of its name: a hash, and what it is */
#define TXN_OFFSET   144
#define FLAGS_OFFSET 10
#define LEAF         2
#define LEAST_PAGES  300
#define MOST_ON_WAYS 8

static struct stk_hash128 hash_of(unsigned number)
{
    return stk_hash_128(&number, sizeof number, 7);
}

static void name_of(char name[LINK_BYTES], unsigned number)
{
    struct stk_hash128 hash = hash_of(number);
    memcpy(name, &hash, sizeof hash);
    name[LINK_BYTES - 1] = 'l';
}

/* By a process of its own: what is mapped stays in memory. */
static void make_links(void)
{
    const struct stk_env_options options = {.budget = 64 << 20, .readers = 8};
    ck_assert_int_eq(mkdir(unit_path("samples"), 0700), 0);
    pid_t child = fork();
    if (child == 0) {
        struct stk_env *env = stk_env_open(unit_path("samples"), &options);
        bool well = env != NULL;
        for (unsigned i = 0; well && i < LINKS; i++) {
            well = i % 500 != 0 || ((i == 0 || stk_env_end(env)) && stk_env_begin(env));
            well = well && stk_env_link(env, hash_of(i), hash_of(i + 1));
        }
        _exit(well && stk_env_end(env) ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

static uint64_t last_txn(int fd, size_t page)
{
    uint64_t first = 0, second = 0;
    ck_assert_int_eq(pread(fd, &first, sizeof first, TXN_OFFSET), sizeof first);
    ck_assert_int_eq(pread(fd, &second, sizeof second, (off_t)page + TXN_OFFSET), sizeof second);
    return first > second ? first : second;
}

static bool is_leaf(const char *page)
{
    uint16_t flags;
    memcpy(&flags, page + FLAGS_OFFSET, sizeof flags);
    return (flags & LEAF) != 0;
}

/* Returns how many pages are in memory, and whether the name is on a leaf of them. */
static size_t look(int fd, const char name[LINK_BYTES], bool *found)
{
    static unsigned char in[1 << 16];
    struct stat stat_;
    size_t page = (size_t)getpagesize(), count = 0;
    ck_assert_int_eq(fstat(fd, &stat_), 0);
    size_t pages = (size_t)stat_.st_size / page;
    ck_assert(pages >= LEAST_PAGES && pages < sizeof in);
    char *map = mmap(NULL, pages * page, PROT_READ, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(map, MAP_FAILED);
    ck_assert_int_eq(mincore(map, pages * page, in), 0);
    *found = false;
    for (size_t i = 0; i < pages; i++) {
        const char *at = map + i * page;
        bool there = (in[i] & 1) != 0;
        count += there;
        *found = *found || (there && is_leaf(at) && memmem(at, page, name, LINK_BYTES) != NULL);
    }
    munmap(map, pages * page);
    return count;
}

/* Where the tests run there may be a disk; in their own place there is none. */
static int copy_to_disk(void)
{
    char piece[4096];
    ssize_t got;
    int from = open(unit_path("samples/data.mdb"), O_RDONLY);
    int to = open(".", O_TMPFILE | O_RDWR, 0600);
    while (to >= 0 && (got = read(from, piece, sizeof piece)) > 0) {
        ck_assert_int_eq(write(to, piece, (size_t)got), got);
    }
    close(from);
    ck_assert(to < 0 || fsync(to) == 0); /* once: a busy disk takes its time */
    return to;
}

static void forget(int fd)
{
    ck_assert_int_eq(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    ck_assert_int_eq(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), 0);
}

/* For each name, its page is read, and little else. */
START_TEST(reads_the_way_to_a_name)
{
    char name[LINK_BYTES];
    bool found;
    size_t page = (size_t)getpagesize();
    make_links();
    int fd = copy_to_disk();
    UNIT_NEEDS(fd >= 0, "needs a disk");
    for (unsigned i = 0; i < LINKS; i += 97) {
        uint64_t txn = last_txn(fd, page);
        name_of(name, i);
        forget(fd);
        look(fd, name, &found);
        UNIT_NEEDS(!found, "needs a disk");
        ck_assert(stk_btree_read_heads(fd, page));
        ck_assert(stk_btree_read_way(fd, page, txn, STK_BTREE_VALUES, name, sizeof name));
        ck_assert_uint_le(look(fd, name, &found), MOST_ON_WAYS);
        ck_assert_msg(found, "%u", i);
    }
    close(fd);
}
END_TEST

/* A missing page is reported, and so is one that is gone. A file that is not LMDB's is let
 * alone. */
START_TEST(tells_what_cannot_be_read)
{
    static char zeroes[2 * 4096];
    char name[LINK_BYTES];
    size_t page = (size_t)getpagesize();
    make_links();
    name_of(name, 1);
    int fd = open(unit_path("samples/data.mdb"), O_RDWR);
    uint64_t txn = last_txn(fd, page);
    uint64_t first = 0;
    ck_assert(stk_btree_read_way(fd, page, txn, STK_BTREE_FREE, &first, sizeof first));
    ck_assert(!stk_btree_read_way(fd, page, txn - 2, STK_BTREE_VALUES, name, sizeof name));
    ck_assert_int_eq(ftruncate(fd, (off_t)(2 * page)), 0);
    ck_assert(stk_btree_read_heads(fd, page));
    ck_assert(!stk_btree_read_way(fd, page, txn, STK_BTREE_VALUES, name, sizeof name));
    ck_assert_int_eq(pwrite(fd, zeroes, sizeof zeroes, 0), sizeof zeroes);
    ck_assert(stk_btree_read_way(fd, page, txn, STK_BTREE_VALUES, name, sizeof name));
    ck_assert_int_eq(ftruncate(fd, (off_t)page), 0);
    ck_assert(!stk_btree_read_heads(fd, page));
    close(fd);
}
END_TEST

Suite *suite_tree(void)
{
    Suite *suite = suite_create("tree");
    TCase *tcase = unit_case(suite, "tree");
    tcase_add_test(tcase, reads_the_way_to_a_name);
    tcase_add_test(tcase, tells_what_cannot_be_read);
    return suite;
}
