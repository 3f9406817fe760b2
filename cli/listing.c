/* Listing what is to be filled. See cli/listing.h. */
#include "cli/listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "cli/say.h"

#define BATCH_FILES (1u << 20) /* some 50 MB of names */

struct listing_directory {
    struct listing_directory *next;
    char *path;
    /* What was found in it; names lie one behind the other, each with its zero. */
    char *names;
    size_t names_used, names_room, count, room;
    struct found {
        uint64_t ino;
        bool link;
        size_t name; /* its place */
    } * found;
};

void listing_begin(struct listing *listing, bool (*wanted)(const struct listed *file),
                   const atomic_bool *stop)
{
    listing->wanted = wanted;
    listing->stop = stop;
    pthread_mutex_init(&listing->lock, NULL);
    pthread_cond_init(&listing->changed, NULL);
}

/* Room for one more element; the array may move. */
static void *grown(void *array, size_t used, size_t more, size_t *room, size_t bytes)
{
    if (used + more <= *room) {
        return array;
    }
    *room = 2 * (used + more) + 16;
    array = realloc(array, *room * bytes);
    if (array == NULL) {
        die("out of memory");
    }
    return array;
}

static struct listing_directory *directory_of(char *path)
{
    struct listing_directory *directory = must_allocate(sizeof *directory);
    directory->path = path;
    return directory;
}

static void push(struct listing_directory **stack, struct listing_directory *directory)
{
    directory->next = *stack;
    *stack = directory;
}

static struct listing_directory *pop(struct listing_directory **stack)
{
    struct listing_directory *first = *stack;
    *stack = first->next;
    return first;
}

/* ---- one directory ---- */

static void note(struct listing_directory *directory, const char *name, uint64_t ino, bool link)
{
    size_t bytes = strlen(name) + 1;
    directory->names = grown(directory->names, directory->names_used, bytes, &directory->names_room,
                             sizeof *directory->names);
    directory->found =
        grown(directory->found, directory->count, 1, &directory->room, sizeof *directory->found);
    memcpy(directory->names + directory->names_used, name, bytes);
    directory->found[directory->count++] = (struct found){ino, link, directory->names_used};
    directory->names_used += bytes;
}

/* What kind it is, without following a link; some file systems do not say it in passing. */
static unsigned char kind_of(int fd, const struct dirent *entry)
{
    struct stat stat;
    if (entry->d_type != DT_UNKNOWN) {
        return entry->d_type;
    }
    return fstatat(fd, entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) == 0
               ? (unsigned char)IFTODT(stat.st_mode)
               : DT_UNKNOWN;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Files are noted; directories below are pushed onto `below`. */
static void take_entry(struct listing_directory *directory, int fd, const struct dirent *entry,
                       struct listing_directory **below)
{
    unsigned char kind = kind_of(fd, entry);
    switch (kind) {
    case DT_DIR:
        push(below, directory_of(must_format("%s/%s", directory->path, entry->d_name)));
        break;
    case DT_REG:
    case DT_LNK:
        note(directory, entry->d_name, entry->d_ino, kind == DT_LNK);
        break;
    default:
        break;
    }
}

/* 0, or the errno with which it ended. */
static int list_open(const struct listing *listing, struct listing_directory *directory,
                     DIR *stream, struct listing_directory **below)
{
    const struct dirent *entry;
    while (!atomic_load(listing->stop)) {
        errno = 0;
        entry = readdir(stream);
        if (entry == NULL) {
            return errno;
        }
        if (!is_dots(entry->d_name)) {
            take_entry(directory, dirfd(stream), entry, below);
        }
    }
    return 0;
}

static void list(struct listing *listing, struct listing_directory *directory,
                 struct listing_directory **below)
{
    DIR *stream = opendir(directory->path);
    int error = stream != NULL ? list_open(listing, directory, stream, below) : errno;
    if (error != 0 && error != ENOENT) {
        atomic_fetch_add(&listing->unreadable, 1);
    }
    if (stream != NULL) {
        closedir(stream);
    }
}

/* ---- the batch ---- */

static void keep_file(struct listing *listing, const struct listed *file)
{
    if (listing->wanted == NULL || listing->wanted(file)) {
        listing->files =
            grown(listing->files, listing->count, 1, &listing->room, sizeof *listing->files);
        listing->files[listing->count++] = *file;
        atomic_fetch_add(&listing->found, 1);
    }
}

/* Under the lock. */
static void keep(struct listing *listing, struct listing_directory *directory)
{
    for (size_t i = 0; i < directory->count; i++) {
        const struct found *found = &directory->found[i];
        keep_file(listing, &(struct listed){found->ino, found->link, directory->path,
                                            directory->names + found->name});
    }
    free(directory->found);
    directory->found = NULL;
    push(&listing->listed, directory);
}

void listing_add(struct listing *listing, const char *path)
{
    struct stat stat;
    struct listing_directory *directory = directory_of(must_copy(path));
    if (lstat(path, &stat) == 0 && S_ISDIR(stat.st_mode)) {
        push(&listing->pending, directory);
        return;
    }
    const char *leaf = stk_path_leaf(path);
    note(directory, leaf, 0, false);
    directory->path[leaf > path + 1 ? leaf - path - 1 : 1] = '\0';
    keep(listing, directory);
}

static bool is_full(const struct listing *listing)
{
    return listing->count >= BATCH_FILES || atomic_load(listing->stop);
}

/* Under the lock, which is let go meanwhile. */
static void list_next(struct listing *listing)
{
    struct listing_directory *below = NULL, *directory = pop(&listing->pending);
    listing->busy++;
    pthread_mutex_unlock(&listing->lock);
    list(listing, directory, &below);
    pthread_mutex_lock(&listing->lock);
    listing->busy--;
    keep(listing, directory);
    while (below != NULL) {
        push(&listing->pending, pop(&below));
    }
    pthread_cond_broadcast(&listing->changed);
}

void listing_work(struct listing *listing)
{
    pthread_mutex_lock(&listing->lock);
    while (!is_full(listing) && (listing->pending != NULL || listing->busy > 0)) {
        if (listing->pending != NULL) {
            list_next(listing);
        } else {
            pthread_cond_wait(&listing->changed, &listing->lock);
        }
    }
    pthread_mutex_unlock(&listing->lock);
}

bool listing_has_more(const struct listing *listing)
{
    return listing->pending != NULL;
}

static int compare(const void *left, const void *right)
{
    const struct listed *a = left, *b = right;
    return (a->order > b->order) - (a->order < b->order);
}

void listing_sort(struct listing *listing)
{
    if (listing->count > 0) {
        qsort(listing->files, listing->count, sizeof *listing->files, compare);
    }
}

void listing_drop(struct listing *listing)
{
    while (listing->listed != NULL) {
        struct listing_directory *directory = pop(&listing->listed);
        free(directory->names);
        free(directory->path);
        free(directory);
    }
    listing->count = 0;
}
