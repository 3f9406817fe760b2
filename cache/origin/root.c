#include "cache/origin/root.h"

#include <fcntl.h>
#include <string.h>

#include "base/options.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/origin/mounts.h"

/* ---- spelling ---- */

char *stk_roots_keep(struct stk_roots *roots, const char *text, size_t length)
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
    struct stk_root *root = &roots->roots[roots->count];
    *root = (struct stk_root){.prefix = kept,
                              .prefix_length = strlen(kept),
                              .canonical = kept,
                              .noted = roots->noted[roots->count]};
    roots->count++;
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

static bool take_location(struct stk_roots *roots, struct stk_root *root, int fd)
{
    struct stk_location location;
    if (!stk_location_find(fd, root->canonical, &location)) {
        return false;
    }
    root->kind = location.kind;
    root->inode_counts = location.inode_counts;
    root->lasting = location.lasting;
    root->single_user = location.single_user;
    root->is_fuse = location.is_fuse;
    root->volume = location.volume;
    root->mount = location.mount;
    root->mounting = location.mounting;
    root->name_length = strlen(location.name);
    root->name = stk_roots_keep(roots, location.name, root->name_length);
    return root->name != NULL;
}

static bool identify_fd(struct stk_roots *roots, struct stk_root *root, int fd)
{
    struct stat stat;
    if (stk_sys_fstat(fd, &stat) != 0 || !S_ISDIR(stat.st_mode)) {
        return false;
    }
    root->dev = stat.st_dev;
    root->ino = stat.st_ino;
    root->canonical = path_of_fd(roots, fd);
    return root->canonical != NULL && take_location(roots, root, fd);
}

static bool identify(struct stk_roots *roots, struct stk_root *root)
{
    STK_OWNED_FD int fd =
        stk_sys_openat(AT_FDCWD, root->prefix, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    return fd >= 0 && identify_fd(roots, root, fd);
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

/* Returns the rest of a path in a tier behind a name, or NULL if the path does not lie there. */
static const char *behind_name(const struct stk_root *root, const char *in_tree)
{
    const char *rest = in_tree + root->name_length;
    if (strncmp(in_tree, root->name, root->name_length) != 0) {
        return NULL;
    }
    return *rest == '/' ? rest + 1 : *rest == '\0' ? rest : NULL;
}

/* Gives a root a volume of its own if another mount already leads to some of its files: an entry's
 * path must lead back to one origin. */
static void keep_apart(const struct stk_roots *roots, struct stk_root *root)
{
    for (const struct stk_root *other = roots->roots; other < &roots->roots[roots->count];
         other++) {
        if (other->usable && other->mount != root->mount &&
            (behind_name(root, other->name) != NULL || behind_name(other, root->name) != NULL)) {
            root->volume = stk_hash_64(&root->mount, sizeof root->mount, root->volume);
            stk_location_rename(root->name, root->volume);
            return;
        }
    }
}

static struct stk_hash128 key_of(const struct stk_root *root, const struct sight *sight)
{
    const uint64_t above[] = {sight->view,  sight->rights, root->dev,
                              root->volume, root->mount,   root->mounting};
    const char *slash = strchr(root->name, '/');
    const char *path = slash != NULL ? slash + 1 : "";
    return stk_hash_path(path, strlen(path), stk_hash_128(above, sizeof above, 0));
}

static void resolve_one(struct stk_roots *roots, struct stk_root *root, const struct sight *sight)
{
    split_file_root(roots, root);
    if (!identify(roots, root)) {
        return;
    }
    keep_apart(roots, root);
    root->key = key_of(root, sight);
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
    if (stk_text_print(prefix, sizeof prefix, "%s/%s", above->prefix, behind)) {
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
    roots->rights = sight.rights;
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

const char *stk_root_below(const struct stk_root *root, const char *in_tree)
{
    const char *rest = root->usable ? behind_name(root, in_tree) : NULL;
    return rest != NULL && (root->only == NULL || strcmp(rest, root->only) == 0) ? rest : NULL;
}

const struct stk_root *stk_roots_by_name(const struct stk_roots *roots, const char *in_tree)
{
    const struct stk_root *found = NULL;
    for (unsigned i = 0; i < roots->count; i++) {
        const struct stk_root *root = &roots->roots[i];
        if (stk_root_below(root, in_tree) != NULL &&
            (found == NULL || root->name_length > found->name_length ||
             (root->name_length == found->name_length && found->linked && !root->linked))) {
            found = root;
        }
    }
    return found;
}

const struct stk_root *stk_roots_by_key(const struct stk_roots *roots, uint64_t key)
{
    for (unsigned i = 0; i < roots->count; i++) {
        if (roots->roots[i].usable && roots->roots[i].key.low == key) {
            return &roots->roots[i];
        }
    }
    return NULL;
}
