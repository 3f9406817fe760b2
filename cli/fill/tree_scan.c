#include "cli/fill/tree_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "cli/out/say.h"

#define BATCH_FILES (1u << 20) /* some 50 MB of names */

struct tree_scan_directory {
    struct tree_scan_directory *next;
    char *path;
    /* the names in it, one behind the other, each with its terminating zero */
    char *names;
    size_t names_used, names_room, count, room;
    struct scanned_name {
        uint64_t ino;
        bool link;
        size_t name; /* offset in the names */
    } * found;
};

void tree_scan_begin(struct tree_scan *scan, bool (*wanted)(const struct scanned_file *file),
                     const atomic_bool *stop)
{
    scan->wanted = wanted;
    scan->stop = stop;
    pthread_mutex_init(&scan->lock, NULL);
    pthread_cond_init(&scan->changed, NULL);
}

/* Returns the array with room for `more` elements; it may have moved. */
static void *grown(void *array, size_t used, size_t more, size_t *room, size_t bytes)
{
    if (used + more <= *room) {
        return array;
    }
    *room = 2 * (used + more) + 16;
    return must_resize(array, *room * bytes);
}

static struct tree_scan_directory *directory_of(char *path)
{
    struct tree_scan_directory *directory = must_allocate(sizeof *directory);
    directory->path = path;
    return directory;
}

static void push(struct tree_scan_directory **stack, struct tree_scan_directory *directory)
{
    directory->next = *stack;
    *stack = directory;
}

static struct tree_scan_directory *pop(struct tree_scan_directory **stack)
{
    struct tree_scan_directory *first = *stack;
    *stack = first->next;
    return first;
}

/* ---- one directory ---- */

static void note(struct tree_scan_directory *directory, const char *name, uint64_t ino, bool link)
{
    size_t bytes = strlen(name) + 1;
    directory->names = grown(directory->names, directory->names_used, bytes, &directory->names_room,
                             sizeof *directory->names);
    directory->found =
        grown(directory->found, directory->count, 1, &directory->room, sizeof *directory->found);
    memcpy(directory->names + directory->names_used, name, bytes);
    directory->found[directory->count++] = (struct scanned_name){ino, link, directory->names_used};
    directory->names_used += bytes;
}

/* Returns the type, without following a link. Some file systems do not have it in the directory
 * entry. */
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

/* Adds a file, or pushes a directory onto `below`. */
static void take_entry(struct tree_scan_directory *directory, int fd, const struct dirent *entry,
                       struct tree_scan_directory **below)
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

/* Returns 0, or the errno with which listing ended. */
static int list_open(const struct tree_scan *scan, struct tree_scan_directory *directory,
                     DIR *stream, struct tree_scan_directory **below)
{
    const struct dirent *entry;
    while (!atomic_load(scan->stop)) {
        errno = 0;
        entry = readdir(stream);
        if (entry == NULL) {
            return errno;
        }
        if (!stk_path_is_dots(entry->d_name)) {
            take_entry(directory, dirfd(stream), entry, below);
        }
    }
    return 0;
}

static void list(struct tree_scan *scan, struct tree_scan_directory *directory,
                 struct tree_scan_directory **below)
{
    DIR *stream = opendir(directory->path);
    int error = stream != NULL ? list_open(scan, directory, stream, below) : errno;
    if (error != 0 && error != ENOENT) {
        atomic_fetch_add(&scan->unreadable, 1);
        first_failure_note(&scan->failed, directory->path, error);
    }
    if (stream != NULL) {
        closedir(stream);
    }
}

/* ---- the batch ---- */

static void keep_file(struct tree_scan *scan, const struct scanned_file *file)
{
    if (scan->wanted == NULL || scan->wanted(file)) {
        scan->files = grown(scan->files, scan->count, 1, &scan->room, sizeof *scan->files);
        scan->files[scan->count++] = *file;
        atomic_fetch_add(&scan->found, 1);
    }
}

/* Call it under the lock. */
static void keep(struct tree_scan *scan, struct tree_scan_directory *directory)
{
    for (size_t i = 0; i < directory->count; i++) {
        const struct scanned_name *found = &directory->found[i];
        keep_file(scan, &(struct scanned_file){found->ino, found->link, directory->path,
                                               directory->names + found->name});
    }
    free(directory->found);
    directory->found = NULL;
    push(&scan->listed, directory);
}

void tree_scan_add(struct tree_scan *scan, const char *path)
{
    struct stat stat;
    struct tree_scan_directory *directory = directory_of(must_copy(path));
    if (lstat(path, &stat) == 0 && S_ISDIR(stat.st_mode)) {
        push(&scan->pending, directory);
        return;
    }
    const char *leaf = stk_path_leaf(path);
    note(directory, leaf, 0, false);
    directory->path[leaf > path + 1 ? leaf - path - 1 : 1] = '\0';
    keep(scan, directory);
}

static bool is_full(const struct tree_scan *scan)
{
    return scan->count >= BATCH_FILES || atomic_load(scan->stop);
}

/* Lists the next directory. Call it under the lock, which is released meanwhile. */
static void list_next(struct tree_scan *scan)
{
    struct tree_scan_directory *below = NULL, *directory = pop(&scan->pending);
    scan->busy++;
    pthread_mutex_unlock(&scan->lock);
    list(scan, directory, &below);
    pthread_mutex_lock(&scan->lock);
    scan->busy--;
    keep(scan, directory);
    while (below != NULL) {
        push(&scan->pending, pop(&below));
    }
    pthread_cond_broadcast(&scan->changed);
}

void tree_scan_work(struct tree_scan *scan)
{
    pthread_mutex_lock(&scan->lock);
    while (!is_full(scan) && (scan->pending != NULL || scan->busy > 0)) {
        if (scan->pending != NULL) {
            list_next(scan);
        } else {
            pthread_cond_wait(&scan->changed, &scan->lock);
        }
    }
    pthread_mutex_unlock(&scan->lock);
}

bool tree_scan_has_more(const struct tree_scan *scan)
{
    return scan->pending != NULL;
}

static int compare(const void *left, const void *right)
{
    const struct scanned_file *a = left, *b = right;
    return (a->position > b->position) - (a->position < b->position);
}

void tree_scan_sort(struct tree_scan *scan)
{
    if (scan->count > 0) {
        qsort(scan->files, scan->count, sizeof *scan->files, compare);
    }
}

void tree_scan_drop(struct tree_scan *scan)
{
    while (scan->listed != NULL) {
        struct tree_scan_directory *directory = pop(&scan->listed);
        free(directory->names);
        free(directory->path);
        free(directory);
    }
    scan->count = 0;
}
