/*
 * libfuse before 3.17 takes the wish for parallel look-ups and forgets to pass it to the kernel.
 * The kernel then sends one look-up per directory at a time: no network file system is that slow.
 * So the reply to INIT gets the missing flag on its way out.
 */
#include "dirops.h"

#include <linux/fuse.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/uio.h>
#include <unistd.h>

#define FIRST_VERSION_THAT_TELLS 317

static atomic_bool init_was_answered;

void slow_dirops_want(struct fuse_conn_info *connection)
{
    connection->want |= connection->capable & FUSE_CAP_PARALLEL_DIROPS;
}

/* INIT is the first request, and the kernel sends no other before its answer. */
static ssize_t write_reply(int fd, struct iovec *parts, int count, void *unused)
{
    (void)unused;
    if (!atomic_load(&init_was_answered)) {
        atomic_store(&init_was_answered, true);
        if (count == 2 && parts[1].iov_len == sizeof(struct fuse_init_out)) {
            ((struct fuse_init_out *)parts[1].iov_base)->flags |= FUSE_PARALLEL_DIROPS;
        }
    }
    return writev(fd, parts, count);
}

static ssize_t read_request(int fd, void *buffer, size_t bytes, void *unused)
{
    (void)unused;
    return read(fd, buffer, bytes);
}

int slow_dirops_tell(struct fuse_session *session)
{
    static const struct fuse_custom_io io = {.writev = write_reply, .read = read_request};
    if (fuse_version() >= FIRST_VERSION_THAT_TELLS) {
        return 0;
    }
    return fuse_session_custom_io(session, &io, fuse_session_fd(session));
}
