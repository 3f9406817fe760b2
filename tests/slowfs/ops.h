/*
 * The operations of slowfs, one file per family; each family enters its own into libfuse's table.
 * Every operation counts itself, sleeps for the latency, does the same to the source, and replies.
 */
#pragma once

#include <stdbool.h>

#include "control.h"
#include "inodes.h"

/* lookup, forget, getattr, setattr, readlink, statfs, extended attributes */
void slow_ops_add_attributes(struct fuse_lowlevel_ops *ops);
/* Set before the first request: whether files are read past the kernel's cache. */
extern bool slow_direct_io;
/* open, create, read, write, release and what else works on an open file */
void slow_ops_add_data(struct fuse_lowlevel_ops *ops);
/* opendir, readdir */
void slow_ops_add_directories(struct fuse_lowlevel_ops *ops);
/* what makes, moves and removes names */
void slow_ops_add_names(struct fuse_lowlevel_ops *ops);

/* Replies with success or with an errno: `result` is what a system call returned. */
void slow_reply_result(fuse_req_t request, int result);
/* Gives a file just made under root's identity to the caller that made it. */
void slow_give_to_caller(fuse_req_t request, int parent_fd, const char *name);
