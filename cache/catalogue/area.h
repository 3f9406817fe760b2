/*
 * The parts of the catalogue that grow, while other processes map them.
 *
 * An area is a row of items of one size: nodes of the index, or records. It grows by segments in
 * the catalogue's file, each allocated before a process touches it: a full tmpfs is an error code,
 * and never a SIGBUS. Where the file cannot grow any more, all further segments of that area lie
 * beyond the file, in memory that has no name in a file system.
 *
 * A process maps the areas by windows, each as large as all before it together. So a process has
 * ten maps at most, where a map for each segment would be thousands. A window may reach beyond the
 * file's end; the process touches only segments that it has seen within the file.
 *
 * All functions are safe in threads, after fork and vfork and in signal handlers. No heap, and no
 * descriptor is kept.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cache/catalogue/record.h"

#define STK_AREA_SEGMENTS       16384 /* at most, of each area */
#define STK_AREA_WINDOWS        10
#define STK_AREA_FIRST_SEGMENTS 32u /* in the first window */
#define STK_AREA_PATH_BYTES     512
#define STK_AREAS_OFFSET        (INT64_C(18) << 20) /* in the file: what is before is not ours */

/* A node of the index, see cache/catalogue/catalogue.h. */
#define STK_NODE_SLOTS    6
#define STK_NODE_CHILDREN 4
struct stk_index_node {
    _Atomic uint64_t slots[STK_NODE_SLOTS];
    _Atomic uint32_t children[STK_NODE_CHILDREN]; /* 0: none yet */
};
_Static_assert(sizeof(struct stk_index_node) == 64, "a node is a cache line");

enum stk_area_name { STK_AREA_NODES, STK_AREA_RECORDS, STK_AREAS };

/* Items in a segment. */
#define STK_SEGMENT_NODES   2048
#define STK_SEGMENT_RECORDS 4096

/* The part of an area that lies in the header. */
struct stk_area_count {
    _Atomic uint32_t segments; /* that are allocated: see stk_area_allocated */
    _Atomic uint32_t next;     /* the lowest item that was never taken */
};

/* The part of all areas that lies in the header. */
struct stk_areas {
    struct stk_area_count counts[STK_AREAS];
    /* The numbers of the memory beyond the file, plus one; 0: a window has none. */
    _Atomic uint32_t beyond[STK_AREA_WINDOWS];
};

/* One word counts an area's segments and says where they lie, so both change in one step. Low half:
 * how many are allocated. High half: how many of these lie in the file, plus one; 0: all do. */
static inline uint32_t stk_area_allocated(uint32_t segments)
{
    return segments & UINT16_MAX;
}
static inline uint32_t stk_area_in_file(uint32_t segments)
{
    return segments >> 16 != 0 ? (segments >> 16) - 1 : UINT32_MAX;
}

/* Returns the word of an area with so many segments in the file, behind which it ends. */
static inline uint32_t stk_area_end_file(uint32_t segments)
{
    return segments | (segments + 1) << 16;
}

/* One process's view of a file with areas. Zero it, and set the first three members. */
struct stk_area_file {
    char path[STK_AREA_PATH_BYTES];
    uint64_t dev, ino; /* to notice when another file took its name */
    _Atomic(void *) windows[STK_AREA_WINDOWS];
    _Atomic(void *) beyond[STK_AREA_WINDOWS]; /* windows of the memory beyond the file */
    _Atomic uint32_t checked[STK_AREAS]; /* segments that this process has seen within the file */
    _Atomic uint32_t in_file[STK_AREAS]; /* the first word seen that says which are beyond it */
};

/* A range of the file. */
struct stk_extent {
    off_t offset;
    size_t bytes;
};

/* Returns the range of a segment. */
struct stk_extent stk_area_extent(enum stk_area_name name, uint32_t segment);
/* Returns the segment that has an item. */
uint32_t stk_area_segment(enum stk_area_name name, uint32_t item);
/* Returns the address of an item, or NULL if it is in no allocated segment of `areas`. Any number
 * may be asked for. */
void *stk_area_item(struct stk_area_file *file, const struct stk_areas *areas,
                    enum stk_area_name name, uint32_t item);
/* Clears an item that no other process knows, and gives it back. If other items were taken since,
 * it is lost. */
void stk_area_give_back(struct stk_area_file *file, struct stk_areas *areas,
                        enum stk_area_name name, uint32_t item);
/* Unmaps all windows. No other thread may use them. */
void stk_area_unmap(struct stk_area_file *file);

/* Maps the memory beyond the file in which this segment lies, or would lie. Returns false if there
 * is none that this process can map. */
bool stk_area_map_beyond(struct stk_area_file *file, const struct stk_areas *areas,
                         uint32_t segment);
/* Maps all memory beyond the file. Makes what is missing of it for so many segments; `anew` also
 * replaces what this process cannot map. It takes pages only where it is touched, and lives as long
 * as a process maps it. */
void stk_area_hold_beyond(struct stk_area_file *file, struct stk_areas *areas, uint32_t segments,
                          bool anew);
/* Returns how many segments have memory beyond the file that this process has mapped. */
uint32_t stk_area_count_beyond(const struct stk_area_file *file);

/* Allocates a range of the file. Returns 0; -ESTALE if another file has its name; or another
 * -errno. */
int stk_area_allocate(const struct stk_area_file *file, struct stk_extent extent);
/* Maps a whole range, once for each process; `slot` remembers it. Returns NULL if the file ends
 * before the range does, or another file has its name. */
void *stk_area_map(const struct stk_area_file *file, _Atomic(void *) *slot,
                   struct stk_extent extent);
