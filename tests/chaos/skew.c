/*
 * Preloaded: a wall clock that is off by the number in the file $SKEW: nanoseconds, as eight bytes.
 * Another number there steps the clock of all programs that have this library, at once. The
 * machine's own clock stays as it is.
 *
 * Programs ask libc, whose symbols these are. libstoker.so asks the kernel itself: a filter of
 * system calls (seccomp) hands such a call to a handler. Both are exact; the kernel's own stamps on
 * files are not stepped. So a file that is written while the clock is ahead looks old at once, as
 * only files from before a real step would. A file that is written while the clock is behind looks
 * as if made in the future.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define OURS    0x736b6577 /* as a third argument, which the call does not have: let it pass */
#define TROUBLE 125
#define S_NS    INT64_C(1000000000)

static const int64_t none;
static const _Atomic int64_t *offset_ns = (const _Atomic int64_t *)&none;

static long ask(clockid_t clock, struct timespec *now)
{
    long result = syscall(SYS_clock_gettime, clock, now, OURS);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t ns = now->tv_sec * S_NS + now->tv_nsec + atomic_load(offset_ns);
        now->tv_sec = ns / S_NS;
        now->tv_nsec = ns % S_NS;
    }
    return result;
}

/* ---- libc's symbols ---- */

int clock_gettime(clockid_t clock, struct timespec *now)
{
    return (int)ask(clock, now);
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;
    (void)zone;
    ask(CLOCK_REALTIME, &exact);
    *now = (struct timeval){.tv_sec = exact.tv_sec, .tv_usec = exact.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now;
    ask(CLOCK_REALTIME, &now);
    if (out != NULL) {
        *out = now.tv_sec;
    }
    return now.tv_sec;
}

/* ---- the kernel's answer ---- */

#if defined(__x86_64__)
#define ARGUMENT(context, i) ((context)->uc_mcontext.gregs[(i) == 0 ? REG_RDI : REG_RSI])
#define RESULT(context)      ((context)->uc_mcontext.gregs[REG_RAX])
#else
#define ARGUMENT(context, i) ((context)->uc_mcontext.regs[i])
#define RESULT(context)      ((context)->uc_mcontext.regs[0])
#endif

static void answer(int number, siginfo_t *info, void *more)
{
    ucontext_t *context = more;
    int error = errno;
    (void)number;
    (void)info;
    long result =
        ask((clockid_t)ARGUMENT(context, 0), (struct timespec *)(uintptr_t)ARGUMENT(context, 1));
    RESULT(context) = result < 0 ? -errno : 0;
    errno = error;
}

static int filter(void)
{
#define LOAD(field)         BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skip))
#define WHERE(value, skip)  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (skip), 0)
#define END(action)         BPF_STMT(BPF_RET | BPF_K, (action))
    struct sock_filter rules[] = {
        LOAD(nr),
        UNLESS(SYS_clock_gettime, 6),
        LOAD(args[2]),
        WHERE(OURS, 4),
        LOAD(args[0]),
        WHERE(CLOCK_REALTIME, 1),
        UNLESS(CLOCK_REALTIME_COARSE, 1),
        END(SECCOMP_RET_TRAP),
        END(SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof rules / sizeof *rules, .filter = rules};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* Installs the filter, as root, which may do so without more ado. */
__attribute__((constructor)) static void begin(void)
{
    const char *file = getenv("SKEW");
    struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER};
    int fd = file != NULL ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    void *map = mmap(NULL, sizeof *offset_ns, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED || sigaction(SIGSYS, &action, NULL) != 0 || filter() != 0) {
        _exit(TROUBLE);
    }
    close(fd);
    offset_ns = map;
}
