#include "cache/tier/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/walk.h"
#include "cache/catalogue/budget.h"
#include "cache/catalogue/home.h"

#define MAGIC          UINT64_C(0x31302d746e636361) /* changes with the layout */
#define LOCK_TRIES     20
#define LOCK_PAUSE_NS  (STK_NS_PER_S / 2000)
#define COUNT_LIMIT_NS (STK_NS_PER_S / 50)

/* As it lies in the file. */
struct ledger_file {
    uint64_t magic;
    struct stk_ledger count;
    uint64_t check; /* of all before */
};

static uint64_t check_of(const struct ledger_file *content)
{
    return stk_hash_64(content, offsetof(struct ledger_file, check), 0);
}

/* ---- walking ---- */

struct count_walk {
    int64_t blocks, inodes, deadline_ns;
    const atomic_bool *stop;
};

static int walk_one(void *context, int dirfd, const char *name, const struct stat *stat)
{
    struct count_walk *walk = context;
    (void)dirfd;
    (void)name;
    walk->blocks += stat->st_blocks;
    walk->inodes++;
    if (walk->stop != NULL && atomic_load(walk->stop)) {
        return -EINTR;
    }
    bool look = walk->deadline_ns != 0;
    return look && stk_clock_boottime_ns() > walk->deadline_ns ? -ETIME : 0;
}

int stk_ledger_walk(const char *home, int64_t limit_ns, const atomic_bool *stop, int64_t *blocks,
                    int64_t *inodes)
{
    int64_t deadline_ns = limit_ns != 0 ? stk_clock_boottime_ns() + limit_ns : 0;
    struct count_walk walk = {.inodes = 1, .deadline_ns = deadline_ns, .stop = stop};
    int error = stk_walk(home, walk_one, &walk);
    *blocks = walk.blocks;
    *inodes = walk.inodes;
    return error;
}

/* ---- the file ---- */

static void pause_shortly(void)
{
    _Atomic uint64_t nobody = 0;
    stk_sys_futex_wait(&nobody, 0, LOCK_PAUSE_NS);
}

/* Opens and locks it; the fd, or -errno. */
static int open_locked(const char *home)
{
    char path[STK_HOME_BYTES + 8];
    int fd = stk_text_print(path, sizeof path, "%s/account", home)
                 ? stk_sys_create(path, O_RDWR, 0600)
                 : -ENAMETOOLONG;
    for (int i = 0; fd >= 0 && i < LOCK_TRIES; i++) {
        if (stk_sys_flock(fd, LOCK_EX | LOCK_NB) == 0) {
            return fd;
        }
        pause_shortly();
    }
    return stk_sys_opened(fd, -EAGAIN);
}

/* Unlocks the file before its close: a child that was forked meanwhile has the descriptor, too. */
static void close_locked(int fd)
{
    stk_sys_flock(fd, LOCK_UN);
    stk_sys_close(fd);
}

static int load(int fd, struct stk_ledger *out)
{
    struct ledger_file content;
    if (stk_sys_pread(fd, &content, sizeof content, 0) != (ssize_t)sizeof content ||
        content.magic != MAGIC || content.check != check_of(&content)) {
        return -EPROTO;
    }
    *out = content.count;
    return 0;
}

static int store(int fd, const struct stk_ledger *count)
{
    struct ledger_file content = {.magic = MAGIC, .count = *count};
    content.check = check_of(&content);
    ssize_t put = stk_sys_pwrite(fd, &content, sizeof content, 0);
    return put == (ssize_t)sizeof content ? 0 : put < 0 ? (int)put : -ENOSPC;
}

/* Counts what the whole file system holds, which is more than the tier does. */
static int count_file_system(const char *home, struct stk_ledger *out)
{
    struct statfs fs;
    int error = stk_sys_statfs(home, &fs);
    if (error == 0) {
        out->blocks = (int64_t)(fs.f_blocks - fs.f_bfree) * (fs.f_bsize / STK_BLOCK_BYTES);
        out->inodes = (int64_t)(fs.f_files - fs.f_ffree);
    }
    return error;
}

static int make(int fd, const char *home, struct stk_ledger *out)
{
    *out = (struct stk_ledger){.blocks = 0};
    int error = stk_sys_fallocate(fd, 0, sizeof(struct ledger_file));
    if (error != 0 && error != -EOPNOTSUPP) {
        return error;
    }
    error = stk_ledger_walk(home, COUNT_LIMIT_NS, NULL, &out->blocks, &out->inodes);
    if (error == -ETIME) {
        error = count_file_system(home, out);
    }
    return error == 0 ? store(fd, out) : error;
}

int stk_ledger_open(const char *home, struct stk_ledger *out)
{
    int fd = open_locked(home);
    if (fd < 0 || load(fd, out) == 0) {
        return fd;
    }
    int error = make(fd, home, out);
    if (error != 0) {
        close_locked(fd);
    }
    return error == 0 ? fd : error;
}

int stk_ledger_close(int fd, const struct stk_ledger *count)
{
    int error = count != NULL ? store(fd, count) : 0;
    close_locked(fd);
    return error;
}

static int64_t less(int64_t count, int64_t gone)
{
    return count > gone ? count - gone : 0;
}

void stk_ledger_free(const char *home, int64_t blocks, int64_t inodes)
{
    struct stk_ledger count;
    int fd = stk_ledger_open(home, &count);
    if (fd >= 0) {
        count.blocks = less(count.blocks, blocks);
        count.inodes = less(count.inodes, inodes);
        stk_ledger_close(fd, &count);
    }
}
