/*
 * Holds Stoker's own open directories: opendir gives them where the listing is known
 * (cache/listing/listing.h). They lie in an array, so a DIR's address shows that it is Stoker's.
 * When all are taken, programs get libc's DIR.
 *
 * A directory may have libc's DIR of the same directory inside. That is so if it was opened before
 * its listing was known, by fdopendir, or later, for dirfd. If its listing is not to be believed
 * any more, it forwards everything to libc's DIR. Until then the descriptor stays where libc would
 * have it, since other descriptors may share the offset.
 *
 * No heap but libc's own for its DIR, no locks. Two threads that read one directory get each name
 * once, as with libc; otherwise as safe as libc's functions are. A child has copies of all.
 */
#pragma once

#include <dirent.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "cache/listing/listing.h"

struct stk_directory {
    _Atomic bool taken;
    _Atomic bool begun;       /* a name was read since it was opened, or the place was set */
    _Atomic size_t at;        /* in the listing; 0: at its start */
    _Atomic int64_t position; /* the place that telldir returns */
    struct stk_listing listing;
    struct stk_listing
        before;          /* before it was rewound: a program may still look at its last name */
    _Atomic(DIR *) real; /* libc's, or NULL */
    bool local;          /* of this machine */
    bool forwards;       /* everything to `real` */
    char path[STK_PATH_BYTES];
};

/* Returns the DIR if it is one of Stoker's, else NULL. */
struct stk_directory *stk_directory_of(DIR *dir);
/* Makes a new directory at its start, which owns the listing and `real` (or NULL) from now on.
 * Returns NULL if none is free, or the path is too long; then both stay the caller's. */
struct stk_directory *stk_directory_make(const struct stk_place *place,
                                         const struct stk_listing *listing, DIR *real);
void stk_directory_free(struct stk_directory *directory);

/* Returns the offset that libc's descriptor has once libc has read all names. */
int64_t stk_directory_end(const struct stk_directory *directory);
/* Finds the first name behind a place of the listing. Returns false if no name has that place. */
bool stk_directory_find_place(const struct stk_listing *listing, int64_t position, size_t *at);
/* Goes on behind a place that another reader of the descriptor has come to. Returns false if no
 * name of the listing has that place. */
bool stk_directory_go_on(struct stk_directory *directory, int64_t position);
/* Returns the next name and what follows it; NULL at the end. */
const struct stk_listing_name *stk_directory_next(struct stk_directory *directory);
void stk_directory_seek(struct stk_directory *directory, int64_t position);

/* ---- listings for what the program asks; each joins the guard ---- */

/* A look at a directory; `place` is filled if it is covered. */
struct stk_directory_look {
    struct stk_cache *cache; /* NULL: not covered */
    bool found;              /* the listing is there */
    int64_t began_ns;        /* before anything was opened */
    struct stk_place place;
    struct stk_listing listing;
};
void stk_directory_look(int dirfd, const char *path, struct stk_directory_look *out);
/* Looks at an open directory by its descriptor: the listing is found, or, if the descriptor's
 * offset is 0, made now. A directory of this machine is left to the kernel. It is open already, and
 * ext4 takes no descriptor back to the start that was first read at its end. */
void stk_directory_look_fd(int fd, char path[STK_PATH_BYTES], struct stk_directory_look *out);
/* Makes the listing of the directory that the program opened after a look that found nothing. */
bool stk_directory_fill(struct stk_directory_look *look, int fd);
/* Reads the listing of an open directory anew, as it is now. Returns false if the origin must be
 * asked instead. */
bool stk_directory_renew(struct stk_directory *directory);
/* Compares a descriptor's directory with the listing's, as far as that is possible without asking a
 * server. */
enum stk_directory_likeness { STK_DIRECTORY_SAME, STK_DIRECTORY_ANOTHER, STK_DIRECTORY_UNKNOWN };
enum stk_directory_likeness stk_directory_compare(const struct stk_listing *listing, int fd);
