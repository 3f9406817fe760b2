/* Threads that share out the directories of a tree: a thread hands on a directory while others have
 * too little to do, and walks it itself otherwise. */
#include "cli/os/team_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "cli/os/thread.h"

#define MOST_THREADS 8
#define WAITING      (2 * MOST_THREADS) /* directories: each holds a descriptor */

struct team {
    stk_walk_visitor *visit;
    void *context;
    _Atomic int result; /* not 0: a visitor has ended the walk */

    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t changed;
    unsigned at_work, waiting;
    struct {
        int fd;
        unsigned depth;
    } directories[WAITING];
};

static unsigned processors(void)
{
    cpu_set_t set;
    unsigned count = sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
    return count < MOST_THREADS ? count : MOST_THREADS;
}

static int visit_file(void *context, int dirfd, const char *name, const struct stat *stat)
{
    struct team *team = context;
    int result = S_ISDIR(stat->st_mode) ? 0 : team->visit(team->context, dirfd, name, stat);
    if (result != 0) {
        atomic_store(&team->result, result);
    }
    return atomic_load_explicit(&team->result, memory_order_relaxed);
}

static bool hand_on(void *context, int dirfd, unsigned depth)
{
    struct team *team = context;
    pthread_mutex_lock(&team->lock);
    bool room = team->waiting < WAITING;
    if (room) {
        team->directories[team->waiting].fd = dirfd;
        team->directories[team->waiting++].depth = depth;
        pthread_cond_signal(&team->changed);
    }
    pthread_mutex_unlock(&team->lock);
    return room;
}

/* Waits for a directory. Returns its descriptor, or -1 if no thread can hand one on any more. */
static int next_directory(struct team *team, unsigned *depth)
{
    int fd = -1;
    pthread_mutex_lock(&team->lock);
    while (team->waiting == 0 && team->at_work > 0) {
        pthread_cond_wait(&team->changed, &team->lock);
    }
    if (team->waiting > 0) {
        fd = team->directories[--team->waiting].fd;
        *depth = team->directories[team->waiting].depth;
        team->at_work++;
    }
    pthread_mutex_unlock(&team->lock);
    return fd;
}

static void *work(void *context)
{
    struct team *team = context;
    const struct stk_walk walk = {visit_file, hand_on, team, .within = true};
    unsigned depth;
    for (int fd; (fd = next_directory(team, &depth)) >= 0;) {
        stk_walk_open(&walk, fd, depth);
        close(fd);
        pthread_mutex_lock(&team->lock);
        team->at_work--;
        pthread_cond_broadcast(&team->changed);
        pthread_mutex_unlock(&team->lock);
    }
    return NULL;
}

int team_walk(const char *top, stk_walk_visitor *visit, void *context)
{
    pthread_t threads[MOST_THREADS];
    unsigned count = 0;
    int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return -errno;
    }
    struct team team = {.visit = visit,
                        .context = context,
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .changed = PTHREAD_COND_INITIALIZER,
                        .waiting = 1,
                        .directories = {{.fd = fd, .depth = 1}}};
    while (count + 1 < processors() && thread_start(&threads[count], work, &team)) {
        count++;
    }
    work(&team); /* this thread is one of them */
    while (count > 0) {
        pthread_join(threads[--count], NULL);
    }
    return atomic_load(&team.result);
}
