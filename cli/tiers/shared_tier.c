#include "cli/tiers/shared_tier.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/sys.h"
#include "cache/entry/checksum.h"
#include "cache/origin/buffer.h"
#include "cli/os/descriptors.h"
#include "cli/tiers/shared_tier_members.h"

#define LEFT_S      3600
#define MAKING      "making"
#define DIRECTORIES 64 /* in it */
#define NAME_BYTES  96
#define PATH_BYTES  STK_PATH_BYTES

/* The seal, behind an entry's bytes. */
struct seal {
    char magic[8];
    uint64_t bytes, check;
    uint64_t path;        /* hash of the entry's path, with its version */
    uint64_t rights;      /* of the process that opened the origin; 0: unknown */
    uint64_t reserved[2]; /* 0 */
    uint64_t self;        /* hash of the fields before it */
};

_Static_assert(sizeof(struct seal) == SHARED_TIER_SEAL_BYTES, "as it lies there");
#define MAGIC "stoker\0\1"

static void make_seal(struct seal *seal, const struct shared_tier_entry *entry, uint64_t check)
{
    *seal = (struct seal){.bytes = entry->bytes, .check = check, .rights = entry->rights};
    memcpy(seal->magic, MAGIC, sizeof seal->magic);
    seal->path = stk_hash_64(entry->path, strlen(entry->path), 0);
    seal->self = stk_hash_64(seal, offsetof(struct seal, self), 0);
}

/* ---- files ---- */

/* Each operation opens the home anew, checks it, and works beneath its descriptor: members of a
 * group may be able to rename the directories above. No descriptor is kept, since a server may come
 * back as another mount. */

static void name_entry(const char *path, char out[PATH_BYTES])
{
    snprintf(out, PATH_BYTES, SHARED_TIER_ENTRIES "%s", path);
}

/* Makes a name that no other process of any node uses, in one of many directories: a client makes
 * and removes one name in a directory at a time, and asks its server each time. */
static void name_draft(char out[NAME_BYTES])
{
    static atomic_uint turn;
    char node[256] = "";
    gethostname(node, sizeof node - 1);
    uint64_t mine[] = {
        stk_hash_64(node, strlen(node), 0), (uint64_t)stk_sys_clock_ns(CLOCK_REALTIME),
        (uint64_t)stk_sys_clock_ns(CLOCK_BOOTTIME), (uint64_t)getpid(), atomic_fetch_add(&turn, 1)};
    uint64_t hash = stk_hash_64(mine, sizeof mine, 0);
    snprintf(out, NAME_BYTES, MAKING "/%02x/%016llx-%d", (unsigned)(hash % DIRECTORIES),
             (unsigned long long)hash, getpid());
}

/* Makes a draft and opens it. Returns the descriptor or -errno. */
static int make_draft(int home, char name[NAME_BYTES], mode_t mode)
{
    int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    name_draft(name);
    int fd = stk_sys_openat(home, name, flags, mode);
    if (fd != -ENOENT) {
        return fd;
    }
    char *slash = strrchr(name, '/');
    *slash = '\0';
    int error = stk_sys_mkdirat(home, name, 0700);
    *slash = '/';
    return error == 0 || error == -EEXIST ? stk_sys_openat(home, name, flags, mode) : error;
}

static int read_all(int fd, void *to, size_t bytes, off_t at)
{
    ssize_t got = stk_sys_pread_all(fd, to, bytes, at);
    return got < 0 ? (int)got : (size_t)got < bytes ? -EBADMSG : 0;
}

/* Copies, and computes the checksum of the copied bytes. */
static int copy(int from, int to, uint64_t bytes, uint64_t *check)
{
    char *buffer = stk_buffer_take();
    int error = buffer != NULL ? 0 : -ENOMEM;
    *check = 0;
    for (uint64_t at = 0; error == 0 && at < bytes;) {
        size_t piece = bytes - at < STK_BUFFER_BYTES ? (size_t)(bytes - at) : STK_BUFFER_BYTES;
        error = read_all(from, buffer, piece, (off_t)at);
        if (error == 0) {
            *check += stk_checksum_of(buffer, piece, at);
            error = stk_sys_pwrite_all(to, buffer, piece, (off_t)at);
        }
        at += piece;
    }
    if (buffer != NULL) {
        stk_buffer_put(buffer);
    }
    return error;
}

DIR *shared_tier_list(int home, const char *directory)
{
    int fd = stk_sys_openat(home, directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW, 0);
    DIR *names = fd >= 0 ? fdopendir(fd) : NULL;
    if (fd >= 0 && names == NULL) {
        stk_sys_close(fd);
    }
    errno = fd < 0 ? -fd : errno;
    return names;
}

/* ---- from there ---- */

static int open_next(const struct shared_tier *shared, unsigned *next, const char *name,
                     uint64_t bytes)
{
    return shared_tier_open_next(shared->directory, shared->gid, next, name,
                                 bytes + sizeof(struct seal));
}

