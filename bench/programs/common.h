/* The common ground of the programs that measure decoding. Each says PROGRAM before it, its name.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct file {
    void *bytes;
    size_t size;
};

static __attribute__((noreturn)) void fail(const char *what, const char *path)
{
    fprintf(stderr, PROGRAM ": %s %s\n", what, path);
    exit(1);
}

/* The processor time of this thread. */
static inline double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static struct file read_file(const char *path)
{
    struct file file = {NULL, 0};
    FILE *stream = fopen(path, "rb");
    if (stream == NULL || fseek(stream, 0, SEEK_END) != 0) {
        fail("cannot read", path);
    }
    file.size = (size_t)ftell(stream);
    file.bytes = malloc(file.size);
    rewind(stream);
    if (file.bytes == NULL || fread(file.bytes, 1, file.size, stream) != file.size) {
        fail("cannot read", path);
    }
    fclose(stream);
    return file;
}
