/*
 * A child that may make few system calls: sandbox DIR COUNT ACTION WHEN NAMES. All calls but those
 * that a reader of files needs are refused with ACTION (an errno, or "kill"). WHEN says whether the
 * files were looked at before the sandbox was closed: "first" or "later". NAMES says whether they
 * are opened by "absolute" names only. Prints how many files were right.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/preload/neighbours/files.h"

#define LOAD(field)  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ALLOW        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define PERMIT(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), ALLOW

/* Mapping is allowed, but nothing that is shared. */
#define PERMIT_PRIVATE_MAPS                                                                        \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mmap, 0, 4), LOAD(args[3]),                           \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED, 1, 0), ALLOW, LOAD(nr)

static int close_sandbox(unsigned refusal)
{
    struct sock_filter filter[] = {
        LOAD(nr),
#ifdef __NR_open
        PERMIT(open),
#endif
        PERMIT(openat),
        PERMIT(read),
        PERMIT(write),
        PERMIT(close),
        PERMIT(lseek),
        PERMIT(fstat),
        PERMIT(newfstatat),
        PERMIT(brk),
        PERMIT(getrandom),
        PERMIT(munmap),
        PERMIT(exit),
        PERMIT(exit_group),
        PERMIT(rt_sigreturn),
        PERMIT_PRIVATE_MAPS,
        BPF_STMT(BPF_RET | BPF_K, refusal),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
}

static bool only_absolute;

static unsigned right_ones(const char *dir, unsigned count)
{
    unsigned right = 0;
    for (unsigned i = 0; i < count * WAY_COUNT; i++) {
        enum files_way way = i / count;
        way = only_absolute && way == WAY_OPENAT ? WAY_OPEN : way;
        right += files_check(dir, i % count, way) == 0;
    }
    return right;
}

static void say(const char *what, unsigned number)
{
    char line[64];
    int length = snprintf(line, sizeof line, "%s %u\n", what, number);
    if (write(1, line, (size_t)length) < 0) {
        _exit(3);
    }
}

static void in_sandbox(const char *dir, unsigned count, unsigned refusal)
{
    if (close_sandbox(refusal) != 0) {
        say("no sandbox", (unsigned)errno);
        _exit(4);
    }
    say("right", right_ones(dir, count));
    say("right again", right_ones(dir, count));
    _exit(0);
}

int main(int argc, char **argv)
{
    int status = 0;
    if (argc < 6) {
        return 2;
    }
    only_absolute = strcmp(argv[5], "absolute") == 0;
    unsigned count = (unsigned)atoi(argv[2]);
    unsigned refusal = strcmp(argv[3], "kill") == 0 ? SECCOMP_RET_KILL_PROCESS
                                                    : SECCOMP_RET_ERRNO | (unsigned)atoi(argv[3]);
    if (strcmp(argv[4], "later") == 0) {
        say("before", right_ones(argv[1], count));
    }
    pid_t pid = fork();
    if (pid == 0) {
        in_sandbox(argv[1], count, refusal);
    }
    waitpid(pid, &status, 0);
    say(WIFSIGNALED(status) ? "signal" : "status",
        (unsigned)(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)));
    say("after", right_ones(argv[1], count));
    return 0;
}
