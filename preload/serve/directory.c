/* Keeps Stoker's own open directories, and finds or makes their listings. */
#include "preload/serve/directory.h"

#include <fcntl.h>
#include <sys/sysmacros.h>

#include "base/clock.h"
#include "base/sys.h"
#include "base/text.h"
#include "preload/coverage/cover.h"
#include "preload/interpose/guard.h"

#define DIRECTORIES 256

static struct stk_directory directories[DIRECTORIES];

struct stk_directory *stk_directory_of(DIR *dir)
{
    uintptr_t offset = (uintptr_t)dir - (uintptr_t)directories;
    return offset < sizeof directories ? (struct stk_directory *)(void *)dir : NULL;
}

static struct stk_directory *take(void)
{
    for (unsigned i = 0; i < DIRECTORIES; i++) {
        bool taken = false;
        if (atomic_compare_exchange_strong(&directories[i].taken, &taken, true)) {
            return &directories[i];
        }
    }
    return NULL;
}

static bool name_directory(const struct stk_place *place, char out[STK_PATH_BYTES])
{
    return stk_text_print(out, STK_PATH_BYTES, "%s/%s", place->root->prefix, place->below);
}

struct stk_directory *stk_directory_make(const struct stk_place *place,
                                         const struct stk_listing *listing, DIR *real)
{
    struct stk_directory *directory = take();
    if (directory == NULL) {
        return NULL;
    }
    if (!name_directory(place, directory->path)) {
        atomic_store(&directory->taken, false);
        return NULL;
    }
    atomic_store(&directory->begun, false);
    atomic_store(&directory->at, 0);
    atomic_store(&directory->position, 0);
    atomic_store(&directory->real, real);
    directory->listing = *listing;
    directory->before.map = NULL;
    directory->local = stk_root_is_local(place->root);
    directory->forwards = false;
    return directory;
}

void stk_directory_free(struct stk_directory *directory)
{
    stk_listing_close(&directory->listing);
    stk_listing_close(&directory->before);
    atomic_store(&directory->taken, false);
}

int64_t stk_directory_end(const struct stk_directory *directory)
{
    size_t at = 0;
    int64_t end = 0;
    const struct stk_listing_name *name;
    while ((name = stk_listing_at(&directory->listing, &at)) != NULL) {
        end = name->next;
    }
    return end;
}

const struct stk_listing_name *stk_directory_next(struct stk_directory *directory)
{
    size_t at = atomic_load(&directory->at);
    for (;;) {
        size_t behind = at;
        const struct stk_listing_name *name = stk_listing_at(&directory->listing, &behind);
        if (name == NULL) {
            return NULL;
        }
        if (atomic_compare_exchange_weak(&directory->at, &at, behind)) {
            atomic_store(&directory->position, name->next);
            return name;
        }
    }
}

bool stk_directory_find_place(const struct stk_listing *listing, int64_t position, size_t *at)
{
    const struct stk_listing_name *name = NULL;
    *at = 0;
    if (position == 0) {
        return true;
    }
    do {
        name = stk_listing_at(listing, at);
    } while (name != NULL && name->next != position);
    return name != NULL;
}

bool stk_directory_go_on(struct stk_directory *directory, int64_t position)
{
    size_t at;
    bool known = stk_directory_find_place(&directory->listing, position, &at);
    atomic_store(&directory->at, at);
    atomic_store(&directory->position, position);
    return known;
}

/* Seeks to a place. A place that no name of the listing has counts as the end, as good as any. */
void stk_directory_seek(struct stk_directory *directory, int64_t position)
{
    stk_directory_go_on(directory, position);
    atomic_store(&directory->begun, false);
}

/* ---- listings ---- */

static bool find(struct stk_directory_look *look)
{
    bool found = stk_listing_find(look->cache, &look->place, &look->listing);
    if (found) {
        stk_run_count(&look->cache->run, STK_RUN_COUNTER(listings_served), 1);
    }
    return found;
}

