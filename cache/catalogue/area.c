#include "cache/catalogue/area.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "cache/catalogue/shared_file.h"

/*
 * A segment of nodes and a segment of records take turns: a node has room for six files, so 32
 * bytes of nodes for each record are more than an index takes. A segment that is not allocated is a
 * hole.
 */
#define NODES_SEGMENT_BYTES (STK_SEGMENT_NODES * sizeof(struct stk_index_node))
#define PAIR_BYTES          (NODES_SEGMENT_BYTES + STK_SEGMENT_RECORDS * sizeof(struct stk_record))

static const struct kind {
    size_t offset; /* in the pair */
    size_t item_bytes, segment_items;
} kinds[STK_AREAS] = {
    [STK_AREA_NODES] = {0, sizeof(struct stk_index_node), STK_SEGMENT_NODES},
    [STK_AREA_RECORDS] = {NODES_SEGMENT_BYTES, sizeof(struct stk_record), STK_SEGMENT_RECORDS},
};

struct stk_extent stk_area_extent(enum stk_area_name name, uint32_t segment)
{
    const struct kind *kind = &kinds[name];
    return (struct stk_extent){STK_AREAS_OFFSET + (off_t)(segment * PAIR_BYTES + kind->offset),
                               kind->item_bytes * kind->segment_items};
}

uint32_t stk_area_segment(enum stk_area_name name, uint32_t item)
{
    return item / (uint32_t)kinds[name].segment_items;
}

/* ---- the file ---- */

/* Opens the file if it still is the one that we know; the fd, or -errno. */
static int reopen(const struct stk_area_file *file, struct stat *stat)
{
    int fd = stk_shared_file_open(file->path, stat);
    bool same = fd >= 0 && stat->st_dev == file->dev && stat->st_ino == file->ino;
    return stk_sys_opened(fd, same ? 0 : -ESTALE);
}

int stk_area_allocate(const struct stk_area_file *file, struct stk_extent extent)
{
    struct stat stat;
    STK_OWNED_FD int fd = reopen(file, &stat);
    return fd < 0 ? fd : stk_sys_fallocate(fd, extent.offset, (off_t)extent.bytes);
}

/* Stores a new map in `slot`, or gives it up for the one that another thread has stored. */
static void *keep_map(_Atomic(void *) *slot, void *mapped, size_t bytes)
{
    void *known = NULL;
    if (mapped != NULL && !atomic_compare_exchange_strong(slot, &known, mapped)) {
        stk_sys_munmap(mapped, bytes);
        return known;
    }
    return mapped;
}

void *stk_area_map(const struct stk_area_file *file, _Atomic(void *) *slot,
                   struct stk_extent extent)
{
    struct stat stat;
    void *known = atomic_load_explicit(slot, memory_order_acquire);
    if (known != NULL) {
        return known;
    }
    STK_OWNED_FD int fd = reopen(file, &stat);
    if (fd < 0) {
        return NULL;
    }
    void *mapped = stk_shared_file_map(fd, extent.offset, extent.bytes);
    return keep_map(slot, mapped, extent.bytes);
}

/* ---- windows ---- */

static unsigned window_of(uint32_t segment)
{
    uint32_t times = segment / STK_AREA_FIRST_SEGMENTS;
    return times == 0 ? 0 : 32 - (unsigned)__builtin_clz(times);
}

static uint32_t first_in_window(unsigned window)
{
    return window == 0 ? 0 : STK_AREA_FIRST_SEGMENTS << (window - 1);
}

static struct stk_extent window_extent(unsigned window)
{
    uint32_t first = first_in_window(window);
    uint32_t pairs = window == 0 ? STK_AREA_FIRST_SEGMENTS : first;
    return (struct stk_extent){STK_AREAS_OFFSET + (off_t)(first * PAIR_BYTES), pairs * PAIR_BYTES};
}

static void *map_window(struct stk_area_file *file, unsigned window, int fd)
{
    struct stk_extent extent = window_extent(window);
    _Atomic(void *) *slot = &file->windows[window];
    void *known = atomic_load_explicit(slot, memory_order_acquire);
    if (known != NULL) {
        return known;
    }
    const int protection = PROT_READ | PROT_WRITE;
    void *mapped = stk_sys_mmap(extent.bytes, protection, MAP_SHARED, fd, extent.offset);
    return keep_map(slot, mapped, extent.bytes);
}

/* Maps the window of a segment that lies in the file, if the file reaches so far. */
static char *map_in_file(struct stk_area_file *file, enum stk_area_name name, uint32_t segment)
{
    struct stat stat;
    struct stk_extent extent = stk_area_extent(name, segment);
    STK_OWNED_FD int fd = reopen(file, &stat);
    if (fd < 0) {
        return NULL;
    }
    bool inside = stat.st_size >= extent.offset + (off_t)extent.bytes;
    return inside ? map_window(file, window_of(segment), fd) : NULL;
}

/* ---- beyond the file ---- */

/* Stands behind a window of memory: it is that of this catalogue's window, and no other. */
struct window_seal {
    uint64_t dev, ino, window;
};

static size_t beyond_bytes(unsigned window)
{
    return window_extent(window).bytes + sizeof(struct window_seal);
}

static struct window_seal *seal_of(void *mapped, unsigned window)
{
    return (struct window_seal *)(void *)((char *)mapped + window_extent(window).bytes);
}

