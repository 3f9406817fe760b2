#include "cli/ahead/trees/tree_walk.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/path.h"
#include "cli/ahead/trees/list_ahead.h"
#include "cli/ahead/orders/order.h"
#include "cli/ahead/orders/order_queue.h"
#include "cli/ahead/trees/scan_window.h"
#include "cli/os/thread.h"
#include "cli/out/say.h"

#define MOST_WALKS 8  /* at the same time */
#define MOST_DEPTH 32 /* of directories */
#define BATCH      64 /* paths in a message: as many as are read until the job has opened some */

struct walk {
    struct stk_cache *cache;
    enum tree_kind kind;
    char *directory, *opened;
    int fd;     /* of the order's connection */
    bool ended; /* the command wants no more files */
    unsigned depth, count;
    size_t bytes; /* of the message */
    char message[ORDER_MESSAGE_BYTES];
};

static atomic_uint walks;

/* ---- the order ---- */

static int connect_to_queue(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(order_queue_name());
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    memcpy(address.sun_path + 1, order_queue_name(), length);
    length += offsetof(struct sockaddr_un, sun_path) + 1;
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, (socklen_t)length) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void begin_message(struct walk *walk)
{
    uint64_t done = walk->kind == TREE_SHARDS ? ORDER_SHARDS : ORDER_TREE;
    const struct order_message head = {.magic = ORDER_MAGIC, .done = done};
    memcpy(walk->message, &head, sizeof head);
    walk->bytes = sizeof head;
    walk->count = 0;
}

/* Waits while the command has no room for more paths. */
static void send_message(struct walk *walk)
{
    if (walk->count > 0 && !walk->ended) {
        ssize_t sent = send(walk->fd, walk->message, walk->bytes, MSG_NOSIGNAL);
        walk->ended = sent != (ssize_t)walk->bytes;
    }
    begin_message(walk);
}

static void add(struct walk *walk, const char *path)
{
    size_t bytes = strlen(path) + 1;
    if (walk->count == BATCH || bytes > sizeof walk->message - walk->bytes) {
        send_message(walk);
    }
    memcpy(walk->message + walk->bytes, path, bytes);
    walk->bytes += bytes;
    walk->count++;
}

/* ---- names ---- */

struct tree_names {
    struct stk_listing listing;
    const struct stk_listing_name **sorted;
    size_t count;
};

static int compare(const void *one, const void *other)
{
    const struct stk_listing_name *const *first = one, *const *second = other;
    return strverscmp((*first)->name, (*second)->name);
}

static void take_names(struct tree_names *names)
{
    size_t at = 0;
    const struct stk_listing_name *name;
    names->count = 0;
    while (stk_listing_at(&names->listing, &at) != NULL) {
        names->count++;
    }
    names->sorted = must_allocate((names->count + 1) * sizeof(struct stk_listing_name *));
    at = names->count = 0;
    while ((name = stk_listing_at(&names->listing, &at)) != NULL) {
        names->sorted[names->count++] = name;
    }
    qsort(names->sorted, names->count, sizeof(struct stk_listing_name *), compare);
}

static bool is_shard(const struct walk *walk, const char *name)
{
    const char *opened = stk_path_leaf(walk->opened);
    const char *end = strrchr(opened, '.'), *other = strrchr(name, '.');
    return end == NULL ? other == NULL : other != NULL && strcmp(end, other) == 0;
}

static bool is_file(const struct walk *walk, const struct stk_listing_name *name)
{
    bool may_be = name->type == DT_REG || name->type == DT_LNK || name->type == DT_UNKNOWN;
    return may_be && (walk->kind == TREE_FILES || is_shard(walk, name->name));
}

/* ---- the walk ---- */

/* The part of a directory that is walked through: all of it, or what comes behind a path in it, or
 * up to that path. */
struct tree_part {
    enum { ALL, BEHIND, UP_TO } which;
    const char *path; /* below the directory */
};

/* Returns the part of the directory or file `name` that is in the part of the directory above. Sets
 * `any` to false if there is none. */
static struct tree_part part_of(const struct tree_part *above, const char *name, bool *any)
{
    struct tree_part part = {.which = ALL};
    *any = true;
    if (above->which == ALL) {
        return part;
    }
    const char *slash = strchrnul(above->path, '/');
    char *first = must_format("%.*s", (int)(slash - above->path), above->path);
    int order = strverscmp(name, first);
    free(first);
    *any = order == 0 ? *slash != '\0' : (order > 0) == (above->which == BEHIND);
    if (order == 0 && *any) {
        part = (struct tree_part){above->which, slash + 1};
    }
    return part;
}

static void walk_through(struct walk *walk, const char *directory, const struct tree_part *part);

static void walk_to(struct walk *walk, const char *directory, const struct stk_listing_name *name,
                    const struct tree_part *above)
{
    bool any;
    struct tree_part part = part_of(above, name->name, &any);
    if (!any) {
        return;
    }
    OWNED char *path = must_format("%s/%s", directory, name->name);
    if (is_file(walk, name)) {
        add(walk, path);
    } else if (scan_is_directory(name) && walk->kind == TREE_FILES) {
        walk_through(walk, path, &part);
    }
}

static void walk_through(struct walk *walk, const char *directory, const struct tree_part *part)
{
    struct tree_names names;
    if (walk->ended || walk->depth == MOST_DEPTH ||
        !list_ahead(walk->cache, directory, &names.listing)) {
        return;
    }
    walk->depth++;
    take_names(&names);
    for (size_t i = 0; i < names.count && !walk->ended; i++) {
        walk_to(walk, directory, names.sorted[i], part);
    }
    free(names.sorted);
    stk_listing_close(&names.listing);
    walk->depth--;
}

static void end(struct walk *walk)
{
    close(walk->fd);
    free(walk->directory);
    free(walk->opened);
    free(walk);
    atomic_fetch_sub(&walks, 1);
}

static void *go(void *context)
{
    struct walk *walk = context;
    const char *below = walk->opened + strlen(walk->directory) + 1;
    begin_message(walk);
    walk_through(walk, walk->directory, &(struct tree_part){BEHIND, below});
    walk_through(walk, walk->directory, &(struct tree_part){UP_TO, below});
    send_message(walk);
    end(walk);
    return NULL;
}

bool tree_walk_begin(struct stk_cache *cache, enum tree_kind kind, const char *directory,
                     const char *opened)
{
    int fd = atomic_fetch_add(&walks, 1) < MOST_WALKS ? connect_to_queue() : -1;
    if (fd < 0) {
        atomic_fetch_sub(&walks, 1);
        return false;
    }
    struct walk *walk = must_allocate(sizeof *walk);
    *walk = (struct walk){.cache = cache,
                          .kind = kind,
                          .directory = must_copy(directory),
                          .opened = must_copy(opened),
                          .fd = fd};
    bool begun = thread_start_detached(go, walk);
    if (!begun) {
        end(walk);
    }
    return begun;
}
