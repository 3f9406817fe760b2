#include "cli/os/descriptors.h"

#include <sys/resource.h>

void descriptors_raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

void directory_close(DIR *directory)
{
    if (directory != NULL) {
        closedir(directory);
    }
}

void file_close(FILE *file)
{
    if (file != NULL) {
        fclose(file);
    }
}
