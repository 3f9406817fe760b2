/*
 * io_uring_setup, which libc has no function for. A program opens, writes and renames by a ring
 * without any call that could be seen here, so what it changes by it cannot be noted when it does.
 * When it ends by exit, everything counts as changed: later steps of the job ask the origin again.
 * Files that it has opened by libc for writing are noted as ever. Libraries that make the system
 * call by themselves are not seen, nor is a process that is killed or executes another program.
 */
#include <stdatomic.h>
#include <stddef.h>

#include "base/sys.h"
#include "preload/guard.h"
#include "preload/process.h"
#include "preload/syscall.h"

/* The process that has made a ring; 0: none. A child of it has the number, and is another. */
static _Atomic pid_t maker;

long stk_syscall_io_uring_setup(const struct stk_syscall *by)
{
    long result = stk_syscall_next(by);
    if (result >= 0) {
        atomic_store(&maker, stk_sys_getpid());
    }
    return result;
}

__attribute__((destructor)) static void tell_at_end(void)
{
    struct stk_guard guard;
    if (atomic_load(&maker) == 0 || atomic_load(&maker) != stk_sys_getpid()) {
        return;
    }
    stk_guard_join(&guard);
    struct stk_cache *cache = stk_process_is_on() ? stk_process_cache() : NULL;
    if (cache != NULL) {
        stk_cache_distrust_all(cache);
    }
    stk_guard_leave(&guard);
}
