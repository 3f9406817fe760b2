/* What /proc tells about this process and its ancestors. See base/proc.h. */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/sys.h"
#include "base/text.h"

/* The kernel's USER_HZ: 100 on every architecture we run on. */
#define TICK_NS       (STK_NS_PER_S / 100)
#define MAX_ANCESTORS 64
#define EXE_BYTES     512

long stk_proc_read_text(const char *path, char *buffer, size_t bytes)
{
    int fd = stk_sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) {
        return fd;
    }
    size_t used = 0;
    ssize_t got;
    do {
        got = stk_sys_read(fd, buffer + used, bytes - 1 - used);
        used += got > 0 ? (size_t)got : 0;
    } while (got > 0 && used < bytes - 1);
    stk_sys_close(fd);
    buffer[used] = '\0';
    return got < 0 ? got : (long)used;
}

static struct stk_text proc_path(char *buffer, size_t bytes, pid_t pid, const char *leaf)
{
    struct stk_text path = stk_text_in(buffer, bytes);
    stk_text_add(&path, "/proc/");
    stk_text_add_number(&path, (uint64_t)pid);
    stk_text_add(&path, leaf);
    return path;
}

/* Moves behind `fields` blanks. */
static const char *skip_fields(const char *at, unsigned fields)
{
    while (fields > 0 && *at != '\0') {
        fields -= *at++ == ' ';
    }
    return at;
}

int stk_proc_start(pid_t pid, int64_t *start_ns, pid_t *parent)
{
    char path[48], stat[512];
    uint64_t ticks, ppid;
    proc_path(path, sizeof path, pid, "/stat");
    long length = stk_proc_read_text(path, stat, sizeof stat);
    if (length < 0) {
        return (int)length;
    }
    /* "pid (name) state ppid ...": the name may hold anything, so start behind its last bracket. */
    const char *state = strrchr(stat, ')');
    if (state == NULL) {
        return -EINVAL;
    }
    const char *ppid_at = skip_fields(state, 2);
    const char *start_at = skip_fields(state, 20);
    if (!stk_text_take_number(&ppid_at, &ppid) || !stk_text_take_number(&start_at, &ticks)) {
        return -EINVAL;
    }
    *parent = (pid_t)ppid;
    *start_ns = (int64_t)(ticks + 1) * TICK_NS;
    return 0;
}

static bool read_exe(pid_t pid, char exe[EXE_BYTES])
{
    char path[48];
    proc_path(path, sizeof path, pid, "/exe");
    ssize_t length = stk_sys_readlinkat(AT_FDCWD, path, exe, EXE_BYTES - 1);
    if (length <= 0) {
        return false;
    }
    exe[length] = '\0';
    return true;
}

/* The pid by which /proc knows us; it differs from getpid() under a /proc of another namespace. */
static pid_t pid_in_proc(void)
{
    char link[32];
    ssize_t length = stk_sys_readlinkat(AT_FDCWD, "/proc/self", link, sizeof link - 1);
    uint64_t pid = 0;
    if (length > 0) {
        const char *at = link;
        link[length] = '\0';
        stk_text_take_number(&at, &pid);
    }
    return (pid_t)pid;
}

int64_t stk_proc_run_start_ns(void)
{
    char mine[EXE_BYTES], other[EXE_BYTES];
    pid_t parent = 0;
    pid_t pid = pid_in_proc();
    int64_t start = 0;
    if (pid == 0 || stk_proc_start(pid, &start, &parent) != 0) {
        return stk_clock_boottime_ns();
    }
    if (pid != stk_sys_getpid() || !read_exe(pid, mine)) {
        return start;
    }
    for (int i = 0; i < MAX_ANCESTORS && parent > 0; i++) {
        if (!read_exe(parent, other) || strcmp(mine, other) != 0 ||
            stk_proc_start(parent, &start, &parent) != 0) {
            break;
        }
    }
    return start;
}

uint64_t stk_proc_view(void)
{
    struct {
        char mounts[64];
        uint64_t root_dev, root_ino;
    } view = {{0}, 0, 0};
    struct stat root;
    if (stk_sys_readlinkat(AT_FDCWD, "/proc/self/ns/mnt", view.mounts, sizeof view.mounts) <= 0 ||
        stk_sys_fstatat(AT_FDCWD, "/", &root, 0) != 0) {
        return 0;
    }
    view.root_dev = root.st_dev;
    view.root_ino = root.st_ino;
    return stk_hash_64(&view, sizeof view, 0);
}

void stk_proc_fd_path(char out[32], int fd)
{
    struct stk_text path = stk_text_in(out, 32);
    stk_text_add(&path, "/proc/self/fd/");
    stk_text_add_number(&path, (uint64_t)(unsigned)fd);
}
