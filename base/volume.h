/*
 * Finds out which volume a file lies on. Paths, devices, inodes, sizes and times may all be equal
 * on two volumes. Images are mounted one after the other on one loop device, and every reproducible
 * build gives its files the same times. Safe in threads, after fork and in signal handlers; no
 * heap.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/statfs.h>

/* Returns a number for the volume behind an open descriptor (O_PATH will do), of which `fs` is the
 * statfs. If the volume itself has a number, it is that, and the same after a reboot. Otherwise it
 * is the number of the mount, which no other mount has in this boot or will have. */
uint64_t stk_volume_of_fd(int fd, const struct statfs *fs);

/* Returns true if that number is the volume's own, by the type of the file system (except XFS,
 * which has to be asked). */
bool stk_volume_has_number(const struct statfs *fs);

/* Returns a number for the mount itself, which no other mount of this boot has or will have. */
uint64_t stk_volume_mount_number(int fd);

/* Finds the number by which /proc/self/mountinfo knows the mount that a descriptor lies on. Returns
 * false if the kernel does not give it. The kernel gives a number again after an unmount. */
bool stk_volume_mount_id(int fd, uint64_t *id);
