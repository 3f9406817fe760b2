/*
 * setuid, setgid, setgroups and their kin change the rights with which the process opens files. The
 * cache's knowledge was gained with the rights of the user before. Another user may lack these
 * rights, and the kernel would not be asked. So this process reads the origin from then on, also if
 * it changes back; a program that it executes begins anew.
 *
 * Before the cache is set up, nothing is known and nothing is lost. A call that changes nothing
 * loses nothing either. In a child of vfork the parent loses its cache.
 */
#include <grp.h>
#include <stddef.h>
#include <string.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "base/sys.h"
#include "preload/coverage/process.h"
#include "preload/interpose/export.h"
#include "preload/interpose/syscalls.h"

#define GROUPS 64 /* with more of them, a change would not be seen */

struct user {
    uid_t uids[3];
    gid_t gids[3];
    int count; /* negative: not known */
    gid_t groups[GROUPS];
};

/* Reads the process's user and groups; not where they do not matter yet. */
static void look(struct user *user)
{
    memset(user, 0, sizeof *user);
    user->count = -1;
    if (stk_process_cache_if_ready() != NULL && stk_sys_getresuid(user->uids) == 0 &&
        stk_sys_getresgid(user->gids) == 0) {
        user->count = stk_sys_getgroups(GROUPS, user->groups);
    }
}

static void lose(void)
{
    struct stk_cache *cache = stk_process_cache_if_ready();
    if (cache != NULL) {
        stk_roots_lose(&cache->roots);
    }
}

static int after(int result, const struct user *before)
{
    struct user now;
    look(&now);
    if (now.count < 0 || memcmp(before, &now, sizeof now) != 0) {
        lose();
    }
    return result;
}

/* Defines a symbol. PARAMETERS and ARGUMENTS are bracketed lists. */
#define USER_SYMBOL(name, PARAMETERS, ARGUMENTS)                                                   \
    STK_SYMBOL(int, name, PARAMETERS, ARGUMENTS)                                                   \
    {                                                                                              \
        struct user before;                                                                        \
        look(&before);                                                                             \
        return after(name##_next ARGUMENTS, &before);                                              \
    }

USER_SYMBOL(setuid, (uid_t uid), (uid))
USER_SYMBOL(seteuid, (uid_t uid), (uid))
USER_SYMBOL(setreuid, (uid_t real, uid_t effective), (real, effective))
USER_SYMBOL(setresuid, (uid_t real, uid_t effective, uid_t saved), (real, effective, saved))
USER_SYMBOL(setgid, (gid_t gid), (gid))
USER_SYMBOL(setegid, (gid_t gid), (gid))
USER_SYMBOL(setregid, (gid_t real, gid_t effective), (real, effective))
USER_SYMBOL(setresgid, (gid_t real, gid_t effective, gid_t saved), (real, effective, saved))
USER_SYMBOL(setgroups, (size_t count, const gid_t *groups), (count, groups))
USER_SYMBOL(initgroups, (const char *name, gid_t group), (name, group))

/* Defines a call that returns the user of before, and says nothing of success. With -1 it changes
 * nothing. */
#define FILE_USER_SYMBOL(name)                                                                     \
    STK_SYMBOL(int, name, (unsigned id), (id))                                                     \
    {                                                                                              \
        int before = name##_next(id);                                                              \
        if (stk_process_cache_if_ready() != NULL && name##_next((unsigned)-1) != before) {         \
            lose();                                                                                \
        }                                                                                          \
        return before;                                                                             \
    }

FILE_USER_SYMBOL(setfsuid)
FILE_USER_SYMBOL(setfsgid)

/* ---- by syscall(), which changes this thread only; all threads share the cache ---- */

long stk_syscall_set_user(const struct stk_syscall *by)
{
    struct user before;
    look(&before);
    long result = stk_syscall_next(by);
    after(0, &before);
    return result;
}

long stk_syscall_set_file_user(const struct stk_syscall *by)
{
    const struct stk_syscall question = {by->number, {-1}};
    long before = stk_syscall_next(by);
    if (stk_process_cache_if_ready() != NULL && stk_syscall_next(&question) != before) {
        lose();
    }
    return before;
}
