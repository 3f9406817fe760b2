/*
 * The faults of slowfs, by words of the control file from SLOW_FIRST_FAULT on. All are 0 at the
 * start: nothing is wrong. The first eight concern regular files only. Safe in threads.
 *
 *   word 0  errno of open            3  errno of data reads
 *        1  errno of getattr         4  ... that reach this offset or lie behind it
 *        2  errno of lookup          5  the most bytes that a data read gives; 0: all
 *                                    6  added to every st_size (two's complement)
 *   word 7  how many of these operations are spared first, counted down
 *
 * The rest is what shared file systems really do:
 *   word 8  ns after its open from which on a file's reads are ESTALE
 *        9  1: all times are whole seconds
 *        10 1: statvfs knows nothing, and says 0
 *        11 errno of fsync; writes end well
 *        12 1: the flags of a rename are ignored
 *        13 ns for which the kernel may believe that there is no such name
 *        14 ns for which each operation hangs, or until this is 0 again
 *        15 errno of lookup and getattr, of directories too: the server is down
 *        16 errno of data reads by a descriptor with O_DIRECT
 */
#pragma once

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#define SLOW_FIRST_FAULT 64

enum slow_fault {
    SLOW_FAULT_OPEN,
    SLOW_FAULT_GETATTR,
    SLOW_FAULT_LOOKUP,
    SLOW_FAULT_READ,
    SLOW_FAULT_READ_FROM,
    SLOW_FAULT_READ_MOST,
    SLOW_FAULT_SIZE,
    SLOW_FAULT_SPARED,
    SLOW_FAULT_STALE_NS,
    SLOW_FAULT_WHOLE_SECONDS,
    SLOW_FAULT_STATVFS_ZERO,
    SLOW_FAULT_FSYNC,
    SLOW_FAULT_RENAME_FLAGS,
    SLOW_FAULT_NEGATIVE_NS,
    SLOW_FAULT_HANG_NS,
    SLOW_FAULT_DOWN,
    SLOW_FAULT_DIRECT
};

/* The errno that this operation shall fail with, or 0. */
int slow_fault(enum slow_fault which);
/* The errno of a data read of this range, or 0; may cut `size`. */
int slow_fault_read(size_t *size, off_t offset);
/* The word itself, of those that are no errors of regular files. */
uint64_t slow_fault_value(enum slow_fault which);
/* Notes that a file was opened, by the descriptor that it has here. */
void slow_fault_opened(int fd);
/* ESTALE if that was too long ago, or 0. */
int slow_fault_stale(int fd);
/* Hangs, if that is wanted. */
void slow_fault_hang(void);
/* Changes the attributes that a file shows. */
void slow_fault_attr(struct stat *attr);
