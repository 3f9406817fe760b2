#include "cli/fill/big_team.h"

#include <pthread.h>
#include <stdatomic.h>

#include "cli/fill/big_files.h"
#include "cli/os/priority.h"
#include "cli/os/thread.h"

static struct {
    struct big_worker workers[BIG_TEAM_MOST];
    unsigned started; /* under the lock */
    pthread_mutex_t lock;
    atomic_uint alive;
    atomic_bool over;
} team = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool big_team_goes_on(void)
{
    return !atomic_load(&team.over);
}

static void *fill(void *worker)
{
    priority_lower();
    while (big_team_goes_on()) {
        big_files_step(worker, big_team_goes_on);
    }
    big_worker_close(worker);
    atomic_fetch_sub(&team.alive, 1);
    return worker;
}

void big_team_start(unsigned wanted)
{
    pthread_mutex_lock(&team.lock);
    while (team.started < wanted && team.started < BIG_TEAM_MOST) {
        struct big_worker *worker = &team.workers[team.started];
        big_worker_set_up(worker);
        atomic_fetch_add(&team.alive, 1);
        if (!thread_start_detached(fill, worker)) {
            atomic_fetch_sub(&team.alive, 1);
            break;
        }
        team.started++;
    }
    pthread_mutex_unlock(&team.lock);
}

bool big_team_end(void)
{
    atomic_store(&team.over, true);
    big_files_wake();
    pthread_mutex_lock(&team.lock);
    for (unsigned each = 0; each < team.started; each++) {
        read_cancel_cut(&team.workers[each].cancel);
    }
    pthread_mutex_unlock(&team.lock);
    return atomic_load(&team.alive) == 0;
}
