/*
 * Serves prctl, capset, and the system calls without a libc function, by which a process confines
 * itself. These calls bring no_new_privs (which most kinds of confinement require first), Landlock,
 * seccomp's filters, and fewer capabilities.
 *
 * The cache's knowledge was gained without that confinement. So this process reads the origin from
 * then on; a program that it executes begins anew (base/proc.h, rights). Before the cache is set
 * up, nothing is known and nothing is lost. A call that changes nothing loses nothing either. In a
 * child of vfork the parent loses its cache.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/sys.h"
#include "preload/coverage/process.h"
#include "preload/interpose/export.h"
#include "preload/interpose/next.h"
#include "preload/interpose/syscalls.h"

/* Returns true if this prctl may confine the process. In many containers every process has
 * no_new_privs already, and setting it again changes nothing. */
static bool is_confining(int option)
{
    return option == PR_SET_SECCOMP ||
           (option == PR_SET_NO_NEW_PRIVS && stk_process_cache_if_ready() != NULL &&
            !stk_sys_has_no_new_privs());
}

static void lose_if(bool confined)
{
    struct stk_cache *cache = stk_process_cache_if_ready();
    if (confined && cache != NULL) {
        stk_roots_lose(&cache->roots);
    }
}

typedef int prctl_function(int, ...);

/* Hands all five arguments on, as libc does. */
STK_EXPORT(int, prctl,
           (int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d))
{
    prctl_function *next = STK_NEXT(prctl, prctl_function *);
    bool confining = is_confining(option);
    int result = next != NULL ? next(option, a, b, c, d) : stk_next_missing();
    lose_if(confining && result == 0);
    return result;
}

/* Returns the thread's capabilities; 0 where nothing is lost with them. The 32 that are read
 * include the capabilities that pass over modes. */
static uint32_t capabilities(void)
{
    return stk_process_cache_if_ready() != NULL ? stk_sys_capabilities() : 0;
}

STK_SYMBOL(int, capset, (void *header, const void *data), (header, data))
{
    uint32_t before = capabilities();
    int result = capset_next(header, data);
    lose_if(capabilities() != before);
    return result;
}

/* ---- by syscall() ---- */

long stk_syscall_confine(const struct stk_syscall *by)
{
    bool confining = by->number != SYS_prctl || is_confining(stk_syscall_int(by, 0));
    long result = stk_syscall_next(by);
    lose_if(confining && result >= 0);
    return result;
}

long stk_syscall_capset(const struct stk_syscall *by)
{
    uint32_t before = capabilities();
    long result = stk_syscall_next(by);
    lose_if(capabilities() != before);
    return result;
}
