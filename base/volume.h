/*
 * Which volume a file lies on. Paths, devices, inodes, sizes and times may all be equal on two
 * volumes: images are mounted one after the other on one loop device, and every reproducible build
 * gives its files the same times. Safe in threads, after fork and in signal handlers; no heap.
 */
#ifndef STK_BASE_VOLUME_H
#define STK_BASE_VOLUME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/statfs.h>

/*
 * A number for the volume behind an open descriptor (O_PATH will do), of which `fs` is the statfs.
 * Where the volume itself has one, that: it is the same after a reboot. Of the others the number
 * is that of the mount, which nothing else has in this boot or will have.
 */
uint64_t stk_volume_of_fd(int fd, const struct statfs *fs);

/* Whether that number is the volume's own, by what kind of file system it is (but XFS, which has to
 * be asked). */
bool stk_volume_has_number(const struct statfs *fs);

/* The number by which /proc/self/mountinfo knows the mount that a descriptor lies on; false: it
 * cannot be told. Given again after an unmount. */
bool stk_volume_mount_id(int fd, uint64_t *id);

#endif
