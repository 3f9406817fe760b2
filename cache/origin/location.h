/*
 * Finds where a directory lies: on which volume, and at which path there, whatever links and bind
 * mounts lead to it. No heap; safe in threads and after fork.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/path.h"

#define STK_LOCATION_MARK   '@' /* in a name, before the digits of the volume */
#define STK_LOCATION_DIGITS 16

/* The kind of a file system: how dear a question is, and whether a directory's times change
 * whenever its content does. */
enum stk_root_kind {
    STK_ROOT_UNKNOWN, /* perhaps a server; times may not change */
    STK_ROOT_SERVER,  /* a server: each question is dear; times change */
    STK_ROOT_DISK,    /* on this machine: a question costs next to nothing; times change */
    STK_ROOT_MEMORY   /* nothing to gain, and a store through a map leaves no trace */
};

struct stk_location {
    enum stk_root_kind kind;
    bool inode_counts; /* false: the mount makes inode numbers up */
    bool lasting;      /* the volume is known by more than its mount: the same after a reboot */
    bool single_user;  /* the mount serves only the user who made it, whatever the modes say */
    bool is_fuse;      /* each open may drop what the kernel holds or fetches of a file */
    uint64_t volume;   /* hash of what is known of the volume */
    uint64_t mount;    /* hash of the mount point: no two mounts of this view have the same */
    uint64_t mounting; /* number of the mount: what is mounted there later has another */
    /* The volume and the path on it: "ext4@3f2a91c07bd45e21/data/imagenet". */
    char name[STK_PATH_BYTES];
};

/* Looks at an open directory (O_PATH will do), whose path without links in this view is
 * `canonical`. Returns false if the kernel does not answer, or if the name does not fit. */
bool stk_location_find(int fd, const char *canonical, struct stk_location *out);

/* Writes a volume's hash over the digits of a name. */
void stk_location_rename(char *name, uint64_t volume);

/* Returns true if a name in a tier's tree is that of a volume. */
bool stk_location_is_volume(const char *name);
