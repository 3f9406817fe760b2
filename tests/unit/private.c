/* A mount namespace of one's own. See tests/unit/private.h. */
#include "tests/unit/private.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

static void write_line(const char *path, const char *line)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t unused = write(fd, line, strlen(line));
        (void)unused;
        close(fd);
    }
}

/* This user is root in the new user namespace, and the only user there. */
static void map_ids(unsigned uid, unsigned gid)
{
    char map[64];
    write_line("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "0 %u 1", uid);
    write_line("/proc/self/uid_map", map);
    snprintf(map, sizeof map, "0 %u 1", gid);
    write_line("/proc/self/gid_map", map);
}

bool private_enter(const char *options)
{
    unsigned uid = geteuid(), gid = getegid();
    if (unshare(CLONE_NEWNS | (uid == 0 ? 0 : CLONE_NEWUSER)) != 0) {
        return false;
    }
    if (uid != 0) {
        map_ids(uid, gid);
    }
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", "/dev/shm", "tmpfs", 0, options) == 0;
}
