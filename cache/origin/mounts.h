/*
 * The mount table of this process's view, read from /proc/self/mountinfo.
 * Maps a buffer while it reads; no heap. Safe in threads and after fork.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* One mount; the strings are valid during the visit only, with the kernel's escapes undone. */
struct stk_mount {
    uint64_t id;         /* stk_volume_mount_id() of what lies on it */
    const char *point;   /* where it is mounted */
    const char *root;    /* which directory of the file system is mounted there */
    const char *type;    /* "ext4", "nfs4", "fuse.sshfs" */
    const char *source;  /* "server:/volume" */
    const char *options; /* of the file system: "rw,user_id=1000" */
};

typedef void stk_mount_visitor(void *context, const struct stk_mount *mount);

/* Visits all mounts in the kernel's order (a later one at the same point hides the earlier).
 * False when the table cannot be read. */
bool stk_mounts_visit(stk_mount_visitor *visit, void *context);
