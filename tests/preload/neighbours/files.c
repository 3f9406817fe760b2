/* Makes and checks files whose content shows whether it is right. */
#include "tests/preload/neighbours/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_BYTES 512

size_t files_size(unsigned number)
{
    return 1000 + number * 137 % 9000;
}

static unsigned char byte_at(unsigned number, size_t offset)
{
    return (unsigned char)(number * 31 + offset * 7 + (offset >> 8));
}

void files_name(char *out, size_t bytes, const char *dir, unsigned number)
{
    char digits[12];
    size_t at = sizeof digits - 1;
    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    size_t length = strlen(dir);
    if (length + 1 + sizeof digits - at > bytes) {
        out[0] = '\0';
        return;
    }
    memcpy(out, dir, length);
    out[length] = '/';
    memcpy(out + length + 1, digits + at, sizeof digits - at);
}

int files_compare(int fd, unsigned number)
{
    unsigned char buffer[1024];
    size_t offset = 0;
    for (;;) {
        ssize_t got = read(fd, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return errno;
        }
        if (got == 0) {
            return offset == files_size(number) ? 0 : -1;
        }
        for (ssize_t i = 0; i < got; i++) {
            if (buffer[i] != byte_at(number, offset++)) {
                return -1;
            }
        }
    }
}

static int compare_stats(int fd, const char *name, unsigned number)
{
    struct stat open_file, named;
    if (fstat(fd, &open_file) != 0 || stat(name, &named) != 0) {
        return errno;
    }
    bool equal = open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev &&
                 open_file.st_mode == named.st_mode && open_file.st_size == named.st_size;
    return equal && (size_t)named.st_size == files_size(number) ? 0 : -1;
}

static int check_stream(const char *name, unsigned number)
{
    FILE *stream = fopen(name, "r");
    if (stream == NULL) {
        return errno;
    }
    int result = files_compare(fileno(stream), number);
    fclose(stream);
    return result;
}

static int open_below(const char *dir, const char *name)
{
    int at = open(dir, O_RDONLY | O_DIRECTORY);
    if (at < 0) {
        return -1;
    }
    int fd = openat(at, strrchr(name, '/') + 1, O_RDONLY);
    int error = errno;
    close(at);
    errno = error;
    return fd;
}

int files_check(const char *dir, unsigned number, enum files_way way)
{
    char name[NAME_BYTES];
    files_name(name, sizeof name, dir, number);
    if (way == WAY_FOPEN) {
        return check_stream(name, number);
    }
    int fd = way == WAY_OPENAT ? open_below(dir, name) : open(name, O_RDONLY);
    if (fd < 0) {
        return errno;
    }
    int result = files_compare(fd, number);
    result = result == 0 ? compare_stats(fd, name, number) : result;
    close(fd);
    return result;
}
