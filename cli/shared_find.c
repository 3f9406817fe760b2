/* What a directory is that may be a shared tier, found out by a process that nobody waits for. See
 * cli/shared.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/local.h"
#include "cli/shared.h"

#define PATIENCE_MS 5000

/* ---- processes that may be left behind ---- */

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

void shared_stand_alone(pid_t parent, int kept)
{
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
    let_go_of_descriptors(kept);
}

/* ---- what a directory is ---- */

struct found {
    bool shared;
    char canonical[STK_HOME_BYTES];
};

/* What is wrong with a directory is said by those who look at it next. */
static void look_at(const char *directory, int out)
{
    struct found found = {.shared = false};
    struct statfs fs;
    char *canonical = realpath(directory, NULL);
    if (canonical != NULL && strlen(canonical) < sizeof found.canonical &&
        statfs(canonical, &fs) == 0 && !stk_local_is(&fs)) {
        found.shared = true;
        strcpy(found.canonical, canonical);
    }
    _exit(write(out, &found, sizeof found) == (ssize_t)sizeof found ? 0 : 1);
}

static bool read_found(int in, struct found *found)
{
    struct pollfd answer = {.fd = in, .events = POLLIN};
    int ready = poll(&answer, 1, PATIENCE_MS);
    while (ready < 0 && errno == EINTR) {
        ready = poll(&answer, 1, PATIENCE_MS);
    }
    return ready > 0 && read(in, found, sizeof *found) == (ssize_t)sizeof *found;
}

/* A process that waits for a server cannot be ended, and is not waited for. */
enum shared_kind shared_find(const char *directory, char canonical[STK_HOME_BYTES])
{
    struct found found;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return SHARED_LOCAL;
    }
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        shared_stand_alone(parent, ends[1]);
        look_at(directory, ends[1]);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return SHARED_LOCAL;
    }
    bool told = read_found(ends[0], &found);
    close(ends[0]);
    kill(child, SIGKILL);
    waitpid(child, NULL, told ? 0 : WNOHANG);
    if (told && found.shared) {
        memcpy(canonical, found.canonical, STK_HOME_BYTES);
    }
    return !told ? SHARED_LATE : found.shared ? SHARED_YES : SHARED_LOCAL;
}
