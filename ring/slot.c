#include "ring/slot.h"

#include <errno.h>
#include <linux/mman.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/sys.h"

#define MAGIC       UINT64_C(0x31746f6c736b7473) /* changes with the layout */
#define GRAIN_BYTES 4096U
#define STEP_BYTES  65536U /* a whole number of pages, however large these are */

/* The words at the end of the file. At its beginning they would move the memory away from an
 * address where a huge page may begin. */
struct stk_slot_words {
    uint64_t magic, bytes;
    struct stk_slot_name name;
    int64_t owner;
    _Atomic uint32_t lent;
    _Atomic uint32_t marks;
};

#define TAIL_BYTES GRAIN_BYTES

_Static_assert(sizeof(struct stk_slot_words) <= TAIL_BYTES, "the words have their room");

static size_t rounded(size_t bytes, size_t step)
{
    return (bytes + step - 1) / step * step;
}

/* Returns the offset of the words. */
static size_t tail_of(size_t bytes)
{
    return rounded(bytes, STEP_BYTES);
}

static size_t file_bytes(size_t bytes)
{
    return tail_of(bytes) + TAIL_BYTES;
}

static int map(struct stk_slot *slot, int fd, size_t bytes)
{
    slot->memory = stk_sys_mmap(file_bytes(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (slot->memory == NULL) {
        return -ENOMEM;
    }
    slot->bytes = bytes;
    slot->words = (struct stk_slot_words *)(void *)(slot->memory + tail_of(bytes));
    /* If the system has no huge pages, or gives none without being asked, pages are small. */
    stk_sys_madvise(slot->memory, tail_of(bytes), MADV_HUGEPAGE);
    return 0;
}

/* Allocates all pages at once: without memory for one, its first touch would be a SIGBUS. Before
 * Linux 5.14 they are allocated without being mapped. */
static int fill(const struct stk_slot *slot, int fd)
{
    int error = stk_sys_madvise(slot->memory, slot->bytes, MADV_POPULATE_WRITE);
    return error == -EINVAL ? stk_sys_fallocate(fd, 0, (off_t)slot->bytes) : error;
}

static int set_up(struct stk_slot *slot, int fd, size_t bytes, struct stk_slot_name name)
{
    /* This makes the file its full length, if the limit on the size of files allows it. */
    int error = stk_sys_fallocate(fd, (off_t)tail_of(bytes), TAIL_BYTES);
    if (error != 0 || (error = map(slot, fd, bytes)) != 0) {
        return error;
    }
    if ((error = fill(slot, fd)) != 0) {
        stk_slot_unmap(slot);
        return error;
    }
    slot->words->magic = MAGIC;
    slot->words->bytes = bytes;
    slot->words->name = name;
    slot->words->owner = stk_sys_getpid();
    return 0;
}

int stk_slot_make(struct stk_slot *out, size_t bytes, struct stk_slot_name name)
{
    *out = (struct stk_slot){0};
    if (bytes == 0 || bytes > SIZE_MAX / 4) {
        return -EINVAL;
    }
    int fd = stk_sys_memfd("stoker-slot");
    int error = fd < 0 ? fd : set_up(out, fd, rounded(bytes, GRAIN_BYTES), name);
    if (error == 0) {
        return fd;
    }
    stk_sys_close_opened(fd);
    return error;
}

/* Returns true if a file of this length ends with the words of a slot of so many bytes. */
static bool is_slot(const struct stk_slot *slot, uint64_t length)
{
    return slot->words->magic == MAGIC && slot->words->bytes <= slot->bytes &&
           file_bytes(slot->words->bytes) == length;
}

int stk_slot_map(struct stk_slot *out, int fd)
{
    struct stat stat;
    *out = (struct stk_slot){0};
    int error = stk_sys_fstat(fd, &stat);
    if (error != 0) {
        return error;
    }
    size_t length = (size_t)stat.st_size;
    if (!S_ISREG(stat.st_mode) || length <= TAIL_BYTES || (length - TAIL_BYTES) % STEP_BYTES != 0) {
        return -EINVAL;
    }
    if ((error = map(out, fd, length - TAIL_BYTES)) != 0) {
        return error;
    }
    if (!is_slot(out, length)) {
        stk_slot_unmap(out);
        return -EINVAL;
    }
    out->bytes = out->words->bytes;
    /* From Linux 5.14 on all pages are mapped at once; before, each one at its first touch. */
    stk_sys_madvise(out->memory, out->bytes, MADV_POPULATE_READ);
    return 0;
}

void stk_slot_unmap(struct stk_slot *slot)
{
    stk_sys_munmap(slot->memory, file_bytes(slot->bytes));
    *slot = (struct stk_slot){0};
}

void *stk_slot_map_own(const struct stk_slot *slot, int fd)
{
    return stk_sys_mmap(tail_of(slot->bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
}

void stk_slot_unmap_own(const struct stk_slot *slot, void *own)
{
    stk_sys_munmap(own, tail_of(slot->bytes));
}

/* The system drops no pages that the program has locked. */
bool stk_slot_renew_own(const struct stk_slot *slot, void *own)
{
    return stk_sys_madvise(own, tail_of(slot->bytes), MADV_DONTNEED) == 0;
}

bool stk_slot_covers(const struct stk_slot *slot, const void *address)
{
    uintptr_t wanted = (uintptr_t)address, begin = (uintptr_t)slot->memory;
    return slot->memory != NULL && wanted >= begin && wanted - begin < slot->bytes;
}

/* ---- what the words say ---- */

struct stk_slot_name stk_slot_name(const struct stk_slot *slot)
{
    return slot->words->name;
}

pid_t stk_slot_owner(const struct stk_slot *slot)
{
    return (pid_t)slot->words->owner;
}

void stk_slot_lend(const struct stk_slot *slot)
{
    atomic_fetch_add_explicit(&slot->words->lent, 1, memory_order_relaxed);
}

/* Pairs with the worker's look below: a worker that sees the slot given back writes after all of
 * the receiver's reads. */
uint32_t stk_slot_give_back(const struct stk_slot *slot)
{
    return atomic_fetch_sub_explicit(&slot->words->lent, 1, memory_order_acq_rel) - 1;
}

uint32_t stk_slot_times_lent(const struct stk_slot *slot)
{
    return atomic_load_explicit(&slot->words->lent, memory_order_acquire);
}

void stk_slot_mark(const struct stk_slot *slot, enum stk_slot_mark mark)
{
    atomic_fetch_or_explicit(&slot->words->marks, (uint32_t)mark, memory_order_release);
}

bool stk_slot_has(const struct stk_slot *slot, enum stk_slot_mark mark)
{
    return (atomic_load_explicit(&slot->words->marks, memory_order_acquire) & (uint32_t)mark) != 0;
}

void stk_slot_empty(const struct stk_slot *slot)
{
    stk_sys_madvise(slot->memory, tail_of(slot->bytes), MADV_REMOVE);
}

void *stk_slot_copy(const struct stk_slot *slot)
{
    size_t bytes = tail_of(slot->bytes);
    void *copy = stk_sys_memory(bytes);
    if (copy != NULL) {
        memcpy(copy, slot->memory, slot->bytes);
    }
    return copy;
}

void stk_slot_drop_copy(const struct stk_slot *slot, void *copy)
{
    if (copy != NULL) {
        stk_sys_munmap(copy, tail_of(slot->bytes));
    }
}

/* The words stay the parent's. */
void stk_slot_put_copy(const struct stk_slot *slot, void *copy)
{
    if (copy != NULL && !stk_sys_move_map(copy, tail_of(slot->bytes), slot->memory)) {
        stk_slot_drop_copy(slot, copy);
    }
}
