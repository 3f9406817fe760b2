/* What a thread is reading. See cli/desk.h. */
#include "cli/desk.h"

#include <fcntl.h>
#include <unistd.h>

void desk_set_up(struct desk *desk)
{
    pthread_mutex_init(&desk->lock, NULL);
    desk->fd = -1;
    desk->cut = false;
}

void desk_put(struct desk *desk, int fd)
{
    pthread_mutex_lock(&desk->lock);
    desk->fd = fd;
    desk->cut = false;
    pthread_mutex_unlock(&desk->lock);
}

bool desk_clear(struct desk *desk)
{
    pthread_mutex_lock(&desk->lock);
    bool whole = !desk->cut;
    close(desk->fd);
    desk->fd = -1;
    pthread_mutex_unlock(&desk->lock);
    return whole;
}

void desk_cut(struct desk *desk)
{
    pthread_mutex_lock(&desk->lock);
    int none = desk->fd >= 0 && !desk->cut ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
    if (none >= 0) {
        desk->cut = dup3(none, desk->fd, O_CLOEXEC) >= 0;
        close(none);
    }
    pthread_mutex_unlock(&desk->lock);
}
