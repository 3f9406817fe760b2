#include "cli/os/detached.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/os/descriptors.h"

static void close_all_but(int kept)
{
    struct dirent *entry;
    OWNED_DIR DIR *own = opendir("/proc/self/fd");
    while (own != NULL && (entry = readdir(own)) != NULL) {
        int fd = atoi(entry->d_name);
        if (entry->d_name[0] != '.' && fd != kept && fd != dirfd(own)) {
            close(fd);
        }
    }
}

static void let_go_of_descriptors(int kept)
{
    close_all_but(kept);
    for (int fd = 0; fd <= STDERR_FILENO; fd++) { /* its output is for no reader */
        int opened = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (opened > STDERR_FILENO) {
            close(opened);
        }
    }
}

/* A signal to all of a job's processes (`scancel --signal`) is meant for the job. The command
 * passes it on (cli/os/command.c). A process that inherits the command's handlers would do so once
 * more. */
static void leave_signals(void)
{
    static const int meant_for_the_job[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                                            SIGUSR2, SIGCONT, SIGALRM, SIGWINCH};
    for (size_t i = 0; i < sizeof meant_for_the_job / sizeof *meant_for_the_job; i++) {
        signal(meant_for_the_job[i], SIG_IGN);
    }
}

void detached_stand_alone(pid_t parent, int kept)
{
    leave_signals();
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
    let_go_of_descriptors(kept);
}

bool detached_begin(struct detached *detached, detached_work *work, void *context)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        detached_stand_alone(parent, ends[1]);
        work(context, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    *detached = (struct detached){.pid = pid > 0 ? pid : 0, .in = ends[0]};
    if (pid < 0) {
        close(ends[0]);
    }
    return pid > 0;
}

void detached_answer(int out, const void *answer, size_t bytes)
{
    if (write(out, answer, bytes) != (ssize_t)bytes) {
        _exit(1);
    }
}

/* Reads the answer, which may come in pieces. */
static bool take(int in, char *answer, size_t bytes)
{
    size_t taken = 0;
    ssize_t more = 1;
    while (taken < bytes && (more > 0 || errno == EINTR)) {
        more = read(in, answer + taken, bytes - taken);
        taken += more > 0 ? (size_t)more : 0;
        errno = more == 0 ? 0 : errno;
    }
    return taken == bytes;
}

static void end(struct detached *detached, int options)
{
    kill(detached->pid, SIGKILL);
    waitpid(detached->pid, NULL, options);
    close(detached->in);
    detached->pid = 0;
}

enum detached_state detached_wait(struct detached *detached, void *answer, size_t bytes,
                                  int patience_ms)
{
    struct pollfd said = {.fd = detached->in, .events = POLLIN};
    int ready = poll(&said, 1, patience_ms);
    while (ready < 0 && errno == EINTR) {
        ready = poll(&said, 1, patience_ms);
    }
    if (ready <= 0) {
        return DETACHED_LATE;
    }
    bool answered = take(detached->in, answer, bytes);
    end(detached, 0);
    return answered ? DETACHED_ANSWERED : DETACHED_GONE;
}

void detached_leave(struct detached *detached)
{
    end(detached, WNOHANG);
}

enum detached_state detached_ask(detached_work *work, void *context, void *answer, size_t bytes,
                                 int patience_ms)
{
    struct detached detached;
    if (!detached_begin(&detached, work, context)) {
        return DETACHED_NONE;
    }
    enum detached_state state = detached_wait(&detached, answer, bytes, patience_ms);
    if (state == DETACHED_LATE) {
        detached_leave(&detached);
    }
    return state;
}
