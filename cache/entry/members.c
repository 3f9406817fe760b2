#include "cache/entry/members.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/entry/checksum.h"
#include "cache/origin/entry_name.h"

#define STEM       "stoker-"
#define SETTLED_NS STK_NS_PER_S /* file systems' clocks tick more often */

/* ---- who ---- */

static bool read_members(struct stk_members *group, const char *at)
{
    uint64_t uid;
    while (group->count < STK_MEMBERS_MOST && stk_text_take_number(&at, &uid) &&
           uid <= UINT32_MAX) {
        group->members[group->count++] = (uint32_t)uid;
        at += *at == ',';
    }
    return *at == '\0';
}

void stk_members_read(struct stk_members *group, const char *value)
{
    uint64_t gid;
    group->on = false;
    group->count = 0;
    if (stk_text_take_number(&value, &gid) && gid > 0 && gid < UINT32_MAX && *value++ == ':' &&
        stk_sys_geteuid() != 0) {
        group->gid = (uint32_t)gid;
        group->on = read_members(group, value);
    }
}

static bool is_member(const struct stk_members *group, uint32_t uid)
{
    bool is = false;
    for (unsigned i = 0; i < group->count && !is; i++) {
        is = group->members[i] == uid;
    }
    return is && uid != 0;
}

/* ---- where ---- */

static bool is_shared(const struct stk_members *group, const struct stat *dir)
{
    return group->on && S_ISDIR(dir->st_mode) && dir->st_gid == group->gid &&
           (dir->st_mode & 07777) == STK_MEMBERS_MODE &&
           (dir->st_uid == 0 || dir->st_uid == stk_sys_geteuid() || is_member(group, dir->st_uid));
}

