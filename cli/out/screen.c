#include "cli/out/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"

/* The alternate screen, with lines cut and without a cursor; and back. */
#define ENTER "\033[?1049h\033[?7l\033[?25l"
#define LEAVE "\033[?25h\033[?7h\033[?1049l"

static int signals = -1;
static int ended_by; /* a signal, or 0 */
static bool keys;    /* stdin is a terminal, too */
static bool gone;    /* the terminal cannot be written to any more */
static struct termios as_it_was;

/* ---- the beginning ---- */

static bool take_signals(void)
{
    sigset_t wanted;
    sigemptyset(&wanted);
    for (int i = 0; i < 5; i++) {
        sigaddset(&wanted, (const int[]){SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH}[i]);
    }
    sigprocmask(SIG_BLOCK, &wanted, NULL);
    signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals >= 0;
}

/* Reads keys one by one and without echo. Disables the suspend key: a suspended program would leave
 * the terminal in this state. */
static void take_keys(void)
{
    struct termios raw;
    keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &as_it_was) == 0;
    if (keys) {
        raw = as_it_was;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        raw.c_cc[VSUSP] = _POSIX_VDISABLE;
        raw.c_cc[VMIN] = 0;
        raw.c_cc[VTIME] = 0;
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
}

static void put(const char *text)
{
    fputs(text, stdout);
    gone |= fflush(stdout) != 0;
}

bool screen_begin(void)
{
    const char *kind = getenv("TERM");
    bool able = kind != NULL && *kind != '\0' && strcmp(kind, "dumb") != 0;
    if (!able || !isatty(STDOUT_FILENO) || !take_signals()) {
        return false;
    }
    take_keys();
    put(ENTER);
    return true;
}

/* ---- drawing ---- */

void screen_size(unsigned *columns, unsigned *rows)
{
    struct winsize size;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    *columns = known ? size.ws_col : 80;
    *rows = known ? size.ws_row : 24;
}

/* Empties each row before writing it. Emptying behind the last column would remove the row's last
 * letter. */
void screen_draw(char *const *lines, unsigned count)
{
    unsigned columns, rows;
    screen_size(&columns, &rows);
    fputs("\033[H", stdout);
    for (unsigned i = 0; i < count; i++) {
        printf("%s\033[K%s", i > 0 ? "\r\n" : "", lines[i]);
    }
    if (count < rows) {
        printf("\033[%u;1H\033[J", count + 1);
    }
    put("");
}

/* ---- waiting ---- */

static enum screen_event read_signal(void)
{
    struct signalfd_siginfo info;
    enum screen_event event = SCREEN_RESIZED;
    while (read(signals, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo != SIGWINCH) {
            ended_by = (int)info.ssi_signo;
            event = SCREEN_LEAVE;
        }
    }
    return event;
}

/* Reads keys. A stdin that has ended is not read again. */
static enum screen_event read_keys(void)
{
    char typed[64];
    ssize_t got = read(STDIN_FILENO, typed, sizeof typed);
    if (got <= 0) {
        return got < 0 && errno == EINTR ? SCREEN_TIME : SCREEN_LEAVE;
    }
    return memchr(typed, 'q', (size_t)got) != NULL || memchr(typed, 'Q', (size_t)got) != NULL
               ? SCREEN_LEAVE
               : SCREEN_TIME;
}

static enum screen_event wait_once(int64_t limit_ns)
{
    struct pollfd fds[2] = {{signals, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    int ready = poll(fds, keys ? 2 : 1, (int)(limit_ns / 1000000));
    if (ready > 0 && fds[0].revents != 0) {
        return read_signal();
    }
    return ready > 0 ? read_keys() : SCREEN_TIME;
}

/* Other keys do not cut the wait short. */
enum screen_event screen_wait(int64_t limit_ns)
{
    int64_t until_ns = stk_clock_boottime_ns() + limit_ns, left_ns = limit_ns;
    enum screen_event event = gone ? SCREEN_LEAVE : SCREEN_TIME;
    while (event == SCREEN_TIME && left_ns > 0) {
        event = wait_once(left_ns + 999999);
        left_ns = until_ns - stk_clock_boottime_ns();
    }
    return event;
}

/* ---- the end ---- */

void screen_end(void)
{
    put(LEAVE);
    if (keys) {
        tcsetattr(STDIN_FILENO, TCSANOW, &as_it_was);
    }
    close(signals);
    if (ended_by != 0 && ended_by != SIGINT) {
        sigset_t all;
        sigfillset(&all);
        signal(ended_by, SIG_DFL);
        raise(ended_by);
        sigprocmask(SIG_UNBLOCK, &all, NULL);
    }
}
