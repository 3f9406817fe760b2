#include "cli/os/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>

#include "base/sys.h"

void descriptors_raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

DIR *directory_open(int directory)
{
    int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *opened = copy >= 0 ? fdopendir(copy) : NULL;
    if (opened == NULL) {
        stk_sys_close_opened(copy);
    }
    return opened;
}

void owned_close_directory(DIR *const *directory)
{
    if (*directory != NULL) {
        closedir(*directory);
    }
}

void owned_close_file(FILE *const *file)
{
    if (*file != NULL) {
        fclose(*file);
    }
}
