/* Entries. See cache/entry.h. */
#include "cache/entry.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "base/samples.h"
#include "base/sys.h"
#include "base/text.h"

#define HIGH_NUMBERS 512 /* from here on, where the limit allows twice as many */

size_t stk_entry_tree(char *out, size_t bytes, const char *home, const struct stk_root *root)
{
    struct stk_text tree = stk_text_in(out, bytes);
    stk_text_add(&tree, home);
    stk_text_add(&tree, STK_ENTRY_TREE);
    stk_text_add(&tree, root->name);
    stk_text_add_char(&tree, '/');
    return tree.cut ? 0 : tree.used;
}

bool stk_entry_path_in(char out[STK_PATH_BYTES], const char *tree, size_t tree_length,
                       const char *below, uint64_t name)
{
    const char *leaf = stk_path_leaf(below);
    struct stk_text path = {.start = out, .used = 0, .room = STK_PATH_BYTES, .cut = false};
    stk_text_add_bytes(&path, tree, tree_length);
    stk_text_add_bytes(&path, below, (size_t)(leaf - below));
    stk_text_add_hex(&path, name, STK_ENTRY_DIGITS);
    stk_text_add_bytes(&path, ";", 1);
    stk_text_add(&path, leaf);
    return !path.cut;
}

bool stk_entry_path(char out[STK_PATH_BYTES], const char *home, const struct stk_root *root,
                    const char *below, uint64_t name)
{
    char tree[STK_HOME_BYTES + STK_ROOT_NAME_BYTES + 8];
    size_t length = stk_entry_tree(tree, sizeof tree, home, root);
    return length > 0 && stk_entry_path_in(out, tree, length, below, name);
}

bool stk_entry_parse(const char *path, const char *home, struct stk_entry_parts *out)
{
    size_t home_length = strlen(home);
    const char *leaf = stk_path_leaf(path);
    const char *digits = leaf;
    if (strncmp(path, home, home_length) != 0 ||
        strncmp(path + home_length, STK_ENTRY_TREE, sizeof STK_ENTRY_TREE - 1) != 0 ||
        !stk_text_take_hex(&digits, STK_ENTRY_DIGITS, &out->name) || *digits != ';') {
        return false;
    }
    out->root = path + home_length + sizeof STK_ENTRY_TREE - 1;
    out->root_length = strcspn(out->root, "/");
    const char *directory = out->root + out->root_length + 1;
    if (directory > leaf) {
        return false;
    }
    struct stk_text below = stk_text_in(out->below, sizeof out->below);
    stk_text_add_bytes(&below, directory, (size_t)(leaf - directory));
    stk_text_add(&below, digits + 1);
    out->listing = digits[1] == '\0';
    return !below.cut;
}

bool stk_entry_looks_like(const char *name, const struct stat *stat)
{
    return S_ISREG(stat->st_mode) && strlen(name) > STK_ENTRY_DIGITS &&
           name[STK_ENTRY_DIGITS] == ';';
}

bool stk_entry_looks_like_file(const char *name, const struct stat *stat)
{
    return stk_entry_looks_like(name, stat) && name[STK_ENTRY_DIGITS + 1] != '\0';
}

/* ---- drafts ---- */

enum whose { OURS, SOMEBODY_ELSES, UNKNOWN };

static enum whose whose_is(const struct stk_entry_draft *draft, struct stat *stat)
{
    if (stk_sys_fstat(draft->fd, stat) != 0) {
        return UNKNOWN;
    }
    return stat->st_ino == draft->ino && stat->st_dev == draft->dev ? OURS : SOMEBODY_ELSES;
}

bool stk_entry_stat(const struct stk_entry_draft *draft, struct stat *stat)
{
    return whose_is(draft, stat) == OURS;
}

bool stk_entry_holds(const struct stk_entry_draft *draft)
{
    struct stat stat;
    return stk_entry_stat(draft, &stat);
}

void stk_entry_close(struct stk_entry_draft *draft)
{
    struct stat stat;
    if (draft->fd >= 0 && whose_is(draft, &stat) != SOMEBODY_ELSES) {
        stk_sys_close(draft->fd);
    }
    draft->fd = -1;
}

/* By its name, which is nobody else's; the number may be already: a chmod of it would be one of
 * whatever file has it now. */
static int identify(struct stk_entry_draft *draft)
{
    struct stat stat;
    int error = stk_sys_fstatat(AT_FDCWD, draft->path, &stat, AT_SYMLINK_NOFOLLOW);
    if (error != 0) {
        stk_sys_close(draft->fd);
        draft->fd = -1;
        return error;
    }
    draft->dev = stat.st_dev;
    draft->ino = stat.st_ino;
    if ((stat.st_mode & 07777) != STK_ENTRY_MODE) { /* an odd umask */
        error = stk_sys_chmod(draft->path, STK_ENTRY_MODE);
    }
    return error == 0 && !stk_entry_holds(draft) ? -EBADF : error;
}

/* A number far above those that programs get, and another one each time. */
int stk_entry_dup_high(int fd)
{
    static _Atomic unsigned turn;
    uint64_t limit = stk_sys_descriptor_limit();
    uint64_t base = limit < 2 * HIGH_NUMBERS ? limit / 2 : HIGH_NUMBERS;
    uint64_t spread = base / 2 + 1;
    return stk_sys_dup_above(fd, (int)(base + atomic_fetch_add(&turn, 1) % spread));
}