void stk_directory_look(int dirfd, const char *path, struct stk_directory_look *out)
{
    struct stk_guard guard;
    out->cache = NULL;
    out->found = false;
    out->listing.map = NULL;
    if (!stk_guard_enter(&guard)) {
        return;
    }
    out->began_ns = stk_clock_boottime_ns();
    out->cache = stk_cover_directory(dirfd, path, &out->place);
    if (out->cache != NULL) {
        out->found = find(out);
    }
    stk_guard_leave(&guard);
}

enum stk_directory_likeness stk_directory_compare(const struct stk_listing *listing, int fd)
{
    struct statx answer;
    int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
    if (stk_sys_statx(fd, "", flags, STATX_TYPE | STATX_INO, &answer) != 0) {
        return STK_DIRECTORY_UNKNOWN;
    }
    bool may = S_ISDIR(answer.stx_mode) &&
               makedev(answer.stx_dev_major, answer.stx_dev_minor) == listing->dev;
    if (may && answer.stx_ino == listing->ino) {
        return STK_DIRECTORY_SAME;
    }
    return may && !listing->inode_counts ? STK_DIRECTORY_UNKNOWN : STK_DIRECTORY_ANOTHER;
}

static bool fill(struct stk_directory_look *look, int fd, bool by_path)
{
    const struct stk_listing_source source = {fd, look->began_ns, by_path};
    stk_run_count(&look->cache->run, STK_RUN_COUNTER(listings_asked), 1);
    return stk_listing_fill(look->cache, &look->place, &source, &look->listing);
}

static void look_fd(int fd, char path[STK_PATH_BYTES], struct stk_directory_look *out)
{
    out->began_ns = stk_clock_boottime_ns();
    off_t at = stk_sys_lseek(fd, 0, SEEK_CUR);
    if (at < 0 || !stk_cover_fd_path(fd, path)) {
        return;
    }
    out->cache = stk_cover_directory(AT_FDCWD, path, &out->place);
    if (out->cache == NULL || !stk_listing_may(out->cache, &out->place) ||
        stk_root_is_local(out->place.root)) {
        return;
    }
    out->found = find(out);
    if (out->found && stk_directory_compare(&out->listing, fd) != STK_DIRECTORY_SAME) {
        out->found = false;
        stk_listing_close(&out->listing);
    } else if (!out->found && at == 0) {
        /* The descriptor may be old, and its path lead to another directory by now. */
        out->found = fill(out, fd, false);
    }
}

void stk_directory_look_fd(int fd, char path[STK_PATH_BYTES], struct stk_directory_look *out)
{
    struct stk_guard guard;
    out->cache = NULL;
    out->found = false;
    if (stk_guard_enter(&guard)) {
        look_fd(fd, path, out);
        stk_guard_leave(&guard);
    }
}

bool stk_directory_fill(struct stk_directory_look *look, int fd)
{
    struct stk_guard guard;
    if (look->cache == NULL || !stk_guard_enter(&guard)) {
        return false;
    }
    look->found = fill(look, fd, true);
    stk_guard_leave(&guard);
    return look->found;
}

/* Returns true if the listing is still the latest one. Python goes back to the start each time that
 * it has listed a descriptor, so this is asked often. */
static __attribute__((noinline)) bool is_last(const struct stk_directory *directory)
{
    struct stk_guard guard;
    struct stk_place place;
    if (!stk_guard_enter(&guard)) {
        return false;
    }
    struct stk_cache *cache = stk_cover_directory(AT_FDCWD, directory->path, &place);
    bool last = cache != NULL && stk_listing_is_last(cache, &place, &directory->listing);
    stk_guard_leave(&guard);
    return last;
}

bool stk_directory_renew(struct stk_directory *directory)
{
    struct stk_directory_look look;
    if (is_last(directory)) {
        return true;
    }
    stk_directory_look(AT_FDCWD, directory->path, &look);
    if (!look.found) {
        return false;
    }
    if (look.listing.ino != directory->listing.ino || look.listing.dev != directory->listing.dev) {
        stk_listing_close(&look.listing);
        return false;
    }
    stk_listing_close(&directory->before);
    directory->before = directory->listing;
    directory->listing = look.listing;
    return true;
}
