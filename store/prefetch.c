/* Reading ahead. See store/prefetch.h. */
#include "store/prefetch.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

#define PAGES_AT_ONCE 512

/* Cheaper than to ask for what is there. */
static bool is_in_memory(char *first, size_t pages, size_t page_bytes)
{
    unsigned char in[PAGES_AT_ONCE];
    bool all = true;
    for (size_t done = 0; done < pages && all; done += PAGES_AT_ONCE) {
        size_t count = pages - done < PAGES_AT_ONCE ? pages - done : PAGES_AT_ONCE;
        all = mincore(first + done * page_bytes, count * page_bytes, in) == 0;
        for (size_t i = 0; i < count && all; i++) {
            all = (in[i] & 1) != 0;
        }
    }
    return all;
}

bool stk_prefetch_read(const void *data, size_t bytes)
{
    size_t page_bytes = (size_t)getpagesize();
    size_t before = (uintptr_t)data % page_bytes;
    size_t pages = (before + bytes + page_bytes - 1) / page_bytes;
    char *first = (char *)(uintptr_t)data - before;
    if (is_in_memory(first, pages, page_bytes)) {
        return true;
    }
    /* MADV_POPULATE_READ alone would read page by page, since LMDB's map is one of random access.
     */
    madvise(first, pages * page_bytes, MADV_WILLNEED);
    return madvise(first, pages * page_bytes, MADV_POPULATE_READ) == 0 ||
           (errno != EFAULT && errno != EHWPOISON);
}
