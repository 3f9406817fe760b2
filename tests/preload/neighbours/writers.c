/*
 * Writes while the library is inside of an open: writers DIR jump|handler.
 *
 * DIR holds `known` and `written`, small, and large files 0, 1, ...; a child reads `known` and
 * `written` until they are cached, and waits. Then a timer interrupts the program in the middle of
 * a fill of one of the large ones. A handler knows that it is there when `known` is not served. The
 * handler then writes to `written`, or the thread does that it has jumped out to. The child must
 * read these bytes afterwards.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define PERIOD_US 500
#define LARGE     40

static char known[4096], written[4096];
static sigjmp_buf back;
static bool jumps;
static volatile sig_atomic_t armed, done;

static bool is_served(const char *path)
{
    char link[64], target[4096];
    int fd = open(path, O_RDONLY);
    if (fd < 0) {
        return false;
    }
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    bool named = realpath(link, target) != NULL; /* by the kernel: it calls no readlink */
    close(fd);
    return named && strstr(target, "/tree/") != NULL;
}

static void write_it(void)
{
    int fd = open(written, O_WRONLY);
    if (fd < 0 || pwrite(fd, "new", 3, 0) != 3 || close(fd) != 0) {
        _exit(3);
    }
}

static void on_alarm(int number)
{
    int saved = errno;
    (void)number;
    if (armed && !done && !is_served(known)) {
        done = 1;
        if (jumps) {
            siglongjmp(back, 1);
        }
        write_it();
    }
    errno = saved;
}

static void start_timer(suseconds_t period_us)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval timer = {{0, period_us}, {0, period_us}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void open_large_ones(const char *dir)
{
    char path[4096];
    for (int i = 0; i < LARGE && !done; i++) {
        snprintf(path, sizeof path, "%s/%d", dir, i);
        close(open(path, O_RDONLY));
    }
}

/* Reads until both are cached, says so, waits for the writer, and says what it reads then. */
static int read_around(int ready, int go)
{
    char byte = 0, text[4] = "";
    while (!is_served(known) || !is_served(written)) {
        usleep(10000);
    }
    if (write(ready, &byte, 1) != 1 || read(go, &byte, 1) != 1) {
        return 2;
    }
    int fd = open(written, O_RDONLY);
    ssize_t got = read(fd, text, 3);
    printf("%s\n", got == 3 ? text : "nothing");
    return fflush(stdout);
}

int main(int argc, char **argv)
{
    int ready[2], go[2];
    char byte = 0;
    if (argc != 3 || pipe(ready) != 0 || pipe(go) != 0) {
        return 2;
    }
    jumps = strcmp(argv[2], "jump") == 0;
    snprintf(known, sizeof known, "%s/known", argv[1]);
    snprintf(written, sizeof written, "%s/written", argv[1]);
    pid_t child = fork();
    if (child == 0) {
        return read_around(ready[1], go[0]);
    }
    if (read(ready[0], &byte, 1) != 1 || !is_served(known)) {
        return 2;
    }
    start_timer(PERIOD_US);
    if (sigsetjmp(back, 1) == 0) {
        armed = 1;
        open_large_ones(argv[1]);
    }
    start_timer(0);
    fprintf(stderr, "interrupted %d\n", (int)done);
    if (jumps && done) {
        write_it();
    }
    usleep(100000); /* older than files must be to be cached */
    return write(go[1], &byte, 1) != 1 || waitpid(child, NULL, 0) != child || !done;
}
