/*
 * Notes io_uring_setup, for which libc has no function. A program opens, writes and renames by a
 * ring without a call that the library sees. So these changes cannot be noted when they happen.
 * When the process ends by exit, everything counts as changed: later steps of the job ask the
 * origin again. Files that the process opened for writing by libc are noted as ever.
 *
 * The library misses a ring that a program makes by the bare system call. It also misses the end of
 * a process that is killed or executes another program.
 */
#include <stdatomic.h>
#include <stddef.h>

#include "base/sys.h"
#include "preload/coverage/process.h"
#include "preload/interpose/guard.h"
#include "preload/interpose/syscalls.h"

/* The process that made a ring; 0: none. A forked child inherits the value, but is not the maker.
 */
static _Atomic pid_t maker;

long stk_syscall_io_uring_setup(const struct stk_syscall *by)
{
    long result = stk_syscall_next(by);
    if (result >= 0) {
        atomic_store(&maker, stk_sys_getpid());
    }
    return result;
}

__attribute__((destructor)) static void note_at_end(void)
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
