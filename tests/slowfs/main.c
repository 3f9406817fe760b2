/*
 * slowfs: a directory shown elsewhere as if it lay behind a network, for tests and the demo.
 * Here: the session with the kernel, from mount to unmount.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dirops.h"
#include "ops.h"
#include "options.h"

static _Noreturn void fail(const char *what, int error)
{
    fprintf(stderr, "slowfs: %s: %s\n", what, strerror(error));
    exit(1);
}

/* Where the source has no file handles, each inode that the kernel remembers is a descriptor. */
static void raise_descriptor_limit(void)
{
    const rlim_t enough = 1 << 20;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= enough) {
        return;
    }
    struct rlimit more = {enough, limit.rlim_max > enough ? limit.rlim_max : enough};
    if (setrlimit(RLIMIT_NOFILE, &more) != 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Reading ahead runs as background requests, of which the kernel allows 12 by default. */
static void do_init(void *data, struct fuse_conn_info *connection)
{
    const struct slow_options *options = data;
    connection->max_background = options->threads;
    connection->congestion_threshold = options->threads * 3 / 4;
    slow_dirops_want(connection);
}

/* Mount options are separated by commas: one within a name needs a backslash. */
static char *mount_options(const struct slow_options *options)
{
    const char *name = options->name != NULL ? options->name : options->source;
    size_t room = 2 * strlen(name) + 128;
    char *text = calloc(1, room);
    if (text == NULL) {
        fail("mount options", ENOMEM);
    }
    int used = snprintf(text, room, "subtype=slowfs,default_permissions%s%s,fsname=",
                        options->readonly ? ",ro" : "", options->allow_other ? ",allow_other" : "");
    char *to = text + used;
    for (const char *from = name; *from != '\0'; from++) {
        if (*from == ',' || *from == '\\') {
            *to++ = '\\';
        }
        *to++ = *from;
    }
    return text;
}

static struct fuse_session *new_session(struct slow_options *options)
{
    static struct fuse_lowlevel_ops ops = {.init = do_init};
    slow_ops_add_attributes(&ops);
    slow_ops_add_data(&ops);
    slow_ops_add_directories(&ops);
    slow_ops_add_names(&ops);

    char *text = mount_options(options);
    struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
    if (fuse_opt_add_arg(&args, "slowfs") != 0 || fuse_opt_add_arg(&args, "-o") != 0 ||
        fuse_opt_add_arg(&args, text) != 0) {
        fail("mount options", ENOMEM);
    }
    struct fuse_session *session = fuse_session_new(&args, &ops, sizeof ops, options);
    fuse_opt_free_args(&args);
    free(text);
    return session;
}

/* Waits for the end of standard input, and ends the mount. The parent holds the other end, so the
 * parent's death is that end. */
static void *wait_for_end_of_stdin(void *unused)
{
    char byte;
    ssize_t got;
    do {
        got = read(STDIN_FILENO, &byte, 1);
    } while (got > 0 || (got < 0 && errno == EINTR));
    kill(getpid(), SIGTERM);
    return unused;
}

static void start_watching_stdin(void)
{
    pthread_t thread;
    int error = pthread_create(&thread, NULL, wait_for_end_of_stdin, NULL);
    if (error != 0) {
        fail("a thread", error);
    }
    pthread_detach(thread);
}

/* A thread per sleeping request; idle ones are kept, since they come in bursts. */
static int serve(struct fuse_session *session, const struct slow_options *options)
{
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    fuse_loop_cfg_set_max_threads(config, options->threads);
    fuse_loop_cfg_set_idle_threads(config, options->threads);
    int result = fuse_session_loop_mt(session, config);
    fuse_loop_cfg_destroy(config);
    return result;
}

/* 0, or -1 after something was printed. A mount made is to be undone by the caller. */
static int start(struct fuse_session *session, const struct slow_options *options)
{
    if (slow_dirops_tell(session) != 0) {
        return -1;
    }
    /* After the mount, so that a daemon's parent ends when the mount can be used. */
    if (options->daemon && fuse_daemonize(0) != 0) {
        return -1;
    }
    if (options->exit_with_stdin) {
        start_watching_stdin();
    }
    return 0;
}

/* The exit status. To be ended by a signal is an ordinary end. */
static int run(struct fuse_session *session, const struct slow_options *options)
{
    if (fuse_set_signal_handlers(session) != 0) {
        return 1;
    }
    int result = fuse_session_mount(session, options->mountpoint);
    if (result == 0) {
        result = start(session, options);
        if (result == 0) {
            result = serve(session, options);
        }
        fuse_session_unmount(session);
    }
    fuse_remove_signal_handlers(session);
    return result < 0 ? 1 : 0;
}

/* Absolute, since a daemon changes its directory, and the mount table shows the source. */
static const char *resolve(const char *path)
{
    char *absolute = realpath(path, NULL);
    if (absolute == NULL && errno == ENOTCONN) {
        fprintf(stderr,
                "slowfs: a mount left over by a kill is in the way; remove it with\n"
                "    fusermount3 -u -z %s\n",
                path);
        exit(1);
    }
    if (absolute == NULL) {
        fail(path, errno);
    }
    return absolute;
}

/* Prepares the whole process, before the first thread starts. */
static void prepare(struct slow_options *options)
{
    options->source = resolve(options->source);
    options->mountpoint = resolve(options->mountpoint);
    slow_timeouts = (struct slow_timeouts){options->attr_timeout, options->entry_timeout};
    slow_direct_io = options->direct_io;
    slow_set_bandwidth(options->bytes_per_s);
    raise_descriptor_limit();
    umask(0);
    /* Sleeps are rounded up by 50 us otherwise; threads inherit it. */
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);

    int result = slow_inodes_open(options->source);
    if (result < 0) {
        fail(options->source, -result);
    }
    result = slow_control_open(options->control, options->latency_ns);
    if (result < 0) {
        fail(options->control != NULL ? options->control : "memory", -result);
    }
}

int main(int argc, char **argv)
{
    struct slow_options options;
    slow_options_read(argc, argv, &options);
    prepare(&options);
    struct fuse_session *session = new_session(&options);
    if (session == NULL) {
        return 1;
    }
    int status = run(session, &options);
    fuse_session_destroy(session);
    return status;
}
