/* The inode table of slowfs. See inodes.h. */
#include "inodes.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uthash.h>

#include "handles.h"

/* A handle distinguishes a second file of a number from the first; without one the pin does. */
struct key {
    dev_t dev;
    ino_t ino;
    struct slow_handle handle;
};

struct inode {
    struct key key;
    int pin;             /* an O_PATH descriptor, or -1: reached by its handle */
    uint64_t references; /* what the kernel holds */
    UT_hash_handle hh;
};

struct slow_timeouts slow_timeouts = {1.0, 1.0};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct inode *table;
static struct inode root = {.pin = -1};

static struct inode *inode_of(fuse_ino_t node)
{
    return node == FUSE_ROOT_ID ? &root : (struct inode *)(uintptr_t)node;
}

/* Zeroed whole first: the table hashes padding, too. */
static void read_key(int fd, const struct stat *attr, struct key *key)
{
    memset(key, 0, sizeof *key);
    key->dev = attr->st_dev;
    key->ino = attr->st_ino;
    slow_handle_take(fd, &key->handle);
}

int slow_inodes_open(const char *source)
{
    root.pin = open(source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root.pin < 0) {
        return -errno;
    }
    slow_handles_start(root.pin);
    return 0;
}

static void free_inode(struct inode *inode)
{
    slow_fd_close(&inode->pin);
    free(inode);
}

int slow_inode_open(fuse_ino_t node)
{
    struct inode *inode = inode_of(node);
    pthread_mutex_lock(&lock);
    int pin = inode->pin;
    pthread_mutex_unlock(&lock);
    /* A pin stays until the node is forgotten, which it cannot be while a request names it. */
    return pin >= 0 ? fcntl(pin, F_DUPFD_CLOEXEC, 0) : slow_handle_open(&inode->key.handle);
}

void slow_fd_close(const int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
}

void slow_fd_path(int fd, char path[SLOW_PATH_BYTES])
{
    snprintf(path, SLOW_PATH_BYTES, "/proc/self/fd/%d", fd);
}

/* A new inode of the table, or NULL. Under the lock. Takes `fd` over when it needs a pin. */
static struct inode *add_inode(const struct key *key, int *fd)
{
    struct inode *inode = calloc(1, sizeof *inode);
    if (inode == NULL) {
        return NULL;
    }
    inode->key = *key;
    inode->pin = -1;
    if (key->handle.bytes == 0) {
        inode->pin = *fd;
        *fd = -1;
    }
    HASH_ADD(hh, table, key, sizeof inode->key, inode);
    return inode;
}

/* The inode with one reference more, as a node; 0 without memory. */
static fuse_ino_t refer(const struct key *key, int *fd)
{
    struct inode *inode;
    pthread_mutex_lock(&lock);
    HASH_FIND(hh, table, key, sizeof *key, inode);
    if (inode == NULL) {
        inode = add_inode(key, fd);
    }
    if (inode != NULL) {
        inode->references++;
    }
    pthread_mutex_unlock(&lock);
    return (fuse_ino_t)(uintptr_t)inode;
}

int slow_inode_lookup(fuse_ino_t parent, const char *name, struct fuse_entry_param *entry)
{
    *entry = (struct fuse_entry_param){.attr_timeout = slow_timeouts.attr,
                                       .entry_timeout = slow_timeouts.entry};
    SLOW_FD int directory = slow_inode_open(parent);
    if (directory < 0) {
        return -errno;
    }
    SLOW_FD int fd = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstatat(fd, "", &entry->attr, AT_EMPTY_PATH) != 0) {
        return -errno;
    }
    struct key key;
    read_key(fd, &entry->attr, &key);
    entry->ino = refer(&key, &fd);
    return entry->ino != 0 ? 0 : -ENOMEM;
}

void slow_inode_forget(fuse_ino_t node, uint64_t count)
{
    struct inode *inode = inode_of(node);
    if (inode == &root) {
        return;
    }
    pthread_mutex_lock(&lock);
    inode->references -= count;
    bool gone = inode->references == 0;
    if (gone) {
        HASH_DEL(table, inode);
    }
    pthread_mutex_unlock(&lock);
    if (gone) {
        free_inode(inode);
    }
}

void slow_inode_pin(int parent_fd, const char *name)
{
    struct stat attr;
    struct key key;
    struct inode *inode;
    int error = errno;
    SLOW_FD int fd = openat(parent_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstatat(fd, "", &attr, AT_EMPTY_PATH) != 0) {
        errno = error;
        return;
    }
    read_key(fd, &attr, &key);
    pthread_mutex_lock(&lock);
    HASH_FIND(hh, table, &key, sizeof key, inode);
    if (inode != NULL && inode->pin < 0) {
        inode->pin = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    }
    pthread_mutex_unlock(&lock);
}
