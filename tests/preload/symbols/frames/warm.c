/* Stats and reads every file below a directory, by its plain absolute name, so that the next
 * program finds it in the cache. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void warm_file(const char *path)
{
    struct stat stat;
    char byte;
    lstat(path, &stat);
    int fd = open(path, O_RDONLY | O_NONBLOCK);
    if (fd >= 0) {
        stat.st_size += read(fd, &byte, 1); /* links to directories cannot be read */
        close(fd);
    }
}

static void warm_directory(const char *path)
{
    char name[PATH_MAX * 2];
    DIR *directory = opendir(path);
    const struct dirent *entry;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_type == DT_DIR) {
            warm_directory(name);
        } else {
            warm_file(name);
        }
    }
    if (directory != NULL) {
        closedir(directory);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
        return 2;
    }
    warm_directory(argv[1]);
    return 0;
}
