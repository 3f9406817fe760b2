/*
 * meddle [--log FILE] [--at N | --from N | --every CALL] [--fail ERRNO | --halve | --lost ERRNO]
 *        [--spare CALL]... [--only CALL]... [--preload LIBRARY] -- PROGRAM ARGUMENT...
 *
 * Runs a program and meddles with the system calls that libstoker.so makes for itself, in the
 * program and in all its children. The library's calls are known by where the instruction is: in
 * the library's text. They are numbered from 1 in the order in which they are made.
 *
 *   --log FILE     one line per call: its number, its name
 *   --at N         meddle with the N-th call; --from N: and with all after it; --every CALL: with
 *                  each call of that name. The clock only fails where a sandbox forbids it: so
 *                  only if it is named
 *   --spare CALL   never meddle with calls of that name, whatever their numbers: a call more or
 * less before them, which depends on the time, moves the numbers; --only CALL: with no others
 *   --fail ERRNO   the call is not made, and fails (close is made all the same: it always closes)
 *   --lost ERRNO   the call is made, and then said to have failed, as when an answer gets lost
 *   --halve        reads and writes are made with half the length
 *
 * A seccomp filter stops the calls that base/sys.c can make; the tracer looks whose they are.
 * x86-64 only. Ends as the program ends; 125 if the tracing itself fails.
 */
#include <errno.h>
#include <getopt.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIBRARY   "/libstoker.so"
#define TROUBLE   125
#define PROCESSES 256

#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

/* Calls that base/sys.c makes and that may fail; getpid and its like cannot. */
#define CALLS(X)                                                                                   \
    X(openat)                                                                                      \
    X(openat2)                                                                                     \
    X(close)                                                                                       \
    X(dup3)                                                                                        \
    X(read)                                                                                        \
    X(pread64)                                                                                     \
    X(pwrite64)                                                                                    \
    X(ftruncate)                                                                                   \
    X(fallocate)                                                                                   \
    X(fadvise64)                                                                                   \
    X(cachestat)                                                                                   \
    X(prlimit64)                                                                                   \
    X(fstat)                                                                                       \
    X(newfstatat)                                                                                  \
    X(statx)                                                                                       \
    X(statfs)                                                                                      \
    X(fstatfs)                                                                                     \
    X(ioctl)                                                                                       \
    X(faccessat)                                                                                   \
    X(readlinkat)                                                                                  \
    X(getcwd)                                                                                      \
    X(mkdirat)                                                                                     \
    X(unlinkat)                                                                                    \
    X(renameat2)                                                                                   \
    X(linkat)                                                                                      \
    X(fchmodat)                                                                                    \
    X(utimensat)                                                                                   \
    X(lsetxattr)                                                                                   \
    X(lgetxattr)                                                                                   \
    X(getdents64)                                                                                  \
    X(mmap)                                                                                        \
    X(munmap)                                                                                      \
    X(madvise)                                                                                     \
    X(mincore)                                                                                     \
    X(kill)                                                                                        \
    X(flock)                                                                                       \
    X(futex)                                                                                       \
    X(clock_gettime)

static const struct {
    const char *name;
    long number;
} calls[] = {
#define CALL(name) {#name, SYS_##name},
    CALLS(CALL)
#undef CALL
};
#define CALL_COUNT (sizeof calls / sizeof *calls)

enum how { NOT, FAIL, LOST, HALVE };

static struct {
    FILE *log;
    unsigned long first, last; /* numbers to meddle with */
    long every;                /* or this call; -1: none */
    bool spared[CALL_COUNT], only[CALL_COUNT];
    bool is_limited; /* to those of --only */
    enum how how;
    int error;
    const char *preload;
} options = {.every = -1};

static unsigned long made;

static _Noreturn void trouble(const char *what)
{
    fprintf(stderr, "meddle: %s: %s\n", what, strerror(errno));
    exit(TROUBLE);
}

/* Returns the index of a call in the list. All calls that stop are in it. */
static size_t index_of(long number)
{
    size_t i = 0;
    while (i + 1 < CALL_COUNT && calls[i].number != number) {
        i++;
    }
    return i;
}

/* ---- whose call it is ---- */

