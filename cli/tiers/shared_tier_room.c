/* The room of a shared tier. Each node appends to a file of its own how many bytes it will put
 * there, or gives back. So nothing depends on locks, and a node that dies has reserved too much,
 * not too little. The sum over all nodes must stay within the budget. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/local.h"
#include "base/proc.h"
#include "base/sys.h"
#include "cli/os/descriptors.h"
#include "cli/tiers/shared_tier.h"

#define NODES   "nodes"
#define STEPS   256                 /* a node reserves this part of the budget at once */
#define RESERVE 10                  /* this part of a file system stays free for other users */
#define MEMORY  2                   /* and this part of one in memory, for jobs */
#define LOOK_NS (10 * STK_NS_PER_S) /* between two looks at free space, or at the other nodes */

static struct {
    pthread_mutex_t lock;
    int64_t ahead;   /* reserved, and not used */
    int64_t full_ns; /* when it was found full; 0: it was not */
} room = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- what nodes say ---- */

static int open_own(int home)
{
    char name[32], node[256] = "";
    gethostname(node, sizeof node - 1);
    uint64_t hash = stk_hash_64(node, strlen(node), stk_proc_boot());
    snprintf(name, sizeof name, NODES "/%016llx", (unsigned long long)hash);
    return stk_sys_openat(home, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static int say_more(const struct shared_tier *shared, int64_t more)
{
    STK_OWNED_FD int home = stk_home_open(shared->home);
    int fd = home < 0 ? home : open_own(home);
    if (fd < 0) {
        return fd;
    }
    ssize_t put = write(fd, &more, sizeof more);
    int error = put == (ssize_t)sizeof more ? 0 : put < 0 ? -errno : -EIO;
    int closed = stk_sys_close(fd);
    return error != 0 ? error : closed;
}

/* Returns the sum of the numbers in a file. Skips a line that is cut off or not a number. */
static int64_t sum_of(int directory, const char *name)
{
    int64_t numbers[512], sum = 0;
    ssize_t got = 0;
    STK_OWNED_FD int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    while (fd >= 0 && (got = stk_sys_read(fd, numbers, sizeof numbers)) > 0) {
        for (size_t i = 0; i < (size_t)got / sizeof *numbers; i++) {
            bool sound = numbers[i] > -(INT64_C(1) << 50) && numbers[i] < INT64_C(1) << 50;
            sum += sound ? numbers[i] : 0;
        }
    }
    return sum > 0 ? sum : 0;
}

static int sum_of_all(const struct shared_tier *shared, int64_t *sum)
{
    struct dirent *entry;
    STK_OWNED_FD int home = stk_home_open(shared->home);
    OWNED_DIR DIR *nodes = home >= 0 ? shared_tier_list(home, NODES) : NULL;
    *sum = 0;
    if (nodes == NULL) {
        return home < 0 ? home : -errno;
    }
    while ((entry = readdir(nodes)) != NULL) {
        *sum += entry->d_name[0] != '.' ? sum_of(dirfd(nodes), entry->d_name) : 0;
    }
    return 0;
}

/* Reserves first, and then looks at the sum. If two nodes do so at once, both may step back, and
 * none exceeds the budget. */
static int say_ahead(const struct shared_tier *shared, int64_t bytes)
{
    int64_t step = shared->budget_bytes / STEPS > bytes ? shared->budget_bytes / STEPS : bytes;
    int64_t sum;
    int error = say_more(shared, step);
    if (error != 0) {
        return error;
    }
    error = sum_of_all(shared, &sum);
    if (error == 0 && sum <= shared->budget_bytes) {
        room.ahead += step;
        return 0;
    }
    say_more(shared, -step);
    return error != 0 ? error : -ENOSPC;
}

/* Looks at the free space. If it is unknown, only an error of a write says that the tier is
 * full. */
static int look_at_free(const struct shared_tier *shared, int64_t bytes)
{
    struct statfs fs;
    int error = stk_sys_statfs(shared->home, &fs);
    if (error != 0 || fs.f_blocks == 0) {
        return error;
    }
    int64_t left = (int64_t)fs.f_bavail * fs.f_bsize, all = (int64_t)fs.f_blocks * fs.f_bsize;
    return left - bytes < all / (stk_local_is_memory(&fs) ? MEMORY : RESERVE) ? -ENOSPC : 0;
}

/* ---- taking ---- */

static int take_locked(const struct shared_tier *shared, int64_t bytes)
{
    int64_t now_ns = stk_clock_boottime_ns();
    if (room.full_ns != 0 && now_ns - room.full_ns < LOOK_NS) {
        return -ENOSPC;
    }
    int error = 0;
    if (shared->budget_bytes < 0) {
        error = look_at_free(shared, bytes);
    } else if (room.ahead < bytes) {
        error = say_ahead(shared, bytes);
    }
    room.full_ns = error == -ENOSPC ? now_ns : 0;
    room.ahead -= error == 0 && shared->budget_bytes >= 0 ? bytes : 0;
    return error;
}

int shared_tier_take_room(const struct shared_tier *shared, uint64_t bytes)
{
    pthread_mutex_lock(&room.lock);
    int error = take_locked(shared, (int64_t)bytes + SHARED_TIER_SEAL_BYTES);
    pthread_mutex_unlock(&room.lock);
    return error;
}

void shared_tier_give_room(const struct shared_tier *shared, uint64_t bytes)
{
    pthread_mutex_lock(&room.lock);
    room.ahead += shared->budget_bytes >= 0 ? (int64_t)bytes + SHARED_TIER_SEAL_BYTES : 0;
    pthread_mutex_unlock(&room.lock);
}

void shared_tier_end_room(const struct shared_tier *shared)
{
    pthread_mutex_lock(&room.lock);
    if (room.ahead > 0) {
        say_more(shared, -room.ahead);
        room.ahead = 0;
    }
    pthread_mutex_unlock(&room.lock);
}
