#include "cli/ahead/trees/tree_evidence.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "cli/ahead/orders/order_queue.h"
#include "cli/out/say.h"

/* So many files must the job have read in a directory, or below it, until the rest is read ahead;
 * and so many from front to back, until the next ones like these are. */
#define FILES_IN         64
#define FILES_BELOW      128
#define SHARDS           2
#define MOST_DIRECTORIES 4096 /* with notes */

struct noted_directory {
    unsigned files, shards;
    bool walked[2]; /* by kind */
    UT_hash_handle hh;
    char path[];
};

static struct {
    _Atomic(struct stk_cache *) cache; /* NULL: not begun */
    pthread_mutex_t lock;
    struct noted_directory *directories;
} evidence = {.lock = PTHREAD_MUTEX_INITIALIZER};

void tree_evidence_begin(struct stk_cache *cache)
{
    atomic_store(&evidence.cache, cache);
}

/* Returns the directory of that path, or NULL if too many are noted. */
static struct noted_directory *find(const char *path, size_t length)
{
    struct noted_directory *found;
    HASH_FIND(hh, evidence.directories, path, length, found);
    if (found == NULL && HASH_COUNT(evidence.directories) < MOST_DIRECTORIES) {
        found = calloc(1, sizeof *found + length + 1);
        if (found != NULL) {
            memcpy(found->path, path, length);
            HASH_ADD_KEYPTR(hh, evidence.directories, found->path, length, found);
        }
    }
    return found;
}

static void walk(struct noted_directory *directory, enum tree_kind kind, const char *path)
{
    directory->walked[kind] =
        tree_walk_begin(atomic_load(&evidence.cache), kind, directory->path, path);
}

static void note_shard(const char *path)
{
    struct noted_directory *directory = find(path, (size_t)(strrchr(path, '/') - path));
    if (directory != NULL && !directory->walked[TREE_SHARDS] && ++directory->shards >= SHARDS) {
        walk(directory, TREE_SHARDS, path);
    }
}

/* Counts a file in its directory and in those above it, up to the root, which has so many bytes. A
 * file in a tree that is walked through says nothing of what is above. */
static void note_file(const char *path, size_t root_bytes)
{
    unsigned least = FILES_IN;
    const char *slash = strrchr(path, '/');
    while (slash != NULL && (size_t)(slash - path) >= root_bytes) {
        struct noted_directory *directory = find(path, (size_t)(slash - path));
        if (directory == NULL || directory->walked[TREE_FILES]) {
            return;
        }
        if (++directory->files >= least) {
            walk(directory, TREE_FILES, path);
            return;
        }
        least = FILES_BELOW;
        slash = memrchr(path, '/', (size_t)(slash - path));
    }
}

void tree_evidence_note(const struct stk_root *root, const char *below, enum tree_kind kind)
{
    if (atomic_load(&evidence.cache) == NULL || order_queue_has_loaders()) {
        return;
    }
    OWNED char *path = must_format("%s/%s", root->prefix, below);
    pthread_mutex_lock(&evidence.lock);
    if (kind == TREE_SHARDS) {
        note_shard(path);
    } else {
        note_file(path, strlen(root->prefix));
    }
    pthread_mutex_unlock(&evidence.lock);
}