int shared_tier_look(const struct shared_tier *shared, const char *path, uint64_t bytes)
{
    char name[PATH_BYTES];
    struct stat stat_;
    unsigned next = 0;
    name_entry(path, name);
    STK_OWNED_FD int home = stk_home_open(shared->home);
    int error = home < 0 ? home : stk_sys_fstatat(home, name, &stat_, AT_SYMLINK_NOFOLLOW);
    if (error == 0 && S_ISREG(stat_.st_mode) && stat_.st_uid == geteuid() &&
        (uint64_t)stat_.st_size == bytes + sizeof(struct seal)) {
        return 0;
    }
    STK_OWNED_FD int from = open_next(shared, &next, name, bytes);
    return from >= 0 ? 0 : error != 0 ? error : -ENOENT;
}

/* Copies an open entry, and closes it. */
static int copy_sealed(int from, struct shared_tier_entry *entry, int to, uint64_t *check)
{
    struct seal right, seal = {.rights = 0};
    int error = copy(from, to, entry->bytes, check);
    if (error == 0) {
        error = read_all(from, &seal, sizeof seal, (off_t)entry->bytes);
    }
    stk_sys_close(from);
    entry->rights = seal.rights;
    make_seal(&right, entry, *check);
    return error != 0 ? error : memcmp(&seal, &right, sizeof seal) == 0 ? 0 : -EBADMSG;
}

/* A damaged entry of this user's, or of a member's, leads to the next member's. */
int shared_tier_fetch(const struct shared_tier *shared, struct shared_tier_entry *entry, int to,
                      uint64_t *check)
{
    char name[PATH_BYTES];
    unsigned next = 0;
    name_entry(entry->path, name);
    STK_OWNED_FD int home = stk_home_open(shared->home);
    int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW;
    int from = home < 0 ? home : stk_sys_openat(home, name, flags, 0);
    int error = from < 0 ? from : copy_sealed(from, entry, to, check);
    while (error != 0 && (from = open_next(shared, &next, name, entry->bytes)) >= 0) {
        error = copy_sealed(from, entry, to, check);
        entry->rights = 0; /* the member's own */
    }
    return error;
}

/* ---- to there ---- */

/* Writes an entry with its seal. The error of a write may come only at the fsync() or the
 * close(). */
static int write_draft(int home, char name[NAME_BYTES], const struct shared_tier_entry *entry,
                       int from, mode_t mode)
{
    struct seal seal;
    struct stat stat_;
    uint64_t check;
    int to = make_draft(home, name, mode);
    if (to < 0) {
        return to;
    }
    int error = copy(from, to, entry->bytes, &check);
    make_seal(&seal, entry, check);
    error = error == 0 ? stk_sys_pwrite_all(to, &seal, sizeof seal, (off_t)entry->bytes) : error;
    error = error == 0 && fsync(to) != 0 ? -errno : error;
    error = error == 0 ? stk_sys_fstat(to, &stat_) : error;
    error = error == 0 && (uint64_t)stat_.st_size != entry->bytes + sizeof seal ? -EIO : error;
    int closed = stk_sys_close(to);
    return error != 0 ? error : closed;
}

static mode_t directory_mode(const struct shared_tier *shared)
{
    return shared->gid != 0 ? 0710 : 0700;
}

/* Returns true if the directory of this entry is there, and members may pass it. */
static bool is_open_to_group(int home, char *name)
{
    struct stat stat_;
    char *slash = strrchr(name, '/');
    *slash = '\0';
    int error = stk_sys_fstatat(home, name, &stat_, AT_SYMLINK_NOFOLLOW);
    *slash = '/';
    return error == 0 && (stat_.st_mode & 0777) == 0710;
}

/* Makes a directory. One that is there may be closed: it was made when no group shared the tier. */
static int make_directory(const struct shared_tier *shared, int home, const char *name)
{
    int error = stk_sys_mkdirat(home, name, directory_mode(shared));
    if (error == -EEXIST && shared->gid != 0) {
        shared_tier_open_to_group(home, name, shared->gid);
    }
    return error == -EEXIST ? 0 : error;
}

static int make_directories(const struct shared_tier *shared, int home, char *name)
{
    int error = 0;
    char *first = name + sizeof SHARED_TIER_ENTRIES - 1;
    for (char *slash = strchr(first, '/'); slash != NULL && error == 0;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        error = make_directory(shared, home, name);
        *slash = '/';
    }
    return error;
}

/* Puts a draft into place. On a file system without hard links it is renamed: then two nodes that
 * publish at the same time replace each other's equal file. RENAME_NOREPLACE is not used: some file
 * systems ignore it. */
static int place(int home, const char *draft, const char *name, bool repairs)
{
    if (!repairs && linkat(home, draft, home, name, 0) == 0) {
        return 0;
    }
    int error = repairs ? 0 : -errno;
    if (error == -EEXIST || error == -ENOENT) {
        return error;
    }
    if (!repairs && stk_sys_faccessat(home, name, F_OK) == 0) {
        return -EEXIST;
    }
    return renameat(home, draft, home, name) == 0 ? 0 : -errno;
}

