/*
 * What slowfs can be told to do wrong, by words of the control file from SLOW_FIRST_FAULT on. All
 * are 0 at the start: nothing is wrong. Only regular files are concerned. Safe in threads.
 *
 *   word 0  errno of open            3  errno of data reads
 *        1  errno of getattr         4  ... that reach this offset or lie behind it
 *        2  errno of lookup          5  the most bytes that a data read gives; 0: all
 *                                    6  added to every st_size (two's complement)
 *   word 7  how many of these operations are spared first, counted down
 */
#ifndef SLOWFS_FAULTS_H
#define SLOWFS_FAULTS_H

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
    SLOW_FAULT_SPARED
};

/* The errno that this operation shall fail with, or 0. */
int slow_fault(enum slow_fault which);
/* The errno of a data read of this range, or 0; may cut `size`. */
int slow_fault_read(size_t *size, off_t offset);
/* Changes what is told of a file. */
void slow_fault_attr(struct stat *attr);

#endif
