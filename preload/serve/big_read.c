/* Reads big files from their blocks, and moves the descriptor's offset as the kernel would. */
#include "preload/serve/big_read.h"

#include "base/least.h"
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "base/sys.h"
#include "preload/coverage/entryfd.h"
#include "preload/coverage/process.h"
#include "preload/interpose/guard.h"
#include "preload/serve/opened.h"

#define MOST_BYTES 0x7ffff000u /* the most that the kernel reads at once */

#define NUMBERS 1024
#define SPARED  15 /* reads */

/* How many further reads of a number are not looked at, since it was no big file's: a look costs
 * more than such a read. If the number has become a big file's meanwhile, these reads go to the
 * origin. */
static _Atomic uint8_t spared[NUMBERS];

struct big_call {
    struct stk_cache *cache;
    struct stk_big *big;
    int fd;
    const struct iovec *parts;
    int count;
    uint64_t bytes; /* of the parts; 0: not known yet */
};

/* Copies the blocks that the call needs. At the end of the version the origin is asked instead: the
 * file may have grown. */
static bool ensure(const struct big_call *call, uint64_t offset, uint64_t *bytes)
{
    uint64_t size = stk_big_size(call->big);
    if (offset >= size) {
        return false;
    }
    *bytes = stk_least(call->bytes, size - offset);
    return stk_big_ensure(call->cache, call->big, call->fd, offset, *bytes);
}

static ssize_t deliver(const struct big_call *call, uint64_t offset)
{
    return stk_big_deliver(call->cache, call->big, call->parts, call->count, offset);
}

/* Reads at an offset. Returns true if all bytes came; fewer are for the origin to explain. */
static bool read_at(const struct big_call *call, off_t offset, ssize_t *got)
{
    uint64_t bytes;
    if (offset < 0 || !ensure(call, (uint64_t)offset, &bytes)) {
        return false;
    }
    *got = deliver(call, (uint64_t)offset);
    return *got == (ssize_t)bytes;
}

/* Reads the range that was taken, from the origin if the blocks do not give it. Returns bytes or
 * -errno. */
static ssize_t read_taken(const struct big_call *call, uint64_t start, uint64_t taken, bool ensured)
{
    uint64_t bytes;
    if (ensured || (ensure(call, start, &bytes) && bytes == taken)) {
        ssize_t got = deliver(call, start);
        if (got == (ssize_t)taken) {
            return got;
        }
    }
    return stk_sys_preadv(call->fd, call->parts, call->count, (off_t)start);
}

/* Reads at the descriptor's offset, which may belong to several threads and processes. Adding to it
 * takes a range for this call alone, as each of the kernel's own reads gets one. Only the part that
 * was not read is given back. */
static bool read_here(const struct big_call *call, ssize_t *got)
{
    uint64_t bytes;
    off_t before = stk_sys_lseek(call->fd, 0, SEEK_CUR);
    if (before < 0 || !ensure(call, (uint64_t)before, &bytes)) {
        return false;
    }
    off_t end = stk_sys_lseek(call->fd, (off_t)bytes, SEEK_CUR);
    if (end < 0) {
        return false;
    }
    off_t start = end - (off_t)bytes;
    *got = read_taken(call, (uint64_t)start, bytes, start == before);
    off_t rest = (*got > 0 ? (off_t)*got : 0) - (off_t)bytes;
    if (rest != 0) {
        stk_sys_lseek(call->fd, rest, SEEK_CUR);
    }
    return true;
}

/* Finds how many bytes the kernel would read at once. The list of buffers may be unmapped, or a
 * buffer's end be no address: such calls are left to the kernel, which reports the error. */
static bool measure(struct big_call *call)
{
    if (call->bytes != 0 && call->bytes <= MOST_BYTES) {
        return true;
    }
    if (stk_sys_look_at_parts(call->parts, call->count) != 0) {
        return false;
    }
    call->bytes = 0;
    for (int i = 0; i < call->count; i++) {
        call->bytes += stk_least(call->parts[i].iov_len, MOST_BYTES - call->bytes);
    }
    return call->bytes != 0;
}

/* ---- numbers that are no big file's ---- */

static void spare(int fd, uint8_t reads)
{
    if (fd >= 0 && fd < NUMBERS) {
        atomic_store_explicit(&spared[fd], reads, memory_order_relaxed);
    }
}

static bool is_spared(int fd)
{
    uint8_t left =
        fd >= 0 && fd < NUMBERS ? atomic_load_explicit(&spared[fd], memory_order_relaxed) : 0;
    if (left > 0) {
        spare(fd, left - 1);
    }
    return left > 0;
}

void stk_big_expect(int fd)
{
    spare(fd, 0);
}

/* ---- reading ---- */

static bool serve(struct big_call *call, off_t offset, ssize_t *got)
{
    call->big = stk_big_hold(call->cache, call->fd);
    if (call->big == NULL) {
        spare(call->fd, SPARED);
        return false;
    }
    bool served = false;
    if (measure(call)) {
        stk_opened_note_range(call->big, call->fd, offset, call->bytes);
        served = offset == STK_BIG_HERE ? read_here(call, got) : read_at(call, offset, got);
    }
    stk_big_let_go(call->big);
    return served;
}

static bool read_call(struct big_call *call, off_t offset, ssize_t *got)
{
    struct stk_guard guard;
    if (is_spared(call->fd) || !stk_guard_enter(&guard)) {
        return false;
    }
    call->cache = stk_process_cache_if_ready();
    bool served = call->cache != NULL && serve(call, offset, got);
    stk_guard_leave(&guard);
    if (served && *got < 0) {
        errno = (int)-*got;
        *got = -1;
    }
    return served;
}

