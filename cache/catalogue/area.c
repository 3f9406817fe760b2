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
    if (fd >= 0 && (stat->st_dev != file->dev || stat->st_ino != file->ino)) {
        stk_sys_close(fd);
        return -ESTALE;
    }
    return fd;
}

int stk_area_allocate(const struct stk_area_file *file, struct stk_extent extent)
{
    struct stat stat;
    int fd = reopen(file, &stat);
    if (fd < 0) {
        return fd;
    }
    int error = stk_sys_fallocate(fd, extent.offset, (off_t)extent.bytes);
    stk_sys_close(fd);
    return error;
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
    int fd = reopen(file, &stat);
    if (fd < 0) {
        return NULL;
    }
    void *mapped = stk_shared_file_map(fd, extent.offset, extent.bytes);
    stk_sys_close(fd);
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

static void raise(_Atomic uint32_t *number, uint32_t to)
{
    uint32_t now = atomic_load(number);
    while (now < to && !atomic_compare_exchange_weak(number, &now, to)) {
    }
}

/* Looks at a segment that this process did not use yet. Returns its window's map, or NULL. */
static char *look(struct stk_area_file *file, const struct stk_area_count *area,
                  enum stk_area_name name, uint32_t segment)
{
    struct stat stat;
    struct stk_extent extent = stk_area_extent(name, segment);
    if (segment >= atomic_load(&area->segments)) {
        return NULL;
    }
    int fd = reopen(file, &stat);
    if (fd < 0) {
        return NULL;
    }
    bool inside = stat.st_size >= extent.offset + (off_t)extent.bytes;
    char *window = inside ? map_window(file, window_of(segment), fd) : NULL;
    stk_sys_close(fd);
    if (window != NULL) {
        raise(&file->checked[name], segment + 1);
    }
    return window;
}

void *stk_area_item(struct stk_area_file *file, const struct stk_area_count areas[STK_AREAS],
                    enum stk_area_name name, uint32_t item)
{
    const struct kind *kind = &kinds[name];
    uint32_t segment = stk_area_segment(name, item);
    if (segment >= STK_AREA_SEGMENTS) {
        return NULL;
    }
    unsigned window = window_of(segment);
    char *map = atomic_load_explicit(&file->windows[window], memory_order_acquire);
    if (map == NULL ||
        segment >= atomic_load_explicit(&file->checked[name], memory_order_acquire)) {
        map = look(file, &areas[name], name, segment);
    }
    size_t pair = (segment - first_in_window(window)) * PAIR_BYTES;
    size_t within = item % kind->segment_items * kind->item_bytes;
    return map != NULL ? map + pair + kind->offset + within : NULL;
}

void stk_area_give_back(struct stk_area_file *file, struct stk_area_count areas[STK_AREAS],
                        enum stk_area_name name, uint32_t item)
{
    uint32_t next = item + 1;
    void *at = stk_area_item(file, areas, name, item);
    if (at != NULL) {
        memset(at, 0, kinds[name].item_bytes);
        atomic_compare_exchange_strong(&areas[name].next, &next, item);
    }
}

void stk_area_unmap(struct stk_area_file *file)
{
    for (unsigned i = 0; i < STK_AREA_WINDOWS; i++) {
        if (file->windows[i] != NULL) {
            stk_sys_munmap(file->windows[i], window_extent(i).bytes);
        }
    }
}
