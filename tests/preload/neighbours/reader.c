/*
 * Looks at files in all the ways there are and says what it sees: reader DIR COUNT [ROUNDS]. In DIR
 * are files as in files.h; DIR/missing does not exist, DIR/../beside/0 is not covered.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/preload/neighbours/files.h"

static void show_stat(const char *how, int result, const struct stat *stat)
{
    if (result != 0) {
        printf("%s: errno %d\n", how, errno);
        return;
    }
    printf("%s: mode %o uid %u gid %u links %lu size %ld mtime %ld\n", how, stat->st_mode,
           stat->st_uid, stat->st_gid, (unsigned long)stat->st_nlink, (long)stat->st_size,
           (long)stat->st_mtime);
}

static void look(const char *name)
{
    struct stat found;
    show_stat("stat", stat(name, &found), &found);
    show_stat("lstat", lstat(name, &found), &found);
    show_stat("fstatat", fstatat(AT_FDCWD, name, &found, 0), &found);
    errno = 0;
    int result = access(name, R_OK);
    printf("access %d errno %d\n", result, errno);
    errno = 0;
    int fd = open(name, O_RDONLY);
    printf("open %s errno %d\n", fd >= 0 ? "yes" : "no", errno);
    if (fd >= 0) {
        show_stat("fstat", fstat(fd, &found), &found);
        printf("flags %o\n", (unsigned)fcntl(fd, F_GETFL));
        close(fd);
    }
}

static void round_of(const char *dir, unsigned count)
{
    char name[512];
    for (unsigned number = 0; number < count; number++) {
        printf("%u:", number);
        for (enum files_way way = 0; way < WAY_COUNT; way++) {
            printf(" %d", files_check(dir, number, way));
        }
        printf("\n");
        files_name(name, sizeof name, dir, number);
        look(name);
    }
}

/* Not covered: by an absolute path, a relative one, and one that cannot be covered. */
static void beside(const char *dir)
{
    char name[512];
    snprintf(name, sizeof name, "%s/missing", dir);
    look(name);
    snprintf(name, sizeof name, "%s/../beside", dir);
    printf("beside: %d\n", files_check(name, 0, WAY_OPEN));
    if (chdir(name) == 0) {
        printf("relative: %d\n", files_check(".", 0, WAY_OPEN));
        look("0");
        look("../beside/0");
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        return 2;
    }
    unsigned rounds = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
    for (unsigned i = 0; i < rounds; i++) {
        round_of(argv[1], (unsigned)atoi(argv[2]));
    }
    beside(argv[1]);
    return 0;
}
