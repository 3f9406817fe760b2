#include "cache/origin/root.h"

#include <fcntl.h>
#include <string.h>

#include "base/hash.h"
#include "base/options.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/volume.h"
#include "cache/origin/mounts.h"

/* ---- spelling ---- */

const char *stk_roots_keep(struct stk_roots *roots, const char *text, size_t length)
{
    if (length >= sizeof roots->text - roots->text_used) {
        return NULL;
    }
    char *kept = roots->text + roots->text_used;
    memcpy(kept, text, length);
    kept[length] = '\0';
    roots->text_used += length + 1;
    return kept;
}

static struct stk_root *add_root(struct stk_roots *roots, const char *prefix)
{
    const char *kept =
        roots->count < STK_ROOTS ? stk_roots_keep(roots, prefix, strlen(prefix)) : NULL;
    if (kept == NULL) {
        return NULL;
    }
    struct stk_root *root = &roots->roots[roots->count++];
    *root = (struct stk_root){.prefix = kept, .prefix_length = strlen(kept), .canonical = kept};
    return root;
}

/* "/data/" and "/data/." are "/data". */
static void strip_end(char *path)
{
    size_t length = strlen(path);
    while (length > 1 &&
           (path[length - 1] == '/' || (path[length - 1] == '.' && path[length - 2] == '/'))) {
        path[--length] = '\0';
    }
}

void stk_roots_spell(struct stk_roots *roots, const char *paths)
{
    char path[STK_PATH_BYTES], folded[STK_PATH_BYTES];
    folded[0] = '/';
    while (stk_options_next_path(&paths, path, sizeof path)) {
        strip_end(path);
        if (path[0] == '/' && stk_path_fold(path, folded + 1, sizeof folded - 1) > 0) {
            add_root(roots, folded);
        }
    }
}

/* ---- what a root is ---- */

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

struct mount_search {
    struct stk_root *root;
    uint64_t id;
    bool names_volume;
    uint64_t hash;
};

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

static void consider_mount(void *context, const struct stk_mount *mount)
{
    struct mount_search *search = context;
    if (mount->id == search->id) {
        uint64_t hash = stk_hash_64(mount->source, strlen(mount->source), 0);
        search->hash = stk_hash_64(mount->root, strlen(mount->root), hash);
        search->hash = stk_hash_64(mount->type, strlen(mount->type), search->hash);
        search->names_volume = source_names_volume(mount->source);
        search->root->inode_counts = type_keeps_inodes(mount->type);
        search->root->kind = kind_of(mount->type);
        search->root->single_user = is_single_user(mount);
        search->root->is_fuse = is_fuse(mount->type);
    }
}

/* Hashes the mount where the descriptor leads. A mount that the table does not show (of a changed
 * root directory) has its number only. */
static bool hash_mount(struct stk_root *root, int fd, uint64_t *out)
{
    struct statfs fs;
    struct mount_search search = {.root = root};
    root->inode_counts = true;
    if (!stk_volume_mount_id(fd, &search.id) || !stk_mounts_visit(consider_mount, &search)) {
        return false;
    }
    if (!search.names_volume && stk_sys_fstatfs(fd, &fs) != 0) {
        return false;
    }
    uint64_t volume = search.names_volume ? 0 : stk_volume_of_fd(fd, &fs);
    root->lasting = search.names_volume || stk_volume_has_number(&fs);
    *out = stk_hash_64(&volume, sizeof volume, search.hash);
    return true;
}

static void name_root(struct stk_root *root, uint64_t hash)
{
    const char *leaf = stk_path_leaf(root->canonical);
    struct stk_text name = stk_text_in(root->name, sizeof root->name - 18);
    stk_text_add(&name, leaf);
    name.room = sizeof root->name;
    stk_text_add_char(&name, '-');
    stk_text_add_hex(&name, hash, 16);
}

/* The path of an open directory as the kernel spells it, kept; NULL when there is no room. */
static const char *path_of_fd(struct stk_roots *roots, int fd)
{
    char link[32], path[STK_PATH_BYTES];
    stk_proc_fd_path(link, fd);
    ssize_t length = stk_sys_readlinkat(AT_FDCWD, link, path, sizeof path - 1);
    if (length <= 0) {
        return NULL;
    }
    path[length] = '\0';
    return stk_roots_keep(roots, path, (size_t)length);
}

static bool identify_fd(struct stk_roots *roots, struct stk_root *root, int fd, uint64_t *mounted)
{
    struct stat stat;
    if (stk_sys_fstat(fd, &stat) != 0 || !S_ISDIR(stat.st_mode)) {
        return false;
    }
    root->dev = stat.st_dev;
    root->ino = stat.st_ino;
    root->canonical = path_of_fd(roots, fd);
    return root->canonical != NULL && hash_mount(root, fd, mounted);
}

