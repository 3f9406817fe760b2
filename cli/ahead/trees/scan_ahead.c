#include "cli/ahead/trees/scan_ahead.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cache/listing/listing.h"
#include "cli/ahead/trees/list_ahead.h"
#include "cli/ahead/trees/scan_window.h"
#include "cli/os/priority.h"
#include "cli/os/thread.h"
#include "cli/out/say.h"

#define THREADS      16
#define SCANS        32   /* directories whose subdirectories are scanned now */
#define MOST_WAITING 8192 /* directories that wait to be listed; no more are taken */

struct waiting_directory {
    struct waiting_directory *next;
    unsigned level;
    char path[];
};

static struct {
    struct stk_cache cache; /* as the job's, but without a run: these threads leave no notes */
    atomic_bool begun;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct waiting_directory *first, **end;
    unsigned count;
    atomic_uint deepest; /* level of a directory that the job has listed itself */
    struct scan scans[SCANS];
    unsigned next_scan;
} ahead = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* ---- what is to be listed ---- */

static void add(const char *above, const char *name, unsigned level)
{
    size_t bytes = strlen(above) + strlen(name) + 2;
    struct waiting_directory *waiting =
        ahead.count < MOST_WAITING ? malloc(sizeof *waiting + bytes) : NULL;
    if (waiting != NULL) {
        struct stk_text path = stk_text_in(waiting->path, bytes);
        waiting->next = NULL;
        waiting->level = level;
        stk_text_add(&path, above);
        stk_text_add_char(&path, '/');
        stk_text_add(&path, name);
        *ahead.end = waiting;
        ahead.end = &waiting->next;
        ahead.count++;
        pthread_cond_signal(&ahead.changed);
    }
}

static struct waiting_directory *take(void)
{
    pthread_mutex_lock(&ahead.lock);
    while (ahead.first == NULL) {
        pthread_cond_wait(&ahead.changed, &ahead.lock);
    }
    struct waiting_directory *taken = ahead.first;
    ahead.first = taken->next;
    ahead.end = ahead.first == NULL ? &ahead.first : ahead.end;
    ahead.count--;
    pthread_mutex_unlock(&ahead.lock);
    return taken;
}

/* ---- one directory ---- */

static void add_below(const struct stk_listing *listing, const char *path, unsigned level)
{
    size_t at = 0;
    const struct stk_listing_name *name;
    pthread_mutex_lock(&ahead.lock);
    while ((name = stk_listing_at(listing, &at)) != NULL) {
        if (scan_is_directory(name)) {
            add(path, name->name, level);
        }
    }
    pthread_mutex_unlock(&ahead.lock);
}

static void list(const char *path, unsigned level)
{
    struct stk_listing listing;
    if (list_ahead(&ahead.cache, path, &listing)) {
        if (level < atomic_load(&ahead.deepest)) {
            add_below(&listing, path, level + 1);
        }
        stk_listing_close(&listing);
    }
}

static void *list_all(void *context)
{
    priority_lower();
    for (;;) {
        OWNED struct waiting_directory *taken = take();
        list(taken->path, taken->level);
    }
    return context;
}

/* ---- notes ---- */

/* Returns the scan of the directories in this one. A new one takes the place of the oldest. */
static struct scan *scan_of(uint64_t above)
{
    for (unsigned i = 0; i < SCANS; i++) {
        if (ahead.scans[i].above == above) {
            return &ahead.scans[i];
        }
    }
    struct scan *scan = &ahead.scans[ahead.next_scan++ % SCANS];
    *scan = (struct scan){.above = above};
    return scan;
}

static void add_next(const struct stk_listing *listing, uint64_t key, const char *path,
                     const char *leaf, unsigned level)
{
    struct scan_names names;
    scan_names_take(&names, listing);
    pthread_mutex_lock(&ahead.lock);
    struct scan *scan = scan_of(key);
    if (scan_go_on(scan, &names, leaf)) {
        for (unsigned sorting = 0; sorting < SCAN_SORTINGS; sorting++) {
            for (unsigned i = scan->from[sorting]; i < scan->to[sorting]; i++) {
                add(path, names.in[sorting][i], level);
            }
        }
    }
    pthread_mutex_unlock(&ahead.lock);
    scan_names_free(&names);
}

static unsigned level_of(const char *below)
{
    unsigned level = 0;
    for (; *below != '\0'; below++) {
        level += *below == '/';
    }
    return level;
}

static void note_level(unsigned level)
{
    unsigned deepest = atomic_load(&ahead.deepest);
    while (level > deepest && !atomic_compare_exchange_weak(&ahead.deepest, &deepest, level)) {
    }
}

void scan_ahead_note(const struct stk_root *root, const char *below)
{
    struct stk_place place;
    struct stk_listing listing;
    if (!atomic_load(&ahead.begun)) {
        return;
    }
    unsigned level = level_of(below); /* "a/b/." is on level 2 */
    note_level(level);
    OWNED char *path = must_format("%s/%s", root->prefix, below);
    *strrchr(path, '/') = '\0';
    char *slash = strrchr(path, '/');
    *slash = '\0';
    if (stk_cache_place_directory(&ahead.cache, path, AT_FDCWD, path, &place) &&
        stk_listing_find(&ahead.cache, &place, &listing)) {
        add_next(&listing, place.key.low, path, slash + 1, level);
        stk_listing_close(&listing);
    }
}

void scan_ahead_begin(const struct stk_cache *cache)
{
    ahead.cache = *cache;
    ahead.cache.run.file = NULL;
    ahead.end = &ahead.first;
    for (unsigned i = 0; i < THREADS && thread_start_detached(list_all, NULL); i++) {
        atomic_store(&ahead.begun, true);
    }
}
