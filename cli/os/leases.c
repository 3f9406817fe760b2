#include "cli/os/leases.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/local.h"
#include "base/sys.h"
#include "cli/os/descriptors.h"

/* Parses "7: LEASE ACTIVE WRITE 4242 fe:01:1234 0 EOF". Ignores the device: btrfs shows another one
 * than stat() does. */
static bool is_of(const char *line, uint64_t ino)
{
    uint64_t number;
    return strstr(line, " LEASE ") != NULL &&
           sscanf(line, "%*s LEASE %*s %*s %*s %*x:%*x:%" SCNu64, &number) == 1 && number == ino;
}

bool lease_is_held(uint64_t ino)
{
    char line[256];
    bool held = false;
    OWNED_FILE FILE *locks = fopen("/proc/locks", "re");
    while (locks != NULL && !held && fgets(line, sizeof line, locks) != NULL) {
        held = is_of(line, ino);
    }
    return held;
}

bool lease_finds_open(int fd)
{
    struct statfs fs;
    bool known = stk_sys_fstatfs(fd, &fs) == 0 && !stk_local_is_layered(&fs);
    bool alone = known && fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
    if (alone) {
        fcntl(fd, F_SETLEASE, F_UNLCK);
    }
    return !alone;
}
