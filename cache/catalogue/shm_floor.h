/*
 * The floor of the job's shared memory: the part of /dev/shm that entries and the catalogue leave
 * free, 60 MiB or an eighth. PyTorch needs that much, and Docker gives hardly more.
 *
 * Lock-free, no heap; safe in threads, after fork and in signal handlers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Sixteenths of the floor that must remain free: for entries to be admitted, for entries to be
 * admitted again after a refusal, and for entries to stay and the catalogue to grow. */
enum { STK_SHM_ADMITS = 16, STK_SHM_ADMITS_AGAIN = 17, STK_SHM_STAYS = 8 };

/* Returns the floor of a shared memory of so many bytes. */
int64_t stk_shm_floor(int64_t total_bytes);
/* Returns how many bytes are free beyond that part of the floor in the file system of `home`, or
 * INT64_MAX if the file system does not answer. */
int64_t stk_shm_room(const char *home, int sixteenths);
/* Returns true if a file in `home` may grow by so many bytes: `home` lies elsewhere than the job's
 * shared memory, or half of the floor remains free. */
bool stk_shm_lets_grow(const char *home, int64_t bytes);
