/*
 * The inode table of slowfs: what the kernel calls a node, and how to reach it in the source. A
 * node is kept as a file handle. Where there are none, and for files about to lose their last name,
 * it is kept as an O_PATH descriptor, which pins the inode. Safe in threads; one lock inside, held
 * for table work only.
 */
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

/* How long the kernel may believe attributes and names, in seconds. Set before the loop starts. */
struct slow_timeouts {
    double attr, entry;
};
extern struct slow_timeouts slow_timeouts;

/* Opens the source directory as the root, for as long as the process lives. 0 or -errno. */
int slow_inodes_open(const char *source);

/* A new O_PATH descriptor of the node, for the caller to close; or -1 with errno. */
int slow_inode_open(fuse_ino_t node);
/* `SLOW_FD int fd = slow_inode_open(node);` closes it at the end of the block. */
#define SLOW_FD __attribute__((cleanup(slow_fd_close)))
void slow_fd_close(const int *fd);

/* Room for the name below, zero included. */
#define SLOW_PATH_BYTES 32
/* Writes a path that leads to what `fd` names, for calls that take no O_PATH descriptor. */
void slow_fd_path(int fd, char path[SLOW_PATH_BYTES]);

/* Finds `name` below `parent` and takes one reference for the kernel. 0 or -errno. */
int slow_inode_lookup(fuse_ino_t parent, const char *name, struct fuse_entry_param *entry);
/* Gives `count` references back. */
void slow_inode_forget(fuse_ino_t node, uint64_t count);

/* Before `name` is removed or replaced: a program that has the file open can still ask about it.
 * Leaves errno alone. */
void slow_inode_pin(int parent_fd, const char *name);
