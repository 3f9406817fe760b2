/*
 * Lists of directories that the command keeps from run to run: files in the state directory
 * (cli/os/state_dir.h), one directory a line. A line may be cut, or forged: what is not of the
 * list's kind is skipped. Without such a directory nothing is remembered.
 */
#pragma once

#include <stdbool.h>

#include "cache/catalogue/home.h"

#define KNOWN_MOST 64

/* A list's kind. */
struct known_kind {
    const char *name;                 /* of its file */
    bool (*is_one)(const char *path); /* may look at the file system, and wait for it */
};

struct known_list {
    unsigned count;
    char paths[KNOWN_MOST][STK_HOME_BYTES];
};

/* Adds a path that is of the kind, unless it is listed already or there is no room. */
void known_list_add(struct known_list *list, const struct known_kind *kind, const char *path);
/* Adds the directories that are remembered, without those that are gone. */
void known_list_add_remembered(struct known_list *list, const struct known_kind *kind);
/* Remembers a directory, which may not exist yet, in place of the oldest one if there is no room.
 * Says so if another user could change the list. */
void known_list_remember(const struct known_kind *kind, const char *path);
