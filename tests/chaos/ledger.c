/* The record of what really happened. See ledger.h. */
#include "ledger.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct ledger *ledger;

void ledger_open(const char *file)
{
    int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void *map = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, sizeof *ledger) == 0) {
        map = mmap(NULL, sizeof *ledger, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (map == MAP_FAILED) {
        perror(file);
        exit(2);
    }
    close(fd);
    ledger = map;
}

void ledger_count(enum count which)
{
    atomic_fetch_add_explicit(&ledger->counts[which], 1, memory_order_relaxed);
}

/* ---- stamps and versions ---- */

/* From 1 on, so that none looks like TORN or SILENT. */
uint64_t ledger_stamp(unsigned volume, unsigned unit)
{
    uint64_t number = atomic_fetch_add(&ledger->next_stamp, 1) + 1;
    return number << 16 | volume << 8 | unit;
}

bool ledger_is_of(uint64_t stamp, unsigned volume, unsigned unit)
{
    return (stamp & 0xffff) == (volume << 8 | unit);
}

bool unit_is_written_in_place(unsigned unit)
{
    return unit % 2 == 1;
}

/* An empty file shows no stamp. */
uint64_t version_of(uint64_t stamp, size_t length)
{
    return (length > 0 ? stamp : 1) << VERSION_LENGTH_BITS | length;
}

uint64_t version_stamp(uint64_t version)
{
    return version >> VERSION_LENGTH_BITS;
}

size_t version_length(uint64_t version)
{
    return version & ((1 << VERSION_LENGTH_BITS) - 1);
}

unsigned path_number(unsigned unit, enum place place, unsigned file)
{
    return (unit * PLACES + place) * FILES + file;
}

/* ---- units ---- */

void unit_lock(unsigned volume, unsigned unit)
{
    uint32_t open = 0;
    while (!atomic_compare_exchange_weak(&ledger->units[volume][unit].lock, &open, 1)) {
        open = 0;
        usleep(500);
    }
}

void unit_unlock(unsigned volume, unsigned unit)
{
    atomic_store(&ledger->units[volume][unit].lock, 0);
}

void unit_write_begins(unsigned volume, unsigned unit)
{
    atomic_fetch_add(&ledger->units[volume][unit].unstable, 1);
}

void unit_write_ends(unsigned volume, unsigned unit)
{
    atomic_fetch_add(&ledger->units[volume][unit].unstable, 1);
}

/* ---- paths ---- */

bool path_note(unsigned volume, unsigned path, uint64_t version)
{
    uint32_t number = atomic_load(&ledger->paths[volume][path].noted) + 1;
    if (number >= HISTORY - 1) { /* the last is kept for settling */
        return false;
    }
    atomic_store(&ledger->paths[volume][path].versions[number], version);
    atomic_store(&ledger->paths[volume][path].noted, number);
    return true;
}

void path_settle(unsigned volume, unsigned path, uint64_t version)
{
    uint32_t last = atomic_load(&ledger->paths[volume][path].noted);
    if (atomic_load(&ledger->paths[volume][path].versions[last]) != version) {
        atomic_store(&ledger->paths[volume][path].versions[++last], version);
        atomic_store(&ledger->paths[volume][path].noted, last);
    }
    atomic_store(&ledger->paths[volume][path].settled, last);
}

/* ---- runs ---- */

void run_knows(unsigned run, unsigned volume, unsigned path)
{
    uint32_t settled = atomic_load(&ledger->paths[volume][path].settled);
    uint32_t floor = atomic_load(&ledger->floors[run][path]);
    while (floor < settled &&
           !atomic_compare_exchange_weak(&ledger->floors[run][path], &floor, settled)) {
    }
}

void run_begins(unsigned run, unsigned volume)
{
    for (unsigned path = 0; path < PATHS; path++) {
        run_knows(run, volume, path);
    }
}

int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