static char *map_beyond(struct stk_area_file *file, const struct stk_areas *areas, unsigned window)
{
    _Atomic(void *) *slot = &file->beyond[window];
    void *known = atomic_load_explicit(slot, memory_order_acquire);
    uint32_t number = atomic_load(&areas->beyond[window]);
    if (known != NULL || number == 0) {
        return known;
    }
    void *mapped = stk_sys_shm_map((int)(number - 1), beyond_bytes(window));
    const struct window_seal wanted = {file->dev, file->ino, window};
    if (mapped != NULL && memcmp(seal_of(mapped, window), &wanted, sizeof wanted) != 0) {
        stk_sys_munmap(mapped, beyond_bytes(window));
        return NULL;
    }
    return keep_map(slot, mapped, beyond_bytes(window));
}

/* Makes the memory of one window in the place of `before`, unless another process is faster. */
static void make_beyond(struct stk_area_file *file, struct stk_areas *areas, unsigned window,
                        uint32_t before)
{
    void *mapped = NULL;
    int number = stk_sys_shm_make(beyond_bytes(window), &mapped);
    if (number < 0) {
        return;
    }
    *seal_of(mapped, window) = (struct window_seal){file->dev, file->ino, window};
    if (atomic_compare_exchange_strong(&areas->beyond[window], &before, (uint32_t)number + 1)) {
        keep_map(&file->beyond[window], mapped, beyond_bytes(window));
    } else {
        stk_sys_munmap(mapped, beyond_bytes(window));
        map_beyond(file, areas, window);
    }
}

bool stk_area_map_beyond(struct stk_area_file *file, const struct stk_areas *areas,
                         uint32_t segment)
{
    return map_beyond(file, areas, window_of(segment)) != NULL;
}

void stk_area_hold_beyond(struct stk_area_file *file, struct stk_areas *areas, uint32_t segments,
                          bool anew)
{
    for (unsigned i = 0; i < STK_AREA_WINDOWS; i++) {
        uint32_t before = atomic_load(&areas->beyond[i]);
        bool wanted = first_in_window(i) < segments && (before == 0 || anew);
        if (map_beyond(file, areas, i) == NULL && wanted) {
            make_beyond(file, areas, i, before);
        }
    }
}

uint32_t stk_area_count_beyond(const struct stk_area_file *file)
{
    unsigned window = 0;
    while (window < STK_AREA_WINDOWS && file->beyond[window] != NULL) {
        window++;
    }
    return first_in_window(window);
}

/* ---- items ---- */

static void raise(_Atomic uint32_t *number, uint32_t to)
{
    uint32_t now = atomic_load(number);
    while (now < to && !atomic_compare_exchange_weak(number, &now, to)) {
    }
}

/* Looks at a segment that this process did not use yet. Returns its window's map, or NULL. */
static char *look(struct stk_area_file *file, const struct stk_areas *areas,
                  enum stk_area_name name, uint32_t segment)
{
    uint32_t segments = atomic_load(&areas->counts[name].segments);
    if (segment >= stk_area_allocated(segments)) {
        return NULL;
    }
    if (segment >= stk_area_in_file(segments)) {
        uint32_t unknown = 0;
        atomic_compare_exchange_strong(&file->in_file[name], &unknown, segments);
        return map_beyond(file, areas, window_of(segment));
    }
    char *window = map_in_file(file, name, segment);
    if (window != NULL) {
        raise(&file->checked[name], segment + 1);
    }
    return window;
}

/* Returns the map of a segment's window, if this process has seen the segment there, or NULL. */
static char *seen_window(struct stk_area_file *file, enum stk_area_name name, uint32_t segment)
{
    uint32_t segments = atomic_load_explicit(&file->in_file[name], memory_order_relaxed);
    bool beyond = segment >= stk_area_in_file(segments);
    _Atomic(void *) *windows = beyond ? file->beyond : file->windows;
    bool seen =
        beyond || segment < atomic_load_explicit(&file->checked[name], memory_order_acquire);
    return seen ? atomic_load_explicit(&windows[window_of(segment)], memory_order_acquire) : NULL;
}

void *stk_area_item(struct stk_area_file *file, const struct stk_areas *areas,
                    enum stk_area_name name, uint32_t item)
{
    const struct kind *kind = &kinds[name];
    uint32_t segment = stk_area_segment(name, item);
    if (segment >= STK_AREA_SEGMENTS) {
        return NULL;
    }
    char *map = seen_window(file, name, segment);
    if (map == NULL) {
        map = look(file, areas, name, segment);
    }
    size_t pair = (segment - first_in_window(window_of(segment))) * PAIR_BYTES;
    size_t within = item % kind->segment_items * kind->item_bytes;
    return map != NULL ? map + pair + kind->offset + within : NULL;
}

void stk_area_give_back(struct stk_area_file *file, struct stk_areas *areas,
                        enum stk_area_name name, uint32_t item)
{
    uint32_t next = item + 1;
    void *at = stk_area_item(file, areas, name, item);
    if (at != NULL) {
        memset(at, 0, kinds[name].item_bytes);
        atomic_compare_exchange_strong(&areas->counts[name].next, &next, item);
    }
}

void stk_area_unmap(struct stk_area_file *file)
{
    for (unsigned i = 0; i < STK_AREA_WINDOWS; i++) {
        stk_sys_munmap(file->windows[i], window_extent(i).bytes);
        stk_sys_munmap(file->beyond[i], beyond_bytes(i));
    }
}
