#include "cache/entry/checksum.h"

#include "base/clock.h"
#include "base/proc.h"
#include "base/sys.h"
#include "cache/origin/entry_name.h"

#define ATTRIBUTE "user.stoker.check"

/* Returns a number for this boot, from 1 to below a second's nanoseconds, or 0 if the kernel has
 * none. */
static long this_boot(void)
{
    uint64_t boot = stk_proc_boot();
    return boot != 0 ? 1 + (long)(boot % (STK_NS_PER_S - 1)) : 0;
}

/* The seconds stay those of a clock, for people. */
static void say_this_boot(const char *path, int64_t seconds)
{
    long boot = this_boot();
    if (boot != 0) {
        stk_sys_set_mtime(path, (struct timespec){.tv_sec = seconds, .tv_nsec = boot});
    }
}

bool stk_checksum_is_of_this_boot(const struct stat *entry)
{
    long boot = this_boot();
    return boot != 0 && entry->st_mtim.tv_nsec == boot;
}

/* Each unit's hash has its place in it: units that have changed places have another sum. */
uint64_t stk_checksum_of(const void *piece, size_t bytes, uint64_t offset)
{
    uint64_t check = 0;
    for (size_t at = 0; at < bytes; at += STK_CHECKSUM_UNIT_BYTES) {
        size_t unit = bytes - at < STK_CHECKSUM_UNIT_BYTES ? bytes - at : STK_CHECKSUM_UNIT_BYTES;
        check += stk_hash_64((const char *)piece + at, unit, offset + at);
    }
    return check;
}

/* Attributes need the right to write. No other process sees the draft yet. */
int stk_checksum_store(const char *draft, uint64_t check)
{
    if (stk_sys_chmod(draft, 0600) == 0) {
        stk_sys_set_attribute(draft, ATTRIBUTE, &check, sizeof check);
    }
    say_this_boot(draft, stk_clock_realtime_ns() / STK_NS_PER_S);
    return stk_sys_chmod(draft, STK_ENTRY_MODE);
}

bool stk_checksum_get(const char *entry, uint64_t *check)
{
    return stk_sys_get_attribute(entry, ATTRIBUTE, check, sizeof *check) == 0;
}

void stk_checksum_renew(const char *entry, const struct stat *stat)
{
    say_this_boot(entry, stat->st_mtim.tv_sec);
}
