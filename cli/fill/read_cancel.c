#include "cli/fill/read_cancel.h"

#include <fcntl.h>
#include <unistd.h>

void read_cancel_set_up(struct read_cancel *cancel)
{
    pthread_mutex_init(&cancel->lock, NULL);
    cancel->fd = -1;
    cancel->cut = false;
}

void read_cancel_begin(struct read_cancel *cancel, int fd)
{
    pthread_mutex_lock(&cancel->lock);
    cancel->fd = fd;
    cancel->cut = false;
    pthread_mutex_unlock(&cancel->lock);
}

bool read_cancel_end(struct read_cancel *cancel)
{
    pthread_mutex_lock(&cancel->lock);
    bool whole = !cancel->cut;
    close(cancel->fd);
    cancel->fd = -1;
    pthread_mutex_unlock(&cancel->lock);
    return whole;
}

void read_cancel_cut(struct read_cancel *cancel)
{
    pthread_mutex_lock(&cancel->lock);
    int none = cancel->fd >= 0 && !cancel->cut ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
    if (none >= 0) {
        cancel->cut = dup3(none, cancel->fd, O_CLOEXEC) >= 0;
        close(none);
    }
    pthread_mutex_unlock(&cancel->lock);
}
