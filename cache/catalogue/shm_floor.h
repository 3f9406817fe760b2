/*
 * The floor of the job's shared memory: the part of /dev/shm that entries and the catalogue leave
 * free, 60 MiB or an eighth. PyTorch needs that much, and Docker gives hardly more.
 *
 * Lock-free, no heap; safe in threads, after fork and in signal handlers.
 */
#pragma once

#include <stdint.h>

/* Sixteenths of the floor that must remain free: for entries to be admitted, for entries to be
 * admitted again after a refusal, for entries to stay, and for the catalogue's file to grow. The
 * last leaves the job more than half of the 64 MiB that Docker gives. */
enum { STK_SHM_ADMITS = 16, STK_SHM_ADMITS_AGAIN = 17, STK_SHM_STAYS = 8, STK_SHM_GROWS = 9 };

/* Returns the floor of a shared memory of so many bytes. */
int64_t stk_shm_floor(int64_t total_bytes);
/* Returns how many bytes are free beyond that part of the floor in the file system of `home`, or
 * INT64_MAX if the file system does not answer. */
int64_t stk_shm_room(const char *home, int sixteenths);
/* Returns by how many bytes files in `home` may grow: if `home` lies in the job's shared memory,
 * nine sixteenths of the floor remain free; else INT64_MAX. */
int64_t stk_shm_growth(const char *home);