static bool identify(struct stk_roots *roots, struct stk_root *root, uint64_t *mounted)
{
    int fd = stk_sys_openat(AT_FDCWD, root->prefix, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    bool known = identify_fd(roots, root, fd, mounted);
    stk_sys_close(fd);
    return known;
}

/* A root that is a file becomes its directory, with only that name covered. */
static void split_file_root(struct stk_roots *roots, struct stk_root *root)
{
    struct stat stat;
    if (stk_sys_fstatat(AT_FDCWD, root->prefix, &stat, 0) != 0 || !S_ISREG(stat.st_mode)) {
        return;
    }
    const char *leaf = stk_path_leaf(root->prefix);
    size_t length = (size_t)(leaf - root->prefix) - 1;
    const char *kept = length > 0 ? stk_roots_keep(roots, root->prefix, length) : NULL;
    if (kept != NULL) {
        root->only = leaf;
        root->prefix = kept;
        root->prefix_length = length;
    }
}

/* Hashes of a process's view of the file system and of its rights (base/proc.h). */
struct sight {
    uint64_t view, rights;
};

static void resolve_one(struct stk_roots *roots, struct stk_root *root, const struct sight *sight)
{
    uint64_t mounted = 0;
    split_file_root(roots, root);
    if (!identify(roots, root, &mounted)) {
        return;
    }
    uint64_t hash = stk_hash_64(root->canonical, strlen(root->canonical), mounted);
    const uint64_t parts[] = {sight->view, root->dev, root->ino, hash};
    root->key = stk_hash_64(parts, sizeof parts, sight->rights);
    name_root(root, hash);
    root->linked = strcmp(root->prefix, root->canonical) != 0;
    root->usable = true;
}

bool stk_root_is_there(const struct stk_root *root)
{
    struct stat stat;
    return !root->linked || (stk_sys_fstatat(AT_FDCWD, root->prefix, &stat, 0) == 0 &&
                             stat.st_dev == root->dev && stat.st_ino == root->ino);
}

/* ---- mounts below a root ---- */

struct mount_below {
    struct stk_roots *roots;
    unsigned count; /* of the roots that were asked for */
};

/* Adds "prefix + what the mount point has behind the root's canonical path". */
static void add_mount_below(struct stk_roots *roots, const struct stk_root *above,
                            const char *behind)
{
    char prefix[STK_PATH_BYTES];
    struct stk_text text = stk_text_in(prefix, sizeof prefix);
    stk_text_add(&text, above->prefix);
    stk_text_add_char(&text, '/');
    stk_text_add(&text, behind);
    if (!text.cut) {
        add_root(roots, prefix);
    }
}

static void consider_below(void *context, const struct stk_mount *mount)
{
    struct mount_below *below = context;
    for (unsigned i = 0; i < below->count; i++) {
        const struct stk_root *root = &below->roots->roots[i];
        const char *behind = root->usable && root->only == NULL
                                 ? stk_path_below(mount->point, root->canonical)
                                 : NULL;
        if (behind != NULL && *behind != '\0') {
            add_mount_below(below->roots, root, behind);
        }
    }
}

/* A root that is spelled through symbolic links is covered by its real path, too: programs get
 * there by getcwd and realpath. */
static void add_canonical(struct stk_roots *roots, const struct stk_root *root)
{
    struct stk_root *real = add_root(roots, root->canonical);
    if (real != NULL) {
        const char *prefix = real->prefix;
        size_t length = real->prefix_length;
        *real = *root;
        real->prefix = prefix;
        real->prefix_length = length;
        real->linked = false;
    }
}

void stk_roots_resolve(struct stk_roots *roots)
{
    const struct sight sight = {stk_proc_view(), stk_proc_rights()};
    unsigned spelled = roots->count;
    for (unsigned i = 0; i < spelled; i++) {
        struct stk_root *root = &roots->roots[i];
        resolve_one(roots, root, &sight);
        if (root->usable && root->linked) {
            add_canonical(roots, root);
        }
    }
    struct mount_below below = {roots, roots->count};
    stk_mounts_visit(consider_below, &below);
    for (unsigned i = below.count; i < roots->count; i++) {
        resolve_one(roots, &roots->roots[i], &sight);
    }
}

/* ---- matching ---- */

/* Returns the rest of a path behind the root. Most paths are spelled as the root is: one
 * comparison. The others are walked component by component. */
static const char *below(const struct stk_root *root, const char *path)
{
    if (strncmp(path, root->prefix, root->prefix_length) == 0) {
        const char *rest = path + root->prefix_length;
        if (rest[0] == '/' && rest[1] != '/' && rest[1] != '.') {
            return rest + 1;
        }
    }
    return stk_path_below(path, root->prefix);
}

/* Before it is resolved a file root still has the file's own path as its prefix. */
const struct stk_root *stk_roots_match(const struct stk_roots *roots, const char *path,
                                       const char **rest)
{
    const struct stk_root *best = NULL;
    for (unsigned i = 0; i < roots->count; i++) {
        const struct stk_root *root = &roots->roots[i];
        const char *behind = below(root, path);
        if (behind == NULL || (root->only != NULL && strcmp(root->only, behind) != 0)) {
            continue;
        }
        if (best == NULL || root->prefix_length > best->prefix_length) {
            best = root;
            *rest = behind;
        }
    }
    return best;
}

void stk_roots_lose(struct stk_roots *roots)
{
    atomic_store(&roots->lost, true);
}

const struct stk_root *stk_roots_by_name(const struct stk_roots *roots, const char *name,
                                         size_t length)
{
    const struct stk_root *found = NULL;
    for (unsigned i = 0; i < roots->count && (found == NULL || found->linked); i++) {
        const struct stk_root *root = &roots->roots[i];
        if (root->usable && strlen(root->name) == length && memcmp(root->name, name, length) == 0 &&
            (found == NULL || !root->linked)) {
            found = root;
        }
    }
    return found;
}

const struct stk_root *stk_roots_by_key(const struct stk_roots *roots, uint64_t key)
{
    for (unsigned i = 0; i < roots->count; i++) {
        if (roots->roots[i].usable && roots->roots[i].key == key) {
            return &roots->roots[i];
        }
    }
    return NULL;
}
