/*
 * Files that processes share by mapping them. Each is written under another name and renamed into
 * place when it is complete, so no process sees half a file. No heap; safe in threads, after fork
 * and in signal handlers.
 */
#pragma once

#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Writes a new, empty file, with all the room that it needs. 0 or -errno. */
typedef int stk_shared_file_write(int fd, const void *context);

/* Makes the file at `path`, for this user alone. Returns 0; -EEXIST if a file is there already,
 * which stays; or another -errno if none was made. Only a kill leaves a draft behind. */
int stk_shared_file_make(const char *path, stk_shared_file_write *write, const void *context);

/* Opens such a file, and sets its stat. Returns the fd, which the caller closes, -EPERM if it is no
 * file of this user alone, or another -errno. */
int stk_shared_file_open(const char *path, struct stat *stat);

/* Maps a part of an open file. Returns NULL if the file ends before: to touch what lies behind its
 * end would be a SIGBUS. */
void *stk_shared_file_map(int fd, off_t offset, size_t bytes);
