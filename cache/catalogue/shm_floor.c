#include "cache/catalogue/shm_floor.h"

#include <fcntl.h>

#include "base/sys.h"

#define MIB         (INT64_C(1) << 20)
#define SHARE       8
#define LEAST_FLOOR (60 * MIB)
#define MOST_FLOOR  (8192 * MIB)

int64_t stk_shm_floor(int64_t total_bytes)
{
    int64_t share = total_bytes / SHARE;
    return share < LEAST_FLOOR ? LEAST_FLOOR : share < MOST_FLOOR ? share : MOST_FLOOR;
}

int64_t stk_shm_room(const char *home, int sixteenths)
{
    struct statfs fs;
    if (stk_sys_statfs(home, &fs) != 0) {
        return INT64_MAX;
    }
    int64_t total = (int64_t)fs.f_blocks * fs.f_bsize, left = (int64_t)fs.f_bavail * fs.f_bsize;
    return left - stk_shm_floor(total) / 16 * sixteenths;
}

int64_t stk_shm_growth(const char *home)
{
    struct stat shared, stat;
    bool same = stk_sys_fstatat(AT_FDCWD, "/dev/shm", &shared, 0) == 0 &&
                stk_sys_fstatat(AT_FDCWD, home, &stat, 0) == 0 && stat.st_dev == shared.st_dev;
    return same ? stk_shm_room(home, STK_SHM_GROWS) : INT64_MAX;
}
