#include "cli/os/leases.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/local.h"
#include "base/sys.h"

#define PIECE   ((size_t)1 << 16) /* no smaller than a page */
#define OVERLAP 2048              /* bytes: some 30 locks, which may go away between two reads */
#define LOOKS   3                 /* more may go away while others hold the processors */

/* Parses "7: LEASE ACTIVE WRITE 4242 fe:01:1234 0 EOF". Ignores the device: btrfs shows another one
 * than stat() does. */
static bool is_of(const char *line, uint64_t ino)
{
    uint64_t number;
    return strstr(line, " LEASE ") != NULL &&
           sscanf(line, "%*s LEASE %*s %*s %*s %*x:%*x:%" SCNu64, &number) == 1 && number == ino;
}

/* Looks through some lines, of which the first and the last may be parts of lines. */
static bool has_line_of(char *text, uint64_t ino)
{
    bool found = false;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL && !found;
         line = strtok_r(NULL, "\n", &rest)) {
        found = is_of(line, ino);
    }
    return found;
}

/* Reads the locks piece by piece. The kernel gives a page at a time, and a lock that goes away
 * before the next read shifts those behind it. So each piece begins before the end of the last. */
static bool look_for(uint64_t ino)
{
    char piece[PIECE + 1];
    STK_OWNED_FD int fd = open("/proc/locks", O_RDONLY | O_CLOEXEC);
    bool held = false;
    off_t from = 0, end = 0;
    ssize_t got;
    while (!held && (got = pread(fd, piece, PIECE, from)) > 0 && from + got > end) {
        end = from + got;
        from = end > OVERLAP ? end - OVERLAP : 0;
        piece[got] = 0;
        held = has_line_of(piece, ino);
    }
    return held;
}

bool lease_is_held(uint64_t ino)
{
    bool held = false;
    for (int i = 0; i < LOOKS && !held; i++) {
        held = look_for(ino);
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
