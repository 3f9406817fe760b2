#include "cli/os/leases.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/local.h"
#include "base/sys.h"
#include "cli/os/descriptors.h"

#define LOOKS        3 /* at most, while others take and drop locks */
#define LEAST_PAGE   4096
#define MOST_OF_LINE 256
#define PIECE        ((size_t)1 << 16) /* no smaller than a page: the reader splits none */

/* Parses "7: LEASE ACTIVE WRITE 4242 fe:01:1234 0 EOF". Ignores the device: btrfs shows another one
 * than stat() does. */
static bool is_of(const char *line, uint64_t ino)
{
    uint64_t number;
    return strstr(line, " LEASE ") != NULL &&
           sscanf(line, "%*s LEASE %*s %*s %*s %*x:%*x:%" SCNu64, &number) == 1 && number == ino;
}

/* Looks for a lease once. `*complete`: the kernel gave all locks in one piece. It gives a page at a
 * time, and a lock that goes away in between shifts others out of sight. */
static bool look_for(uint64_t ino, bool *complete)
{
    char line[MOST_OF_LINE], piece[PIECE];
    bool held = false;
    OWNED_FILE FILE *locks = fopen("/proc/locks", "re");
    if (locks == NULL || setvbuf(locks, piece, _IOFBF, sizeof piece) != 0) {
        *complete = true;
        return false;
    }
    while (!held && fgets(line, sizeof line, locks) != NULL) {
        held = is_of(line, ino);
    }
    *complete = ftell(locks) < LEAST_PAGE - MOST_OF_LINE;
    return held;
}

bool lease_is_held(uint64_t ino)
{
    bool held = false, complete = false;
    for (int i = 0; i < LOOKS && !held && !complete; i++) {
        held = look_for(ino, &complete);
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
