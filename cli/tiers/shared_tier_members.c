/* Entries that other members of the group have put into a shared tier. */
#include "cli/tiers/shared_tier_members.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/catalogue/home.h"
#include "cli/os/descriptors.h"

#define MOST_HOMES 64
#define MOST_NAMES 4096 /* members can litter the directory */
#define HOME_MODE  02710
#define LIST_NS    (10 * STK_NS_PER_S)

/* The other members that have a home. Guarded by the lock. */
static struct {
    pthread_mutex_t lock;
    int64_t listed_ns; /* 0: never */
    unsigned count;
    uid_t uids[MOST_HOMES];
} members = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the directory ---- */

bool shared_tier_is_of_group(const struct stat *directory, gid_t gid)
{
    return gid != 0 && S_ISDIR(directory->st_mode) && directory->st_gid == gid &&
           (directory->st_mode & 07777) == SHARED_TIER_GROUP_MODE;
}

/* Opens the directory, which must still be the group's. */
static int open_directory(const char *directory, gid_t gid)
{
    struct stat stat;
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = stk_sys_openat(AT_FDCWD, directory, flags, 0);
    if (fd >= 0 && (stk_sys_fstat(fd, &stat) != 0 || !shared_tier_is_of_group(&stat, gid))) {
        stk_sys_close(fd);
        fd = -EPERM;
    }
    return fd;
}

/* ---- homes ---- */

/* Parses stoker-UID, which no other name may stand for. */
static bool parse_home(const char *name, uid_t *uid)
{
    uint64_t number;
    const char *at = name + sizeof STK_HOME_STEM - 2;
    bool is = strncmp(name, &STK_HOME_STEM[1], sizeof STK_HOME_STEM - 2) == 0 &&
              stk_text_take_number(&at, &number) && *at == '\0' && number < UINT32_MAX;
    *uid = is ? (uid_t)number : 0;
    return is && *uid != 0 && *uid != stk_sys_geteuid();
}

static int open_home(int directory, uid_t uid, gid_t gid)
{
    char name[32];
    struct stat stat;
    struct stk_text text = stk_text_in(name, sizeof name);
    stk_text_add(&text, &STK_HOME_STEM[1]);
    stk_text_add_number(&text, uid);
    int fd = stk_sys_open_beneath(directory, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && (stk_sys_fstat(fd, &stat) != 0 || stat.st_uid != uid || stat.st_gid != gid ||
                    (stat.st_mode & 022) != 0)) {
        stk_sys_close(fd);
        fd = -EPERM;
    }
    return fd;
}

static void list_homes(int directory)
{
    struct dirent *entry;
    OWNED_DIR DIR *names = directory_open(directory);
    members.count = 0;
    for (unsigned i = 0; names != NULL && i < MOST_NAMES && members.count < MOST_HOMES &&
                         (entry = readdir(names)) != NULL;
         i++) {
        members.count += parse_home(entry->d_name, &members.uids[members.count]);
    }
}

/* Copies the members, listed not long ago. Returns their number. */
static unsigned find_members(int directory, uid_t out[MOST_HOMES])
{
    pthread_mutex_lock(&members.lock);
    int64_t now_ns = stk_clock_boottime_ns();
    if (members.listed_ns == 0 || now_ns - members.listed_ns > LIST_NS) {
        list_homes(directory);
        members.listed_ns = now_ns;
    }
    unsigned count = members.count;
    memcpy(out, members.uids, count * sizeof *out);
    pthread_mutex_unlock(&members.lock);
    return count;
}

/* ---- entries ---- */

/* Opens a plain file that this member alone can have written. Never waits for the other end of a
 * pipe. */
static int open_entry(int home, const char *name, uid_t uid, uint64_t bytes)
{
    struct stat stat;
    int fd = stk_sys_open_beneath(home, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && (stk_sys_fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode) || stat.st_uid != uid ||
                    (stat.st_mode & 022) != 0 || (uint64_t)stat.st_size != bytes)) {
        stk_sys_close(fd);
        fd = -ENOENT;
    }
    return fd;
}

int shared_tier_open_next(const char *directory, gid_t gid, unsigned *next, const char *name,
                          uint64_t bytes)
{
    uid_t uids[MOST_HOMES];
    int fd = -ENOENT;
    STK_OWNED_FD int homes = gid != 0 ? open_directory(directory, gid) : -ENOENT;
    if (homes < 0) {
        return -ENOENT;
    }
    for (unsigned count = find_members(homes, uids); fd < 0 && *next < count; ++*next) {
        STK_OWNED_FD int home = open_home(homes, uids[*next], gid);
        fd = home >= 0 ? open_entry(home, name, uids[*next], bytes) : -ENOENT;
    }
    return fd < 0 ? -ENOENT : fd;
}

/* ---- this user's own home ---- */

/* Removes a list of rights that the directory has handed down, which may let in further users. */
static bool drop_list(int fd, const char *list)
{
    int error = stk_sys_remove_attribute(fd, list);
    return error == 0 || error == -ENODATA || error == -EOPNOTSUPP;
}

/* The kernel clears the bit that hands the group down if this user is not in the group. */
static bool set_mode(int fd)
{
    struct stat stat;
    return drop_list(fd, "system.posix_acl_access") && drop_list(fd, "system.posix_acl_default") &&
           stk_sys_fchmod(fd, HOME_MODE) == 0 && stk_sys_fstat(fd, &stat) == 0 &&
           (stat.st_mode & 07777) == HOME_MODE;
}

bool shared_tier_open_to_group(int at, const char *name, gid_t gid)
{
    struct stat stat;
    STK_OWNED_FD int fd =
        stk_sys_openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    bool ours = fd >= 0 && stk_sys_fstat(fd, &stat) == 0 && stat.st_uid == stk_sys_geteuid() &&
                stat.st_gid == gid;
    return ours && ((stat.st_mode & 07777) == HOME_MODE || set_mode(fd));
}
