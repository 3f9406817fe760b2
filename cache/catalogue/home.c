#include "cache/catalogue/home.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "base/text.h"
#include "base/trusted_path.h"

#define CANDIDATES       4
#define LEAST_ROOM_BYTES (1 << 20)

static bool name_home(char out[STK_HOME_BYTES], const char *dir, unsigned number)
{
    const uint64_t uid = stk_sys_geteuid();
    return number == 0 ? stk_text_print(out, STK_HOME_BYTES, "%s" STK_HOME_STEM "%lu", dir, uid)
                       : stk_text_print(out, STK_HOME_BYTES, "%s" STK_HOME_STEM "%lu.%lu", dir, uid,
                                        (uint64_t)number);
}

enum home_owner { NOBODYS, OURS, OTHERS };

/* A file of ours with a second name may have got this one from anybody. */
static enum home_owner whose_is(const char *home)
{
    struct stat stat;
    if (stk_sys_fstatat(AT_FDCWD, home, &stat, AT_SYMLINK_NOFOLLOW) != 0) {
        return NOBODYS;
    }
    bool ours = stat.st_uid == stk_sys_geteuid() && (S_ISDIR(stat.st_mode) || stat.st_nlink == 1);
    return ours ? OURS : OTHERS;
}

bool stk_home_path(char out[STK_HOME_BYTES], const char *dir)
{
    unsigned free_one = STK_HOME_NAMES;
    for (unsigned i = 0; i < STK_HOME_NAMES; i++) {
        if (!name_home(out, dir, i)) {
            return false;
        }
        enum home_owner whose = whose_is(out);
        if (whose == OURS) {
            return true;
        }
        free_one = whose == NOBODYS && free_one == STK_HOME_NAMES ? i : free_one;
    }
    return name_home(out, dir, free_one % STK_HOME_NAMES);
}

bool stk_home_is_name(const char *leaf)
{
    char name[STK_HOME_BYTES];
    bool is = false;
    for (unsigned i = 0; i < STK_HOME_NAMES && !is; i++) {
        is = name_home(name, "", i) && strcmp(name + 1, leaf) == 0;
    }
    return is;
}

bool stk_home_is_further_name(const char *leaf)
{
    char name[STK_HOME_BYTES];
    return stk_home_is_name(leaf) && name_home(name, "", 0) && strcmp(name + 1, leaf) != 0;
}

/* Checks for a directory of this user, to which no other user may write, unless a bit of `allowed`
 * says that this does no harm. */
static int check(const struct stat *stat, bool is_roots, mode_t allowed)
{
    if (!S_ISDIR(stat->st_mode)) {
        return S_ISLNK(stat->st_mode) ? -ELOOP : -ENOTDIR;
    }
    if (stat->st_uid != stk_sys_geteuid() && !is_roots) {
        return -EPERM;
    }
    return (stat->st_mode & 022) != 0 && (stat->st_mode & allowed) == 0 ? -ENOTUNIQ : 0;
}

int stk_home_check(const char *home)
{
    struct stat stat;
    int error = stk_sys_fstatat(AT_FDCWD, home, &stat, AT_SYMLINK_NOFOLLOW);
    return error != 0 ? error : check(&stat, false, 0);
}

int stk_home_open(const char *home)
{
    struct stat stat;
    int fd = stk_sys_openat(AT_FDCWD, home, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd < 0) {
        return fd;
    }
    int error = stk_sys_fstat(fd, &stat);
    return stk_sys_opened(fd, error == 0 ? check(&stat, false, 0) : error);
}

int stk_home_ensure(const char *home)
{
    int error = stk_sys_make_directory(home, 0700);
    return error == 0 || error == -EEXIST ? stk_home_check(home) : error;
}

int stk_home_ensure_directory(const char *home, const char *name)
{
    char path[STK_HOME_BYTES];
    return stk_text_print(path, sizeof path, "%s/%s", home, name) ? stk_home_ensure(path)
                                                                  : -ENAMETOOLONG;
}

/* Entries, drafts, listings and samples are opened by their paths: a process that may rename a
 * directory above could put another tree in their place while they are in use. */
int stk_home_check_parent(const char *dir, char where[STK_HOME_BYTES])
{
    char unwanted[STK_HOME_BYTES]; /* STK_PATH_BYTES are too many for a thread's small stack */
    char *at = where != NULL ? where : unwanted;
    struct stat stat;
    if (!stk_text_copy(at, STK_HOME_BYTES, dir)) {
        return -ENAMETOOLONG;
    }
    int error = stk_sys_fstatat(AT_FDCWD, dir, &stat, AT_SYMLINK_NOFOLLOW);
    error = error != 0 ? error : check(&stat, stat.st_uid == 0, S_ISVTX);
    return error != 0 ? error : stk_trusted_path_check_above(dir, stat.st_uid, at, STK_HOME_BYTES);
}

/* The directories that may hold a home with the catalogue, best first. */
static int list_candidates(const char *out[CANDIDATES], char user[64])
{
    int count = 0;
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    stk_text_print(user, 64, "/run/user/%lu", (uint64_t)stk_sys_geteuid());
    out[count++] = "/dev/shm";
    if (runtime != NULL && runtime[0] == '/') {
        out[count++] = runtime;
    }
    out[count++] = user;
    out[count++] = "/tmp";
    return count;
}

static bool is_tmpfs(const char *dir, struct statfs *fs)
{
    return stk_sys_statfs(dir, fs) == 0 && fs->f_type == TMPFS_MAGIC;
}

static bool has_room(const char *dir)
{
    struct statfs fs;
    return is_tmpfs(dir, &fs) && (fs.f_files == 0 || fs.f_ffree >= 8) &&
           (int64_t)fs.f_bavail * fs.f_bsize >= LEAST_ROOM_BYTES;
}

static bool has_catalogue(const char *home)
{
    char path[STK_HOME_BYTES + 16];
    struct statfs fs;
    stk_text_print(path, sizeof path, "%s/catalogue", home);
    return is_tmpfs(home, &fs) && stk_home_check(home) == 0 &&
           stk_sys_faccessat(AT_FDCWD, path, 0) == 0;
}

int stk_home_find_existing(char out[STK_HOME_BYTES])
{
    const char *candidates[CANDIDATES];
    char user[64];
    int count = list_candidates(candidates, user);
    for (int i = 0; i < count; i++) {
        if (stk_home_path(out, candidates[i]) && has_catalogue(out)) {
            return 0;
        }
    }
    return -ENOENT;
}

int stk_home_find(char out[STK_HOME_BYTES])
{
    const char *candidates[CANDIDATES];
    char user[64];
    int first_error = 0;
    if (stk_home_find_existing(out) == 0) {
        return 0;
    }
    int count = list_candidates(candidates, user);
    for (int i = 0; i < count; i++) {
        int error = -ENOSPC;
        if (has_room(candidates[i]) && stk_home_path(out, candidates[i])) {
            error = stk_home_ensure(out);
        }
        if (error == 0) {
            return 0;
        }
        first_error = first_error != 0 ? first_error : error;
    }
    return first_error;
}