static int place_in_directory(const struct shared_tier *shared, int home, const char *draft,
                              char *name, bool repairs)
{
    bool closed = shared->gid != 0 && !is_open_to_group(home, name);
    int error = closed ? -ENOENT : place(home, draft, name, repairs);
    if (error == -ENOENT) {
        error = make_directories(shared, home, name);
        error = error == 0 ? place(home, draft, name, repairs) : error;
    }
    return error;
}

int shared_tier_publish(const struct shared_tier *shared, const struct shared_tier_entry *entry,
                        int from, bool repairs, bool for_members)
{
    char draft[NAME_BYTES], name[PATH_BYTES];
    name_entry(entry->path, name);
    STK_OWNED_FD int home = stk_home_open(shared->home);
    if (home < 0) {
        return home;
    }
    int error = write_draft(home, draft, entry, from, for_members ? 0640 : 0600);
    error = error == 0 ? place_in_directory(shared, home, draft, name, repairs) : error;
    stk_sys_unlinkat(home, draft, 0); /* unless it was renamed */
    return error;
}

/* ---- setting up ---- */

/* Reads a file that was just written, as another node would: by its name. */
static int read_back(int home, const char *name, const char *text, size_t bytes)
{
    char back[16] = "";
    STK_OWNED_FD int fd = stk_sys_openat(home, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0);
    int error = fd < 0 ? fd : read_all(fd, back, bytes, 0);
    return error != 0 ? error : memcmp(text, back, bytes) == 0 ? 0 : -EIO;
}

/* Tests whether the file system keeps written data, and returns it. */
static int try_out(int home)
{
    static const char text[] = "tried out";
    char name[NAME_BYTES];
    int fd = make_draft(home, name, 0600);
    if (fd < 0) {
        return fd;
    }
    int error = stk_sys_pwrite_all(fd, text, sizeof text, 0);
    error = error == 0 && fsync(fd) != 0 ? -errno : error;
    stk_sys_close(fd);
    error = error == 0 ? read_back(home, name, text, sizeof text) : error;
    stk_sys_unlinkat(home, name, 0);
    return error;
}

static int make_home(const struct shared_tier *shared, int home)
{
    int error = make_directory(shared, home, "shared");
    error = error == 0 ? stk_sys_mkdirat(home, MAKING, 0700) : error;
    error = error == 0 || error == -EEXIST ? stk_sys_mkdirat(home, "nodes", 0700) : error;
    return error == -EEXIST ? 0 : error;
}

bool shared_tier_wants_room(int error)
{
    return error == -ENOSPC || error == -EDQUOT || error == -EROFS;
}

int shared_tier_open(struct shared_tier *shared)
{
    int error = stk_home_path(shared->home, shared->directory) ? 0 : -ENAMETOOLONG;
    error = error == 0 ? stk_home_ensure(shared->home) : error;
    STK_OWNED_FD int home = error == 0 ? stk_home_open(shared->home) : error;
    if (home < 0) {
        return home;
    }
    if (shared->gid != 0 && !shared_tier_open_to_group(AT_FDCWD, shared->home, shared->gid)) {
        shared->gid = 0;
    }
    error = make_home(shared, home);
    error = error == 0 ? try_out(home) : error;
    return shared_tier_wants_room(error) ? 0 : error;
}

int shared_tier_try(const struct shared_tier *shared)
{
    STK_OWNED_FD int home = stk_home_open(shared->home);
    int error = home < 0 ? home : try_out(home);
    return shared_tier_wants_room(error) ? 0 : error;
}

/* Removes what is older in a directory of drafts, or a file there. */
static void sweep_name(int home, const char *name, int64_t before_s)
{
    struct stat stat_;
    struct dirent *entry;
    char below[NAME_BYTES + 256];
    int error = stk_sys_fstatat(home, name, &stat_, AT_SYMLINK_NOFOLLOW);
    if (error == 0 && S_ISREG(stat_.st_mode) && stat_.st_mtime < before_s) {
        stk_sys_unlinkat(home, name, 0);
    }
    OWNED_DIR DIR *names =
        error == 0 && S_ISDIR(stat_.st_mode) ? shared_tier_list(home, name) : NULL;
    while (names != NULL && (entry = readdir(names)) != NULL) {
        if (entry->d_name[0] != '.' && strlen(name) < sizeof MAKING + 4) {
            snprintf(below, sizeof below, "%s/%s", name, entry->d_name);
            sweep_name(home, below, before_s);
        }
    }
}

/* Compares times of the file server's clock only: this node's clock may differ. */
void shared_tier_sweep(const struct shared_tier *shared)
{
    char name[NAME_BYTES];
    struct stat now;
    STK_OWNED_FD int home = stk_home_open(shared->home);
    STK_OWNED_FD int fd = home < 0 ? home : make_draft(home, name, 0600);
    if (fd >= 0 && stk_sys_fstat(fd, &now) == 0) {
        sweep_name(home, MAKING, now.st_mtime - LEFT_S);
    }
    if (fd >= 0) {
        stk_sys_unlinkat(home, name, 0);
    }
}
