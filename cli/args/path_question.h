/* Asks a file system about a path. The file system may be a server's, and never answer. */
#pragma once

#include <limits.h>
#include <sys/stat.h>
#include <sys/vfs.h>

struct path_answer {
    int error;                /* 0, or -errno: the rest is not known */
    char canonical[PATH_MAX]; /* where the path leads */
    struct stat stat;
    struct statfs fs; /* f_type 0: not known */
};

/* Asks by a detached process. All questions of this process share twenty seconds of patience; when
 * those are used up, each further question waits only briefly. -ETIMEDOUT: no answer came. For one
 * thread at a time. */
void path_ask(const char *path, struct path_answer *out);
