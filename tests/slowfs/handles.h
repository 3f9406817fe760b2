/*
 * File handles: names for the source's inodes that survive renames and need no open descriptor.
 * With them slowfs shows a million files on a limit of a thousand descriptors. They need root and
 * a source that can be exported (ext4, xfs, tmpfs: yes; overlayfs: no); there is no other promise.
 */
#pragma once

#define SLOW_HANDLE_BYTES 40 /* ext4 needs 8, tmpfs 12, xfs 24, btrfs 40 */

/* `bytes` 0: there is no handle. Unused bytes are zero, so that handles compare as memory. */
struct slow_handle {
    int type;
    unsigned bytes;
    unsigned char data[SLOW_HANDLE_BYTES];
};

/* Finds out whether handles work below `root_fd`, a directory open for reading that must stay
 * open. Once, before any other thread starts. */
void slow_handles_start(int root_fd);
/* The handle of what an O_PATH descriptor names; without one, if there is none. */
void slow_handle_take(int fd, struct slow_handle *handle);
/* A new O_PATH descriptor, or -1 with errno; ESTALE: the inode is gone. */
int slow_handle_open(const struct slow_handle *handle);
