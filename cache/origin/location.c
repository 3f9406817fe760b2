#include "cache/origin/location.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "base/hash.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/volume.h"
#include "cache/origin/mounts.h"

/* ---- what a mount's type and source say ---- */

static bool is_fuse(const char *type)
{
    return strncmp(type, "fuse", 4) == 0 && strncmp(type, "fuseblk", 7) != 0;
}

/* Mounts whose inode numbers are not kept by anybody: a look at another time shows another. */
static bool type_keeps_inodes(const char *type)
{
    static const char *const keepers[] = {"fuse.glusterfs", "fuse.ceph-fuse", "fuse.juicefs",
                                          "fuse.mfs",       "fuse.mfsmount",  "fuse.lizardfs",
                                          "fuse.beegfs",    "fuse.dfuse"};
    if (!is_fuse(type)) {
        return strcmp(type, "cifs") != 0 && strcmp(type, "smb3") != 0;
    }
    for (size_t i = 0; i < sizeof keepers / sizeof *keepers; i++) {
        if (strcmp(type, keepers[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Others may keep a directory's times as well (some FUSE), or make times up (object stores). */
static enum stk_root_kind kind_of(const char *type)
{
    static const struct {
        const char *type;
        enum stk_root_kind kind;
    } known[] = {
        {"nfs", STK_ROOT_SERVER},   {"nfs4", STK_ROOT_SERVER},     {"lustre", STK_ROOT_SERVER},
        {"ceph", STK_ROOT_SERVER},  {"ext2", STK_ROOT_DISK},       {"ext3", STK_ROOT_DISK},
        {"ext4", STK_ROOT_DISK},    {"xfs", STK_ROOT_DISK},        {"btrfs", STK_ROOT_DISK},
        {"f2fs", STK_ROOT_DISK},    {"overlay", STK_ROOT_DISK},    {"zfs", STK_ROOT_DISK},
        {"erofs", STK_ROOT_DISK},   {"squashfs", STK_ROOT_DISK},   {"tmpfs", STK_ROOT_MEMORY},
        {"ramfs", STK_ROOT_MEMORY}, {"hugetlbfs", STK_ROOT_MEMORY}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(type, known[i].type) == 0) {
            return known[i].kind;
        }
    }
    return STK_ROOT_UNKNOWN;
}

/* Returns true for "server:/volume", "//server/share" and their like: they are the same volume
 * whenever they are mounted, and shall not be asked over a network. Other sources ("/dev/loop0",
 * "overlay", "s3fs", a path) may stand for another volume tomorrow. */
static bool source_names_volume(const char *source)
{
    return source[0] != '/' ? strchr(source, ':') != NULL || strstr(source, "=/") != NULL
                            : source[1] == '/';
}

/* Returns true if only the user that mounted a FUSE file system may enter it. */
static bool is_single_user(const struct stk_mount *mount)
{
    return strncmp(mount->type, "fuse", 4) == 0 && strstr(mount->options, ",allow_other") == NULL;
}

/* Returns true if the source is this machine, or a port of its own: behind two tunnels that are
 * spelled alike are two servers. */
static bool is_tunnel(const struct stk_mount *mount)
{
    static const char *const here[] = {"127.", "localhost", "[::1]", "::1"};
    for (size_t i = 0; i < sizeof here / sizeof *here; i++) {
        if (strncmp(mount->source, here[i], strlen(here[i])) == 0) {
            return true;
        }
    }
    return strstr(mount->options, ",port=") != NULL;
}

/* Returns true if two volumes may have equal sources, and files that look equal: then the mount
 * point must keep them apart. Images come one after the other on one loop device. */
static bool may_be_mistaken(const struct stk_mount *mount)
{
    return is_fuse(mount->type) || !type_keeps_inodes(mount->type) || is_tunnel(mount) ||
           strncmp(mount->source, "/dev/loop", 9) == 0;
}

/* Returns how much of the source names the volume. The rest is a path on it: NFS shows a bind mount
 * of a directory as "server:/export/directory". All exports of an NFSv4 server are one tree; those
 * of an older one may hide each other's directories. */
static size_t volume_length(const struct stk_mount *mount)
{
    const char *path = strcmp(mount->type, "nfs4") == 0 ? strstr(mount->source, ":/") : NULL;
    return path != NULL ? (size_t)(path + 1 - mount->source) : strlen(mount->source);
}

/* ---- finding the mount ---- */

struct mount_search {
    struct stk_location *out;
    uint64_t id;
    const char *canonical;
    bool located; /* the table shows the mount, and where it lies on its volume */
    bool names_volume;
    bool mistakable;
    struct stk_text name;
};

/* Adds "/a/b" to a path, with single slashes. Adds nothing for "/" and "". */
static void add_below(struct stk_text *path, const char *more)
{
    more += strspn(more, "/");
    while (*more != '\0') {
        size_t length = strcspn(more, "/");
        stk_text_add_char(path, '/');
        stk_text_add_bytes(path, more, length);
        more += length;
        more += strspn(more, "/");
    }
}

/* Returns true if a path says where it leads, unlike "/a/../b", and the kernel's "/a//deleted". */
static bool is_plain(const char *path)
{
    return strstr(path, "//") == NULL && strstr(path, "/..") == NULL;
}

static void begin_name(struct stk_text *name, const char *type)
{
    stk_text_add(name, type);
    stk_text_add_char(name, STK_LOCATION_MARK);
    stk_text_add_hex(name, 0, STK_LOCATION_DIGITS);
}

/* Names the volume, and the path on it: the directory that is mounted, and the way from the mount
 * point. */
static void locate(struct mount_search *search, const struct stk_mount *mount, const char *below)
{
    size_t volume = volume_length(mount);
    struct stk_location *out = search->out;
    out->volume = stk_hash_64(mount->source, volume, 0);
    out->volume = stk_hash_64(mount->type, strlen(mount->type), out->volume);
    search->located = true;
    search->names_volume = source_names_volume(mount->source);
    search->mistakable = may_be_mistaken(mount);
    begin_name(&search->name, mount->type);
    add_below(&search->name, mount->source + volume);
    add_below(&search->name, mount->root);
    add_below(&search->name, below);
}

static void consider_mount(void *context, const struct stk_mount *mount)
{
    struct mount_search *search = context;
    struct stk_location *out = search->out;
    if (mount->id != search->id || search->located) {
        return;
    }
    out->kind = kind_of(mount->type);
    out->inode_counts = type_keeps_inodes(mount->type);
    out->single_user = is_single_user(mount);
    out->is_fuse = is_fuse(mount->type);
    out->mount = stk_hash_64(mount->point, strlen(mount->point), 0);
    const char *point = strcmp(mount->point, "/") == 0 ? "" : mount->point;
    const char *below = stk_path_below(search->canonical, point);
    const char *on_server = mount->source + volume_length(mount);
    if (below != NULL && mount->root[0] == '/' && is_plain(mount->root) && is_plain(on_server)) {
        locate(search, mount, below);
    }
}

/* Names a directory of which the table does not show where it lies, as after a change of the root
 * directory: it is a volume of its own. */
static void name_alone(struct mount_search *search)
{
    struct stat stat = {0};
    struct stk_location *out = search->out;
    stk_sys_fstatat(AT_FDCWD, search->canonical, &stat, 0);
    out->mount = stk_hash_64(search->canonical, strlen(search->canonical), stat.st_ino);
    search->mistakable = true;
    begin_name(&search->name, "directory");
}

/* ---- the volume ---- */

static bool has_number(const struct statfs *fs)
{
    static const fsid_t none;
    return memcmp(&fs->f_fsid, &none, sizeof none) != 0;
}

/* Adds the number of the volume, unless its source says enough and no network shall be asked. */
static bool add_number(struct mount_search *search, int fd)
{
    struct statfs fs;
    struct stk_location *out = search->out;
    if (search->names_volume) {
        out->lasting = true;
        return true;
    }
    if (stk_sys_fstatfs(fd, &fs) != 0) {
        return false;
    }
    uint64_t number = stk_volume_of_fd(fd, &fs);
    out->lasting = stk_volume_has_number(&fs);
    out->volume = stk_hash_64(&number, sizeof number, out->volume);
    search->mistakable = search->mistakable || !has_number(&fs);
    return true;
}

void stk_location_rename(char *name, uint64_t volume)
{
    struct stk_text digits =
        stk_text_in(strchr(name, STK_LOCATION_MARK) + 1, STK_LOCATION_DIGITS + 1);
    char behind = digits.start[STK_LOCATION_DIGITS];
    stk_text_add_hex(&digits, volume, STK_LOCATION_DIGITS);
    digits.start[STK_LOCATION_DIGITS] = behind;
}

bool stk_location_is_volume(const char *name)
{
    const char *mark = strchr(name, STK_LOCATION_MARK);
    uint64_t volume;
    mark = mark != NULL ? mark + 1 : "";
    return stk_text_take_hex(&mark, STK_LOCATION_DIGITS, &volume) && *mark == '\0';
}

bool stk_location_find(int fd, const char *canonical, struct stk_location *out)
{
    struct mount_search search = {.out = out, .canonical = canonical};
    *out = (struct stk_location){.inode_counts = true, .volume = 0};
    search.name = stk_text_in(out->name, sizeof out->name);
    if (!stk_volume_mount_id(fd, &search.id) || !stk_mounts_visit(consider_mount, &search)) {
        return false;
    }
    if (!search.located) {
        name_alone(&search);
    }
    out->mounting = stk_volume_mount_number(fd);
    if (!add_number(&search, fd)) {
        return false;
    }
    if (search.mistakable) {
        out->volume = stk_hash_64(&out->mount, sizeof out->mount, out->volume);
    }
    stk_location_rename(out->name, out->volume);
    return !search.name.cut;
}
