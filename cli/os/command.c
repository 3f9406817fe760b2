#include "cli/os/command.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sys.h"
#include "cli/out/say.h"

enum { NOT_FOUND = 127, NOT_EXECUTABLE = 126 };

/* ---- finding it ---- */

/* Returns 0, or the errno of executing this very file. */
static int check_file(const char *path)
{
    struct stat stat_;
    if (stat(path, &stat_) != 0) {
        return errno;
    }
    if (!S_ISREG(stat_.st_mode)) {
        return EACCES;
    }
    return access(path, X_OK) == 0 ? 0 : errno;
}

/* Returns the file that execvp() would run, or NULL with errno. The caller frees. */
static char *find(const char *name)
{
    int error = ENOENT;
    if (strchr(name, '/') != NULL) {
        error = check_file(name);
        errno = error;
        return error == 0 ? must_copy(name) : NULL;
    }
    const char *variable = getenv("PATH");
    char *list = must_copy(variable != NULL ? variable : "/bin:/usr/bin"), *rest = list;
    for (char *dir; (dir = strsep(&rest, ":")) != NULL;) {
        char *path = must_format("%s/%s", *dir != '\0' ? dir : ".", name);
        int found = check_file(path);
        if (found == 0) {
            free(list);
            return path;
        }
        /* as shells do, ignore a directory that may not be entered */
        error = found == EACCES && access(path, F_OK) == 0 ? EACCES : error;
        free(path);
    }
    free(list);
    errno = error;
    return NULL;
}

bool command_is_there(const char *name)
{
    OWNED char *path = *name != '\0' ? find(name) : NULL;
    return path != NULL;
}

void command_check(const char *name)
{
    OWNED char *path = *name != '\0' ? find(name) : NULL;
    if (path != NULL) {
        return;
    }
    if (*name != '\0' && errno != ENOENT && errno != ENOTDIR) {
        die_with(NOT_EXECUTABLE,
                 "%s: %s: not an executable program (chmod +x it, or name its "
                 "interpreter)",
                 name, strerror(errno));
    }
    die_with(NOT_FOUND, "%s: command not found: give its path, or look at PATH", name);
}

/* ---- whether it can be preloaded ---- */

static bool has_interpreter(int fd, const Elf64_Ehdr *elf)
{
    for (unsigned i = 0; i < elf->e_phnum; i++) {
        Elf64_Phdr segment;
        off_t at = (off_t)(elf->e_phoff + (uint64_t)i * elf->e_phentsize);
        if (pread(fd, &segment, sizeof segment, at) != (ssize_t)sizeof segment) {
            return true;
        }
        if (segment.p_type == PT_INTERP) {
            return true;
        }
    }
    return false;
}

static bool is_static(int fd)
{
    Elf64_Ehdr elf;
    return pread(fd, &elf, sizeof elf, 0) == (ssize_t)sizeof elf &&
           memcmp(elf.e_ident, ELFMAG, SELFMAG) == 0 && elf.e_ident[EI_CLASS] == ELFCLASS64 &&
           !has_interpreter(fd, &elf);
}

const char *command_cannot_preload(const char *name)
{
    struct stat stat_;
    OWNED char *path = find(name);
    STK_OWNED_FD int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) {
        return NULL;
    }
    if (fstat(fd, &stat_) == 0 && (stat_.st_mode & (S_ISUID | S_ISGID)) != 0 && geteuid() != 0) {
        return "setuid program";
    }
    return is_static(fd) ? "static program" : NULL;
}

/* ---- running it ---- */

static volatile sig_atomic_t child;

/* Returns true for the hang-up of a terminal: only the leader of its session gets SIGHUP, and then
 * SIGCONT. */
static bool is_hangup(int number, const siginfo_t *info)
{
    return info->si_code == SI_KERNEL && (number == SIGHUP || number == SIGCONT) &&
           getsid(0) == getpid();
}

/* Passes a signal on to the command. The terminal's other signals reach the whole process group, so
 * only signals that were sent to this process alone are passed on. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    (void)context;
    if ((info->si_code <= 0 || is_hangup(number, info)) && child > 0) {
        int saved = errno;
        kill((pid_t)child, number);
        errno = saved;
    }
}

static const int passed_on[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                                SIGUSR2, SIGCONT, SIGALRM, SIGWINCH};

static void pass_signals_on(void)
{
    struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++) {
        sigaction(passed_on[i], &action, NULL);
    }
}

static struct sigaction beyond_limit, nobody_reads;

void command_outlive_writing(void)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGXFSZ, &ignore, &beyond_limit);
    sigaction(SIGPIPE, &ignore, &nobody_reads);
}

static void __attribute__((noreturn)) execute(char **command, const sigset_t *mask)
{
    sigaction(SIGXFSZ, &beyond_limit, NULL);
    sigaction(SIGPIPE, &nobody_reads, NULL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(command[0], command);
    int error = errno;
    say("%s: %s", command[0], strerror(error));
    _exit(error == ENOENT ? NOT_FOUND : NOT_EXECUTABLE);
}

bool command_start(char **command)
{
    sigset_t all, before;
    /* no signal may come between starting the command and being able to pass it on */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    int error = errno;
    if (pid == 0) {
        execute(command, &before);
    }
    if (pid > 0) {
        child = pid;
        pass_signals_on();
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return pid > 0;
}

void command_become(char **command)
{
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    execute(command, &mask);
}

int command_wait(void)
{
    int status = 0;
    while (waitpid((pid_t)child, &status, 0) < 0 && errno == EINTR) {
    }
    child = 0;
    return status;
}

int command_exit_status(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void command_end_like(int status)
{
    if (WIFSIGNALED(status)) {
        const struct rlimit no_core = {0, 0};
        sigset_t one;
        int number = WTERMSIG(status);
        setrlimit(RLIMIT_CORE, &no_core); /* the command has dumped its own core */
        signal(number, SIG_DFL);
        sigemptyset(&one);
        sigaddset(&one, number);
        sigprocmask(SIG_UNBLOCK, &one, NULL);
        kill(getpid(), number);
    }
    exit(command_exit_status(status));
}
