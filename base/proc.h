/*
 * Reads in /proc about this process and its ancestors. Only raw system calls; no allocation; safe
 * in threads, after fork and in signal handlers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads the start of a file as text into `buffer`, zero-terminated. Returns the length, or
 * -errno. */
long stk_proc_read_text(const char *path, char *buffer, size_t bytes);

/*
 * Returns when this process's run began, on CLOCK_BOOTTIME. So a script and all its fork, spawn and
 * forkserver workers are one run. The stages of a shell script are several runs. So are the
 * commands that a server, a notebook or a shell starts one after the other.
 *
 * The run began with the topmost ancestor in an unbroken chain that has three things in common: the
 * executable, the process group, and the STOKER_ settings at the start. Its start is rounded up by
 * one clock tick. A long run begins anew with each day. A start that is too late only has the
 * origin asked once more. If /proc does not know this process, the run begins now.
 */
int64_t stk_proc_run_start_ns(void);

/* Returns the latest time that is a whole number of days behind the start. All processes of one day
 * have the same, and none believes anything older than a day. */
int64_t stk_proc_latest_day(int64_t start_ns, int64_t now_ns);

/* Returns true if a process does not run any more: unknown, or a zombie that its parent has not
 * waited for. */
bool stk_proc_is_over(pid_t pid);

/* Finds when process `pid` started, rounded up by one clock tick, and its parent. Returns 0 or
 * -errno. */
int stk_proc_start(pid_t pid, int64_t *start_ns, pid_t *parent);

/* Returns a number for this process's view of the file system (its mount namespace and its root
 * directory): equal views resolve equal paths to equal files. Returns 0 if /proc does not give
 * it. */
uint64_t stk_proc_view(void);

/*
 * Returns a hash of what decides, besides the user, which files this process may open: its groups,
 * the capabilities that pass over modes, and its confinement.
 *
 * The confinement is no_new_privs, the number of seccomp's filters, and the label of a security
 * module. Landlock counts where the process has CAP_SYS_ADMIN; elsewhere Landlock needs
 * no_new_privs. If there are more than 1024 groups, only their number counts.
 */
uint64_t stk_proc_rights(void);

/* Returns a number for this boot of the machine, or 0 if the kernel has none. */
uint64_t stk_proc_boot(void);

/* Returns the number of this process's pid namespace, or 0 where there is no /proc. */
uint64_t stk_proc_pid_namespace(void);

/* Writes "/proc/self/fd/N". */
void stk_proc_fd_path(char out[32], int fd);