bool stk_members_has(const struct stk_members *group, const char *dir)
{
    struct stat stat;
    return stk_sys_fstatat(AT_FDCWD, dir, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
           is_shared(group, &stat);
}

void stk_members_note(struct stk_members *group, const struct stk_tier *tier)
{
    const char *leaf = stk_path_leaf(tier->home);
    group->tiers[tier->index].dir_length = (size_t)(leaf - tier->home) - 1;
}

/* ---- the others' homes ---- */

/* A home's name is stoker-UID or stoker-UID.N (cache/catalogue/home.h); as a word, not 0. */
static uint64_t word_for(uint32_t uid, unsigned number)
{
    return (uint64_t)uid << 8 | (number + 1);
}

static uint64_t word_of(const char *name)
{
    const char *at = name + sizeof STEM - 1;
    uint64_t uid, number = 0;
    if (strncmp(name, STEM, sizeof STEM - 1) != 0 || !stk_text_take_number(&at, &uid) ||
        uid > UINT32_MAX) {
        return 0;
    }
    if (*at == '.') {
        at++;
        if (!stk_text_take_number(&at, &number) || number == 0 || number >= STK_HOME_NAMES) {
            return 0;
        }
    }
    return *at == '\0' ? word_for((uint32_t)uid, (unsigned)number) : 0;
}

static uint32_t user_of(uint64_t word)
{
    return (uint32_t)(word >> 8);
}

static void add_name(struct stk_text *text, uint64_t word)
{
    stk_text_add(text, STEM);
    stk_text_add_number(text, user_of(word));
    if ((word & 0xff) > 1) {
        stk_text_add_char(text, '.');
        stk_text_add_number(text, (word & 0xff) - 1);
    }
}

/* The path of a home; where its own name begins. */
static size_t name_home(char out[STK_HOME_BYTES], const struct stk_members *group,
                        const struct stk_tier *tier, uint64_t word)
{
    struct stk_text path = stk_text_in(out, STK_HOME_BYTES);
    stk_text_add_bytes(&path, tier->home, group->tiers[tier->index].dir_length);
    stk_text_add_char(&path, '/');
    add_name(&path, word);
    return path.cut ? 0 : group->tiers[tier->index].dir_length + 1;
}

bool stk_members_is_home_of(const struct stat *home, const char *leaf)
{
    char name[32];
    uint64_t word = word_of(leaf);
    struct stk_text text = stk_text_in(name, sizeof name);
    add_name(&text, word);
    return word != 0 && strcmp(name, leaf) == 0 && user_of(word) == home->st_uid &&
           S_ISDIR(home->st_mode);
}

/* Finds a member's home under the first of its names that the member owns: other users may have
 * taken some. */
static uint64_t look_for_home(int dir, uint32_t uid)
{
    char name[32];
    struct stat stat;
    for (unsigned number = 0; number < STK_HOME_NAMES; number++) {
        struct stk_text text = stk_text_in(name, sizeof name);
        add_name(&text, word_for(uid, number));
        if (stk_sys_fstatat(dir, name, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
            stk_members_is_home_of(&stat, name)) {
            return word_for(uid, number);
        }
    }
    return 0;
}

/* By the members' names: whatever else there is in the directory neither hides them nor takes time.
 */
static void list_homes(const struct stk_members *group, struct stk_members_tier *homes, int dir)
{
    unsigned count = 0;
    for (unsigned i = 0; i < group->count && count < STK_MEMBERS_HOMES; i++) {
        uint32_t uid = group->members[i];
        uint64_t word = uid != 0 && uid != stk_sys_geteuid() ? look_for_home(dir, uid) : 0;
        if (word != 0) {
            atomic_store(&homes->homes[count++], word);
        }
    }
    while (count < STK_MEMBERS_HOMES) {
        atomic_store(&homes->homes[count++], 0);
    }
}

static int open_dir(const struct stk_members *group, const struct stk_tier *tier, int flags)
{
    char dir[STK_HOME_BYTES];
    struct stk_text path = stk_text_in(dir, sizeof dir);
    stk_text_add_bytes(&path, tier->home, group->tiers[tier->index].dir_length);
    return path.cut
               ? -ENAMETOOLONG
               : stk_sys_openat(AT_FDCWD, dir, flags | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW, 0);
}

/* Lists the homes again if their directory's mtime has changed. An mtime as young as its clock's
 * ticks proves nothing. */
static void refresh(struct stk_members *group, const struct stk_tier *tier)
{
    struct stk_members_tier *homes = &group->tiers[tier->index];
    struct stat stat = {.st_size = 0};
    int dir = open_dir(group, tier, O_RDONLY);
    if (dir < 0) {
        return;
    }
    int error = stk_sys_fstat(dir, &stat);
    int64_t changed_ns = stat.st_mtim.tv_sec * STK_NS_PER_S + stat.st_mtim.tv_nsec;
    if (error == 0 && changed_ns != atomic_load(&homes->listed_ns)) {
        bool settled = stk_clock_realtime_ns() - changed_ns > SETTLED_NS;
        list_homes(group, homes, dir);
        atomic_store(&homes->listed_ns, settled ? changed_ns : 0);
    }
    stk_sys_close(dir);
}

/* ---- what the others have ---- */

/* Opens a member's home as a path: owned by the member and the group, and writable by no other
 * user. */
static int open_home(const struct stk_members *group, const struct stk_tier *tier, const char *leaf,
                     uint32_t uid)
{
    struct stat stat;
    int dir = open_dir(group, tier, O_PATH);
    int home = dir < 0 ? dir : stk_sys_open_beneath(dir, leaf, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0) {
        stk_sys_close(dir);
    }
    if (home >= 0 && (stk_sys_fstat(home, &stat) != 0 || stat.st_uid != uid ||
                      stat.st_gid != group->gid || (stat.st_mode & 022) != 0)) {
        stk_sys_close(home);
        home = -EPERM;
    }
    return home;
}

/* Returns true if the open file is the owner's, and no other user could have put it there or
 * written to it. On a disk its bytes are believed in the boot in which the owner has read them
 * (cache/entry/checksum.h). */
static bool is_sound(const struct stk_tier *tier, int fd, uint32_t uid, uint64_t size)
{
    struct stat stat;
    return stk_sys_fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_uid == uid &&
           stat.st_nlink == 1 && (stat.st_mode & 022) == 0 && (uint64_t)stat.st_size == size &&
           (tier->shared->memory != 0 || stk_checksum_is_of_this_boot(&stat));
}

/* Below a home. Not waiting: for the other end of a pipe, or for a lease to end. */
static int open_below(const struct stk_tier *tier, int home, const char *rest, uint32_t uid,
                      uint64_t size, int flags)
{
    int fd = stk_sys_open_beneath(home, rest, flags | O_NONBLOCK);
    if (fd < 0) {
        return fd;
    }
    bool good = is_sound(tier, fd, uid, size) &&
                ((flags & O_NONBLOCK) != 0 || stk_sys_set_status_flags(fd, flags) == 0);
    if (!good) {
        stk_sys_close(fd);
    }
    return good ? fd : -EPERM;
}

/* The word of the home that an entry lies in, and where its name and what is below it begin. */
static uint64_t parse(const struct stk_members *group, const struct stk_tier *tier,
                      const char *entry, const char **leaf, const char **rest)
{
    char name[32];
    size_t length = group->tiers[tier->index].dir_length;
    if (!stk_members_shares(group, tier) || strncmp(entry, tier->home, length) != 0 ||
        entry[length] != '/') {
        return 0;
    }
    *leaf = entry + length + 1;
    size_t bytes = strcspn(*leaf, "/");
    struct stk_text text = stk_text_in(name, sizeof name);
    stk_text_add_bytes(&text, *leaf, bytes);
    *rest = *leaf + bytes + 1;
    uint64_t word = text.cut || (*leaf)[bytes] == '\0' ? 0 : word_of(name);
    return word != 0 && is_member(group, user_of(word)) ? word : 0;
}

int stk_members_open_entry(const struct stk_members *group, const struct stk_tier *tier,
                           const char *entry, uint64_t size, int flags)
{
    char path[STK_HOME_BYTES];
    const char *leaf, *rest;
    uint64_t word = parse(group, tier, entry, &leaf, &rest);
    size_t start = word != 0 ? name_home(path, group, tier, word) : 0;
    int home = start > 0 ? open_home(group, tier, path + start, user_of(word)) : -ENOENT;
    if (home < 0) {
        return home;
    }
    int fd = open_below(tier, home, rest, user_of(word), size, flags);
    stk_sys_close(home);
    return fd;
}

bool stk_members_find(struct stk_members *group, const struct stk_tier *tier,
                      const struct stk_root *root, const char *below, uint64_t name, uint64_t size,
                      char entry[STK_PATH_BYTES])
{
    char home[STK_HOME_BYTES];
    int fd = -ENOENT;
    if (!stk_members_shares(group, tier)) {
        return false;
    }
    refresh(group, tier);
    for (unsigned i = 0; i < STK_MEMBERS_HOMES && fd < 0; i++) {
        uint64_t word = atomic_load(&group->tiers[tier->index].homes[i]);
        if (word != 0 && name_home(home, group, tier, word) > 0 &&
            stk_entry_path(entry, home, root, below, name)) {
            fd = stk_members_open_entry(group, tier, entry, size, O_RDONLY | O_CLOEXEC);
        }
    }
    if (fd >= 0) {
        stk_sys_close(fd);
    }
    return fd >= 0;
}

bool stk_members_home_of(const struct stk_members *group, const struct stk_tier *tier,
                         const char *entry, char home[STK_HOME_BYTES])
{
    const char *leaf, *rest;
    uint64_t word = parse(group, tier, entry, &leaf, &rest);
    return word != 0 && name_home(home, group, tier, word) > 0;
}