__attribute__((noinline)) bool stk_big_read(int fd, void *buffer, size_t bytes, off_t offset,
                                            ssize_t *got)
{
    const struct iovec parts[2] = {{buffer, bytes}, {NULL, 0}};
    struct big_call call = {.fd = fd, .parts = parts, .count = 1, .bytes = bytes};
    if (bytes > MOST_BYTES) {
        call.count = 2; /* the kernel cuts a single buffer before it looks at the buffer's end */
    }
    return bytes != 0 && read_call(&call, offset, got);
}

__attribute__((noinline)) bool stk_big_readv(int fd, const struct iovec *parts, int count,
                                             off_t offset, ssize_t *got)
{
    struct big_call call = {.fd = fd, .parts = parts, .count = count};
    return count > 0 && count <= IOV_MAX && read_call(&call, offset, got);
}

/* ---- what is no read ---- */

/* A piece of work with a big file, inside the guard. */
typedef void big_work(struct stk_cache *cache, struct stk_big *big, int fd, void *context);

/* Does a piece of work with a descriptor's big file. Returns false if it is no big file's, and
 * nothing was done. */
static bool with_big(int fd, big_work *work, void *context)
{
    struct stk_guard guard;
    if (!stk_guard_enter(&guard)) {
        return false;
    }
    struct stk_cache *cache = stk_process_cache_if_ready();
    struct stk_big *big = cache != NULL ? stk_big_hold(cache, fd) : NULL;
    if (big != NULL) {
        work(cache, big, fd, context);
        stk_big_let_go(big);
    }
    stk_guard_leave(&guard);
    return big != NULL;
}

static int open_finished(struct stk_cache *cache, struct stk_big *big, int fd)
{
    if (!stk_big_finish(cache, big, fd)) {
        return -1;
    }
    stk_entryfd_note(cache, big->record);
    int entry = stk_big_open_entry(big);
    return entry >= 0 ? entry : -1;
}

/* A map to be made, and the entry's descriptor to make it of. */
struct big_map {
    uint64_t bytes;
    int entry;
};

static void open_for_map(struct stk_cache *cache, struct stk_big *big, int fd, void *context)
{
    struct big_map *map = context;
    uint64_t size = big->blocks.size;
    map->entry = open_finished(cache, big, fd);
    if (map->entry < 0) {
        stk_big_mark(cache, big, STK_BIG_QUEUE_MAPPED);
    }
    stk_run_count(&cache->run,
                  STK_RUN_COUNTER(blocks) +
                      (map->entry >= 0 ? STK_BLOCK_MAPPED_CACHE : STK_BLOCK_MAPPED_ORIGIN),
                  map->bytes < size ? map->bytes : size);
}

__attribute__((noinline)) int stk_big_open_for_map(int fd, size_t bytes)
{
    struct big_map map = {.bytes = bytes, .entry = -1};
    with_big(fd, open_for_map, &map);
    return map.entry;
}

static void prepare_stream(struct stk_cache *cache, struct stk_big *big, int fd, void *context)
{
    (void)context;
    atomic_store(&big->streamed, true);
    stk_big_finish(cache, big, fd);
}

__attribute__((noinline)) void stk_big_prepare_stream(int fd)
{
    with_big(fd, prepare_stream, NULL);
}

/* ---- fetching ahead ---- */

/* Returns the first block from this one on that is present, or `end`. */
static uint64_t absent_until(const struct stk_big_blocks *blocks, uint64_t block, uint64_t end)
{
    while (block < end && !stk_big_blocks_is_present(blocks, block)) {
        block++;
    }
    return block;
}

static void fetch_absent(const struct stk_big_blocks *blocks, uint64_t begin, uint64_t end,
                         stk_big_fetch *fetch, void *call)
{
    uint64_t last = (end + blocks->block_bytes - 1) / blocks->block_bytes;
    for (uint64_t block = begin / blocks->block_bytes; block < last; block++) {
        uint64_t until = absent_until(blocks, block, last);
        if (until > block) {
            uint64_t from = block * blocks->block_bytes, to = until * blocks->block_bytes;
            from = from > begin ? from : begin;
            fetch(call, (off_t)from, (off_t)(stk_least(to, end) - from));
            block = until;
        }
    }
}

struct ahead_range {
    uint64_t offset, bytes; /* 0: up to the end */
    stk_big_fetch *fetch;
    void *call;
};

static void fetch_ahead(struct stk_cache *cache, struct stk_big *big, int fd, void *context)
{
    (void)cache;
    (void)fd;
    const struct ahead_range *ahead = context;
    uint64_t size = stk_big_size(big);
    if (ahead->offset < size) {
        uint64_t left = size - ahead->offset;
        uint64_t bytes = ahead->bytes != 0 ? stk_least(ahead->bytes, left) : left;
        fetch_absent(&big->blocks, ahead->offset, ahead->offset + bytes, ahead->fetch, ahead->call);
    }
}

__attribute__((noinline)) bool stk_big_ahead(int fd, off_t offset, off_t bytes,
                                             stk_big_fetch *fetch, void *call)
{
    struct ahead_range ahead = {(uint64_t)offset, (uint64_t)bytes, fetch, call};
    return offset >= 0 && bytes >= 0 && with_big(fd, fetch_ahead, &ahead);
}
