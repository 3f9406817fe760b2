#include "cache/entry/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/own_number.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/catalogue/home.h"

enum draft_owner { OURS, SOMEBODY_ELSES, UNKNOWN };

static enum draft_owner whose_is(const struct stk_entry_draft *draft, struct stat *stat)
{
    if (stk_sys_fstat(draft->fd, stat) != 0) {
        return UNKNOWN;
    }
    if (stat->st_ino != draft->ino || stat->st_dev != draft->dev) {
        return SOMEBODY_ELSES;
    }
    STK_INVARIANT(stat->st_nlink <= 1); /* a draft has one name, so one owner */
    return OURS;
}

bool stk_entry_stat(const struct stk_entry_draft *draft, struct stat *stat)
{
    return whose_is(draft, stat) == OURS;
}

bool stk_entry_holds(const struct stk_entry_draft *draft)
{
    struct stat stat;
    return stk_own_number_is_alone() || stk_entry_stat(draft, &stat);
}

int stk_entry_write(const struct stk_entry_draft *draft, const void *data, size_t bytes,
                    off_t offset)
{
    return stk_entry_holds(draft) ? stk_sys_pwrite_all(draft->fd, data, bytes, offset) : -EBADF;
}

void stk_entry_close(struct stk_entry_draft *draft)
{
    struct stat stat;
    if (draft->fd >= 0 && (stk_own_number_is_alone() || whose_is(draft, &stat) != SOMEBODY_ELSES)) {
        stk_sys_close(draft->fd);
    }
    if (draft->own) {
        stk_own_number_release(draft->fd);
    }
    draft->own = false;
    draft->fd = -1;
}

/* Identifies the draft by its name, which is unique. The number may be another file's already: a
 * chmod by number would change that file. */
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

/*
 * If a thread closes a number that is not its own, another thread may go on with that number, which
 * is then the next opened file's. A line of a log would land in the draft, or one thread's copy in
 * another's. New files get the lowest free number, so a high number is no other file's before or
 * after; and it is no other draft's until this one is closed. If there is none, the low number has
 * to do.
 */
int stk_entry_move_up(struct stk_entry_draft *draft)
{
    struct stk_entry_draft high = *draft;
    high.fd = stk_own_number_take(draft->fd);
    if (high.fd < 0) {
        return 0;
    }
    high.own = true;
    if (!stk_entry_holds(&high)) { /* of a number that was another file's already */
        stk_sys_close(high.fd);
        stk_own_number_release(high.fd);
        return -EBADF;
    }
    stk_entry_close(draft);
    draft->fd = high.fd;
    draft->own = true;
    return 0;
}

bool stk_entry_parse_draft(const char *name, uint64_t *namespace, uint64_t *pid)
{
    return stk_text_take_number(&name, namespace) && *name++ == '-' &&
           stk_text_take_number(&name, pid) && *name == '.';
}

/* ---- making ---- */

/* Gives the draft its path. There is room for all numbers. */
static void name_draft(struct stk_entry_draft *draft, const char *home)
{
    uint64_t unique = (uint64_t)stk_clock_boottime_ns() ^ (uint64_t)(uintptr_t)draft;
    stk_text_print(draft->path, sizeof draft->path, "%s/fill/%lu-%lu.%016lx", home,
                   stk_proc_pid_namespace(), (uint64_t)stk_sys_getpid(), unique);
}

/* Opens the draft's file. Returns 0 or -errno. */
static int create(struct stk_entry_draft *draft)
{
    draft->fd = stk_sys_openat(AT_FDCWD, draft->path,
                               O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, STK_ENTRY_MODE);
    return draft->fd < 0 ? draft->fd : 0;
}

int stk_entry_begin(struct stk_entry_draft *draft, const struct stk_tier *tier, uint64_t bytes)
{
    int error = stk_home_check(tier->home);
    draft->removed = false;
    draft->own = false;
    if (error != 0) {
        return error;
    }
    name_draft(draft, tier->home);
    error = create(draft);
    if (error != 0) {
        return error;
    }
    error = identify(draft);
    if (error == 0) {
        error = stk_entry_move_up(draft);
    }
    if (error == 0 && !tier->shared->memory) {
        /* Room for all of it at once: the error comes here, and the file lies in one piece. Memory
         * has no pieces, and its error comes with the write. */
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
    int error = stk_tier_take(tier->shared, blocks, 1);
    if (error != 0) {
        return error;
    }
    error = stk_sys_make_directory(path, 0700);
    if (error != 0) {
        stk_tier_release(tier->shared, blocks, 1);
    }
    return error == -EEXIST ? 0 : error;
}

/* Writes the note in a directory that exists. Its failure does not matter. */
static void write_note(const struct stk_tier *tier, const char *path, const char *text)
{
    int64_t blocks = stk_budget_blocks_of(1, tier->shared->block_bytes);
    if (stk_tier_take(tier->shared, blocks, 1) != 0) {
        return;
    }
    STK_OWNED_FD int fd = stk_sys_create(path, O_WRONLY | O_EXCL, STK_ENTRY_MODE);
    if (fd < 0) {
        stk_tier_release(tier->shared, blocks, 1);
        return;
    }
    stk_sys_pwrite(fd, text, strlen(text), 0);
}

/* Notes in a root's directory where its entries come from, once in a process: a nested root may
 * have made the directory. */
static void note_origin(const struct stk_tier *tier, const struct stk_root *root)
{
    char path[STK_PATH_BYTES];
    if (atomic_load(&root->noted[tier->index])) {
        return;
    }
    size_t length = stk_entry_tree(path, sizeof path, tier->home, root);
    if (length > 0 && length + sizeof STK_ENTRY_NOTE <= sizeof path) {
        memcpy(path + length, STK_ENTRY_NOTE, sizeof STK_ENTRY_NOTE);
        write_note(tier, path, root->canonical);
    }
    atomic_store(&root->noted[tier->index], true);
}

/* Makes the directories above an entry, from the volume's downwards. */
static int make_directories(const struct stk_tier *tier, const char *entry)
{
    char path[STK_PATH_BYTES];
    size_t start = strlen(tier->home) + sizeof STK_ENTRY_TREE - 1;
    if (!stk_text_copy(path, sizeof path, entry)) {
        return -ENAMETOOLONG;
    }
    for (char *slash = strchr(path + start, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int error = make_directory(tier, path);
        if (error != 0) {
            return error;
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
        error = make_directories(tier, path);
        atomic_store(&root->noted[tier->index], false);
        if (error == 0) {
            error = stk_sys_rename_noreplace(draft->path, path);
        }
    }
    if (error != 0) {
        stk_entry_discard(draft);
    } else {
        note_origin(tier, root);
    }
    return error;
}
