/*
 * Open directories of ours: what opendir gives where the listing is known (cache/listing.h). They
 * lie in an array of their own, so that an address tells whose a DIR is; when all are taken,
 * programs get libc's.
 *
 * One may have libc's DIR of the same directory inside: where it was opened before its listing was
 * known, by fdopendir, or since, for dirfd. Where its listing is not to be believed any more, it
 * forwards everything to that one. Until then the descriptor of that is where libc would have it:
 * there may be others of the same offset.
 *
 * No heap but libc's own for its DIR, no locks. Two threads that read one directory get each name
 * once, as with libc; otherwise as safe as libc's functions are. A child has copies of all.
 */
#ifndef STK_PRELOAD_DIRECTORY_H
#define STK_PRELOAD_DIRECTORY_H

#include <dirent.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "cache/listing.h"

struct stk_directory {
    _Atomic bool taken;
    _Atomic bool begun;   /* a name was read since it was opened, or the place set */
    _Atomic size_t at;    /* in the listing; 0: at its start */
    _Atomic int64_t told; /* what telldir says */
    struct stk_listing listing;
    struct stk_listing
        before;          /* before it was rewound: a program may still look at its last name */
    _Atomic(DIR *) real; /* libc's, or NULL */
    bool local;          /* of this machine */
    bool forwards;       /* everything to `real` */
    char path[STK_PATH_BYTES];
};

/* Ours, or NULL. */
struct stk_directory *stk_directory_of(DIR *dir);
/* A new one at its start, which owns the listing and `real` (or NULL) from now on. NULL: none is
 * free, or the path too long; both stay the caller's. */
struct stk_directory *stk_directory_make(const struct stk_place *place,
                                         const struct stk_listing *listing, DIR *real);
void stk_directory_free(struct stk_directory *directory);

/* Where libc has brought the descriptor once it has read all. */
int64_t stk_directory_end(const struct stk_directory *directory);
/* Goes on behind a place that somebody else has come to; false: nobody has told of it. */
bool stk_directory_go_on(struct stk_directory *directory, int64_t told);
/* The next name and what follows it; NULL at the end. */
const struct stk_listing_name *stk_directory_next(struct stk_directory *directory);
void stk_directory_seek(struct stk_directory *directory, int64_t told);

/* ---- listings for what the program asks; each joins the guard ---- */

/* What a directory is known to hold; `place` is filled if it is covered. */
struct stk_directory_look {
    struct stk_cache *cache; /* NULL: not covered */
    bool found;              /* the listing is there */
    int64_t began_ns;        /* before anything was opened */
    struct stk_place place;
    struct stk_listing listing;
};
void stk_directory_look(int dirfd, const char *path, struct stk_directory_look *out);
/* Of an open directory, by its descriptor: found, or, if its offset is 0, listed now. One of this
 * machine is the kernel's to read: it is open already, and ext4 takes no descriptor back to the
 * start that was first read at its end. */
void stk_directory_look_fd(int fd, char path[STK_PATH_BYTES], struct stk_directory_look *out);
/* Lists what the program opened after a look that found nothing. */
bool stk_directory_fill(struct stk_directory_look *look, int fd);
/* The listing of an open directory anew, as it is now; false: it is the origin's to tell. */
bool stk_directory_renew(struct stk_directory *directory);
/* Whether a descriptor is the directory of the listing, as far as that can be told; asks no server.
 */
enum stk_directory_likeness { STK_DIRECTORY_SAME, STK_DIRECTORY_ANOTHER, STK_DIRECTORY_UNKNOWN };
enum stk_directory_likeness stk_directory_compare(const struct stk_listing *listing, int fd);

#endif