/*
 * A thread that closes numbers that are not its own makes others go on with numbers that are the
 * next file's by then: a line of their log would be written into the draft, or what one thread
 * fills into what another does. New files get the lowest number that is free; a high one is
 * nobody's before and after. Without room for it the low one has to do.
 */
static int move_up(struct stk_entry_draft *draft)
{
    struct stk_entry_draft high = *draft;
    high.fd = stk_entry_dup_high(draft->fd);
    if (high.fd < 0) {
        return 0;
    }
    if (!stk_entry_holds(&high)) {
        stk_sys_close(high.fd); /* of a number that was somebody else's already */
        return -EBADF;
    }
    stk_entry_close(draft);
    draft->fd = high.fd;
    return 0;
}

bool stk_entry_parse_draft(const char *name, uint64_t *namespace, uint64_t *pid)
{
    return stk_text_take_number(&name, namespace) && *name++ == '-' &&
           stk_text_take_number(&name, pid) && *name == '.';
}

int stk_entry_begin(struct stk_entry_draft *draft, const char *home, uint64_t bytes)
{
    struct stk_text path = stk_text_in(draft->path, sizeof draft->path);
    draft->removed = false;
    stk_text_add(&path, home);
    stk_text_add(&path, "/fill/");
    stk_text_add_number(&path, stk_samples_namespace());
    stk_text_add_char(&path, '-');
    stk_text_add_number(&path, (uint64_t)stk_sys_getpid());
    stk_text_add_char(&path, '.');
    stk_text_add_hex(&path, (uint64_t)stk_clock_boottime_ns() ^ (uint64_t)(uintptr_t)draft, 16);
    draft->fd = stk_sys_openat(AT_FDCWD, draft->path,
                               O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, STK_ENTRY_MODE);
    if (draft->fd < 0) {
        return draft->fd;
    }
    int error = identify(draft);
    if (error == 0) {
        error = move_up(draft);
    }
    if (error == 0) {
        /* Room for all of it at once: the error comes here, and the file lies in one piece. */
        error = stk_sys_fallocate(draft->fd, 0, (off_t)bytes);
        error = error == -EOPNOTSUPP ? 0 : error;
    }
    if (error != 0) {
        stk_entry_discard(draft);
    }
    return error;
}

void stk_entry_discard(struct stk_entry_draft *draft)
{
    stk_entry_close(draft);
    draft->removed = stk_sys_unlinkat(AT_FDCWD, draft->path, 0) == -ENOENT;
}

/* ---- publishing ---- */

static int make_directory(const struct stk_tier *tier, const char *path)
{
    int64_t blocks = tier->shared->memory ? 0 : stk_budget_blocks_of(1, tier->shared->block_bytes);
    if (stk_tier_take(tier->shared, blocks, 1) != STK_TOOK) {
        return -EDQUOT;
    }
    int error = stk_sys_mkdirat(AT_FDCWD, path, 0700);
    if (error != 0) {
        stk_tier_release(tier->shared, blocks, 1);
    }
    return error == -EEXIST ? 0 : error;
}

/* Notes for people where a root's entries come from. Its failure does not matter. */
static void note_origin(const struct stk_tier *tier, const struct stk_root *root,
                        const char *directory)
{
    char path[STK_PATH_BYTES];
    struct stk_text text = stk_text_in(path, sizeof path);
    stk_text_add(&text, directory);
    stk_text_add(&text, "/" STK_ENTRY_NOTE);
    int64_t blocks = stk_budget_blocks_of(1, tier->shared->block_bytes);
    if (text.cut || stk_tier_take(tier->shared, blocks, 1) != STK_TOOK) {
        return;
    }
    int fd =
        stk_sys_openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, STK_ENTRY_MODE);
    if (fd < 0) {
        stk_tier_release(tier->shared, blocks, 1);
        return;
    }
    size_t length = strlen(root->canonical);
    stk_sys_pwrite(fd, root->canonical, length, 0);
    stk_sys_close(fd);
}

/* Makes the directories above an entry, from the root's own downwards. */
static int make_directories(const struct stk_tier *tier, const struct stk_root *root,
                            const char *entry)
{
    char path[STK_PATH_BYTES];
    size_t start = strlen(tier->home) + sizeof STK_ENTRY_TREE - 1;
    bool first = true;
    if (!stk_text_copy(path, sizeof path, entry)) {
        return -ENAMETOOLONG;
    }
    for (char *slash = strchr(path + start, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int error = make_directory(tier, path);
        if (error != 0) {
            return error;
        }
        if (first) {
            note_origin(tier, root, path);
            first = false;
        }
        *slash = '/';
    }
    return 0;
}

int stk_entry_publish(struct stk_entry_draft *draft, const struct stk_tier *tier,
                      const struct stk_root *root, const char *path)
{
    int error = stk_sys_rename_noreplace(draft->path, path);
    if (error == -ENOENT) {
        error = make_directories(tier, root, path);
        if (error == 0) {
            error = stk_sys_rename_noreplace(draft->path, path);
        }
    }
    if (error != 0) {
        stk_entry_discard(draft);
    }
    return error;
}