/* Where the library is in each process. A child of fork has it where its parent has. */
static struct place {
    pid_t pid;
    uint64_t start, end;
} places[PROCESSES];

static bool find_library(pid_t pid, struct place *place)
{
    char path[64], line[8192];
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "re");
    bool found = false;
    while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        size_t length = strlen(line), end = sizeof LIBRARY - 1;
        char mode[8];
        found = length > end && strcmp(line + length - end, LIBRARY) == 0 &&
                sscanf(line, "%lx-%lx %7s", &place->start, &place->end, mode) == 3 &&
                mode[2] == 'x';
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

static void forget(pid_t pid)
{
    places[(unsigned)pid % PROCESSES].pid = 0;
}

static bool is_ours(pid_t pid, uint64_t instruction)
{
    struct place *place = &places[(unsigned)pid % PROCESSES];
    if (place->pid != pid) {
        place->pid = find_library(pid, place) ? pid : 0;
    }
    return place->pid == pid && instruction >= place->start && instruction < place->end;
}

/* ---- meddling ---- */

static bool is_meant(long number)
{
    bool in_range = made >= options.first && made <= options.last;
    bool spared = number == SYS_clock_gettime || options.spared[index_of(number)] ||
                  (options.is_limited && !options.only[index_of(number)]);
    return number == options.every || (in_range && !spared);
}

/* Lets the call be made, and gets what the registers are then; false: killed meanwhile. */
static bool let_it_be_made(pid_t pid, struct user_regs_struct *registers)
{
    int status;
    return ptrace(PTRACE_SYSCALL, pid, 0, 0) == 0 && waitpid(pid, &status, __WALL) == pid &&
           WIFSTOPPED(status) && WSTOPSIG(status) == (SIGTRAP | 0x80) &&
           ptrace(PTRACE_GETREGS, pid, 0, registers) == 0;
}

static void set_result(struct user_regs_struct *registers)
{
    registers->rax = (unsigned long long)-(long long)options.error;
}

/* The program must find its register as it was: the kernel does not change it either. */
static void halve(pid_t pid, struct user_regs_struct *registers)
{
    unsigned long long bytes = registers->rdx, call = registers->orig_rax;
    if ((call == SYS_read || call == SYS_pread64 || call == SYS_pwrite64) && bytes > 1) {
        registers->rdx = bytes / 2;
        ptrace(PTRACE_SETREGS, pid, 0, registers);
        if (let_it_be_made(pid, registers)) {
            registers->rdx = bytes;
            ptrace(PTRACE_SETREGS, pid, 0, registers);
        }
    }
}

static void meddle(pid_t pid, struct user_regs_struct *registers)
{
    if (options.how == HALVE) {
        halve(pid, registers);
    } else if (options.how == FAIL && registers->orig_rax != SYS_close) {
        registers->orig_rax = (unsigned long long)-1;
        set_result(registers);
        ptrace(PTRACE_SETREGS, pid, 0, registers);
    } else if (options.how != NOT && let_it_be_made(pid, registers)) {
        set_result(registers);
        ptrace(PTRACE_SETREGS, pid, 0, registers);
    }
}

static void look_at_call(pid_t pid)
{
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, pid, 0, &registers) != 0 || !is_ours(pid, registers.rip)) {
        return;
    }
    long number = (long)registers.orig_rax;
    made++;
    if (options.log != NULL) {
        fprintf(options.log, "%lu %s\n", made, calls[index_of(number)].name);
    }
    if (is_meant(number)) {
        meddle(pid, &registers);
    }
}

/* ---- tracing ---- */

/* Stops the listed calls, lets all others pass. */
static void install_filter(void)
{
    struct sock_filter filter[CALL_COUNT + 6];
    unsigned short used = 0;
    filter[used++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    filter[used++] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
    filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[used++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < CALL_COUNT; i++) {
        filter[used++] = (struct sock_filter)BPF_JUMP(
            BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i].number, (uint8_t)(CALL_COUNT - i), 0);
    }
    filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    const struct sock_fprog program = {.len = used, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        trouble("seccomp");
    }
}

