/* Processes that may be left behind. See cli/apart.h. */
#include "cli/apart.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void let_go_of_descriptors(int kept)
{
    struct dirent *entry;
    DIR *own = opendir("/proc/self/fd");
    while (own != NULL && (entry = readdir(own)) != NULL) {
        int fd = atoi(entry->d_name);
        if (entry->d_name[0] != '.' && fd != kept && fd != dirfd(own)) {
            close(fd);
        }
    }
    if (own != NULL) {
        closedir(own);
    }
    for (int fd = 0; fd <= STDERR_FILENO; fd++) { /* whatever is printed is for nobody */
        int opened = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (opened > STDERR_FILENO) {
            close(opened);
        }
    }
}

void apart_stand_alone(pid_t parent, int kept)
{
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
    let_go_of_descriptors(kept);
}

bool apart_begin(struct apart *apart, apart_work *work, void *context)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        apart_stand_alone(parent, ends[1]);
        work(context, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    *apart = (struct apart){.pid = pid > 0 ? pid : 0, .in = ends[0]};
    if (pid < 0) {
        close(ends[0]);
    }
    return pid > 0;
}

void apart_tell(int out, const void *answer, size_t bytes)
{
    if (write(out, answer, bytes) != (ssize_t)bytes) {
        _exit(1);
    }
}

/* An answer may come in pieces. */
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

static void end(struct apart *apart, int options)
{
    kill(apart->pid, SIGKILL);
    waitpid(apart->pid, NULL, options);
    close(apart->in);
    apart->pid = 0;
}

enum apart_state apart_wait(struct apart *apart, void *answer, size_t bytes, int patience_ms)
{
    struct pollfd said = {.fd = apart->in, .events = POLLIN};
    int ready = poll(&said, 1, patience_ms);
    while (ready < 0 && errno == EINTR) {
        ready = poll(&said, 1, patience_ms);
    }
    if (ready <= 0) {
        return APART_LATE;
    }
    bool told = take(apart->in, answer, bytes);
    end(apart, 0);
    return told ? APART_TOLD : APART_GONE;
}

void apart_leave(struct apart *apart)
{
    end(apart, WNOHANG);
}

enum apart_state apart_ask(apart_work *work, void *context, void *answer, size_t bytes,
                           int patience_ms)
{
    struct apart apart;
    if (!apart_begin(&apart, work, context)) {
        return APART_NONE;
    }
    enum apart_state state = apart_wait(&apart, answer, bytes, patience_ms);
    if (state == APART_LATE) {
        apart_leave(&apart);
    }
    return state;
}
