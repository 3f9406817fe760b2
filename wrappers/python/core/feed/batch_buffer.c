/*
 * Memory that a device has locked must be shared. In private memory the first process that writes
 * after a fork gets new pages. That may be the parent, whose device would go on fetching from the
 * old ones.
 */
#include "wrappers/python/core/feed/batch_buffer.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/sys.h"

#define HUGE_BYTES ((size_t)4 << 20) /* from so many on, larger pages are asked for */

static void *map(size_t bytes, bool shared)
{
    int kind = (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS;
    void *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, kind, -1, 0);
    if (address != MAP_FAILED && bytes >= HUGE_BYTES) {
        madvise(address, bytes, MADV_HUGEPAGE); /* if it cannot be, the pages are small */
    }
    return address == MAP_FAILED ? NULL : address;
}

struct batch_buffer *batch_buffer_make(size_t bytes, bool shared)
{
    struct batch_buffer *buffer = calloc(1, sizeof *buffer);
    void *address = buffer != NULL ? map(bytes, shared) : NULL;
    if (address == NULL) {
        free(buffer);
        PyErr_NoMemory();
        return NULL;
    }
    buffer->owner = stk_sys_getpid();
    region_begin(&buffer->region, address, bytes);
    return buffer;
}

void batch_buffer_free(struct batch_buffer *buffer)
{
    void *address = buffer->region.address;
    size_t bytes = buffer->region.bytes;
    region_end(&buffer->region);
    munmap(address, bytes);
    free(buffer);
}

bool batch_buffer_is_own(const struct batch_buffer *buffer)
{
    return buffer->owner == stk_sys_getpid();
}