static pid_t start(char **argv)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) {
            trouble("ptrace");
        }
        raise(SIGSTOP);
        install_filter();
        if (options.preload != NULL) {
            setenv("LD_PRELOAD", options.preload, 1);
        }
        execvp(argv[0], argv);
        trouble(argv[0]);
    }
    int status;
    const long wanted = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                        PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD |
                        PTRACE_O_EXITKILL;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, pid, 0, wanted) != 0) {
        trouble("ptrace");
    }
    ptrace(PTRACE_CONT, pid, 0, 0);
    return pid;
}

/* Handles one stop; returns the signal that the process shall get. */
static int look_at_stop(pid_t pid, int status)
{
    int number = WSTOPSIG(status);
    switch (status >> 16) {
    case PTRACE_EVENT_SECCOMP:
        look_at_call(pid);
        return 0;
    case PTRACE_EVENT_EXEC:
        forget(pid);
        return 0;
    case PTRACE_EVENT_STOP:
    case 0:
        break;
    default:
        return 0;
    }
    /* A new child begins with a stop; nothing here stops itself. */
    return number == SIGSTOP || number == SIGTRAP || number == (SIGTRAP | 0x80) ? 0 : number;
}

/* Until all are gone; the exit status of the first. */
static int trace(pid_t first)
{
    int status, ended = 0;
    pid_t pid;
    while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
        if (pid <= 0) {
            continue;
        }
        if (WIFSTOPPED(status)) {
            ptrace(PTRACE_CONT, pid, 0, look_at_stop(pid, status));
            continue;
        }
        forget(pid);
        if (pid == first) {
            ended = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
    }
    return ended;
}

/* ---- the command line ---- */

static _Noreturn void wrong_usage(void)
{
    fputs("usage: meddle [--log FILE] [--at N | --from N | --every CALL]\n"
          "              [--fail ERRNO | --lost ERRNO | --halve]\n"
          "              [--spare CALL]... [--only CALL]... [--preload LIBRARY] -- PROGRAM "
          "ARGUMENT...\n",
          stderr);
    exit(2);
}

static long number_of(const char *name)
{
    for (size_t i = 0; i < CALL_COUNT; i++) {
        if (strcmp(calls[i].name, name) == 0) {
            return calls[i].number;
        }
    }
    wrong_usage();
}

static void take_option(int key)
{
    switch (key) {
    case 'l':
        options.log = fopen(optarg, "we");
        if (options.log == NULL) {
            trouble(optarg);
        }
        break;
    case 'a':
    case 'f':
        options.first = strtoul(optarg, NULL, 10);
        options.last = key == 'a' ? options.first : (unsigned long)-1;
        break;
    case 'e':
        options.every = number_of(optarg);
        break;
    case 's':
        options.spared[index_of(number_of(optarg))] = true;
        break;
    case 'o':
        options.only[index_of(number_of(optarg))] = options.is_limited = true;
        break;
    case 'F':
    case 'L':
        options.how = key == 'F' ? FAIL : LOST;
        options.error = atoi(optarg);
        break;
    case 'H':
        options.how = HALVE;
        break;
    case 'p':
        options.preload = optarg;
        break;
    default:
        wrong_usage();
    }
}

int main(int argc, char **argv)
{
    static const struct option known[] = {
        {"log", required_argument, NULL, 'l'},
        {"at", required_argument, NULL, 'a'},
        {"from", required_argument, NULL, 'f'},
        {"every", required_argument, NULL, 'e'},
        {"spare", required_argument, NULL, 's'},
        {"fail", required_argument, NULL, 'F'},
        {"lost", required_argument, NULL, 'L'},
        {"halve", no_argument, NULL, 'H'},
        {"preload", required_argument, NULL, 'p'},
        {"only", required_argument, NULL, 'o'},
        {NULL, 0, NULL, 0},
    };
    int key;
    options.first = 1; /* and last 0: none */
    while ((key = getopt_long(argc, argv, "+", known, NULL)) != -1) {
        take_option(key);
    }
    if (optind == argc) {
        wrong_usage();
    }
    int status = trace(start(argv + optind));
    if (options.log != NULL && fclose(options.log) != 0) {
        trouble("the log");
    }
    return status;
}
