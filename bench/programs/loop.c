/*
 * One operation over the files of several lanes, in turn: nanoseconds per operation.
 *
 *     loop [--cold] [--slice-ms N] [--slices N] [--chdir DIR] [--before LANE]... LANE...
 *
 * A lane is `WHO:OPERATION:LIST`. `WHO` is `libc`, libc's own functions whatever is preloaded, or
 * `any`, the functions that a program's calls are bound to: the library's, if it is preloaded. So
 * both sides of a comparison run in one process, slice by slice in turn. The machine does the same
 * to both, meanwhile and before: the placement of the process's memory makes up to 30%.
 * LIST is a file of paths, one a line. A slice is one pass over all of them, or as many as it takes
 * to fill --slice-ms. Before the measuring each lane makes one pass unmeasured, unless --cold;
 * those of --before make just that one.
 *
 * Prints one line for each lane: the nanoseconds per operation of each slice.
 * Needs glibc 2.33 (before it, libc has no function named fstat).
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BUFFER_BYTES (4u << 20)
#define LANES        16
#define NS_PER_MS    1000000LL

struct calls {
    int (*open)(const char *path, int flags, ...);
    int (*stat)(const char *path, struct stat *out);
    int (*fstat)(int fd, struct stat *out);
    int (*fstatat)(int directory, const char *path, struct stat *out, int flags);
};

struct lane {
    struct calls calls;
    void (*operation)(struct lane *lane, size_t i);
    char **paths;
    int *fds;
    int directory; /* of the first path, for statat */
    size_t count;
    double *slices; /* ns per operation */
};

static char *buffer;

static __attribute__((noreturn, format(printf, 1, 2))) void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("loop: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

static void *allocate(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);
    if (memory == NULL) {
        fail("out of memory");
    }
    return memory;
}

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 * NS_PER_MS + now.tv_nsec;
}

/* ---- operations ---- */

static int must_open(const struct lane *lane, size_t i, int flags)
{
    int fd = lane->calls.open(lane->paths[i], flags | O_CLOEXEC);
    if (fd < 0) {
        fail("open %s: %m", lane->paths[i]);
    }
    return fd;
}

/* As most readers do: the size first, then until read says 0. */
static void operate_read(struct lane *lane, size_t i)
{
    struct stat stat;
    int fd = must_open(lane, i, O_RDONLY);
    if (lane->calls.fstat(fd, &stat) != 0) {
        fail("fstat: %m");
    }
    while (read(fd, buffer, BUFFER_BYTES) > 0) {
    }
    close(fd);
}

static void operate_open(struct lane *lane, size_t i)
{
    close(must_open(lane, i, O_RDONLY));
}

static void operate_write(struct lane *lane, size_t i)
{
    close(must_open(lane, i, O_RDWR));
}

static void operate_stat(struct lane *lane, size_t i)
{
    struct stat stat;
    if (lane->calls.stat(lane->paths[i], &stat) != 0) {
        fail("stat %s: %m", lane->paths[i]);
    }
}

/* By the name in its directory, as find, du and tar do; all paths lie in one. */
static void operate_statat(struct lane *lane, size_t i)
{
    struct stat stat;
    const char *leaf = strrchr(lane->paths[i], '/') + 1;
    if (lane->calls.fstatat(lane->directory, leaf, &stat, AT_SYMLINK_NOFOLLOW) != 0) {
        fail("fstatat %s: %m", leaf);
    }
}

static void operate_fstat(struct lane *lane, size_t i)
{
    struct stat stat;
    if (lane->calls.fstat(lane->fds[i], &stat) != 0) {
        fail("fstat: %m");
    }
}

/* ---- lanes ---- */

static void find_operation(struct lane *lane, const char *name)
{
    static const struct {
        const char *name;
        void (*operation)(struct lane *lane, size_t i);
    } operations[] = {
        {"read", operate_read}, {"open", operate_open},   {"write", operate_write},
        {"stat", operate_stat}, {"fstat", operate_fstat}, {"statat", operate_statat},
    };
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (strcmp(name, operations[i].name) == 0) {
            lane->operation = operations[i].operation;
            return;
        }
    }
    fail("no such operation: %s", name);
}

static void *must_find(void *handle, const char *symbol)
{
    void *found = dlsym(handle, symbol);
    if (found == NULL) {
        fail("no function %s", symbol);
    }
    return found;
}

static void find_calls(struct calls *calls, const char *who)
{
    void *handle = RTLD_DEFAULT;
    if (strcmp(who, "libc") == 0) {
        handle = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    } else if (strcmp(who, "any") != 0) {
        fail("neither libc nor any: %s", who);
    }
    calls->open = (int (*)(const char *, int, ...))must_find(handle, "open");
    calls->stat = (int (*)(const char *, struct stat *))must_find(handle, "stat");
    calls->fstat = (int (*)(int, struct stat *))must_find(handle, "fstat");
    calls->fstatat = (int (*)(int, const char *, struct stat *, int))must_find(handle, "fstatat");
}

static void read_list(struct lane *lane, const char *path)
{
    char *line = NULL;
    size_t room = 0, slots = 0;
    FILE *list = fopen(path, "r");
    if (list == NULL) {
        fail("%s: %m", path);
    }
    for (ssize_t length; (length = getline(&line, &room, list)) > 0;) {
        line[strcspn(line, "\n")] = '\0';
        if (lane->count == slots) {
            slots = slots > 0 ? 2 * slots : 256;
            lane->paths = realloc(lane->paths, slots * sizeof *lane->paths);
        }
        if (lane->paths == NULL || (lane->paths[lane->count++] = strdup(line)) == NULL) {
            fail("out of memory");
        }
    }
    free(line);
    fclose(list);
    if (lane->count == 0) {
        fail("%s: no paths", path);
    }
}

static void open_all(struct lane *lane)
{
    lane->fds = allocate(lane->count, sizeof *lane->fds);
    for (size_t i = 0; i < lane->count; i++) {
        lane->fds[i] = must_open(lane, i, O_RDONLY);
    }
}

static void open_directory(struct lane *lane)
{
    char *path = strdup(lane->paths[0]), *leaf = strrchr(path, '/');
    if (leaf == NULL) {
        fail("statat needs paths with a directory: %s", path);
    }
    *leaf = '\0';
    lane->directory = lane->calls.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lane->directory < 0) {
        fail("open %s: %m", path);
    }
    free(path);
}

static void parse_lane(struct lane *lane, const char *text, int slices)
{
    char *copy = strdup(text), *rest = copy;
    const char *who = strsep(&rest, ":");
    const char *operation = strsep(&rest, ":");
    if (rest == NULL) {
        fail("no lane: %s", text);
    }
    find_calls(&lane->calls, who);
    find_operation(lane, operation);
    read_list(lane, rest);
    lane->slices = allocate((size_t)slices, sizeof *lane->slices);
    free(copy);
}

/* ---- measuring ---- */

static void pass(struct lane *lane)
{
    for (size_t i = 0; i < lane->count; i++) {
        lane->operation(lane, i);
    }
}

static double measure_slice(struct lane *lane, long long slice_ns)
{
    long long start_ns = now_ns(), end_ns;
    size_t passes = 0;
    do {
        pass(lane);
        passes++;
        end_ns = now_ns();
    } while (end_ns - start_ns < slice_ns);
    return (double)(end_ns - start_ns) / (double)(passes * lane->count);
}

static void run_before(const char *text)
{
    struct lane lane = {0};
    parse_lane(&lane, text, 1);
    pass(&lane);
}

static void print_lane(const struct lane *lane, int slices)
{
    for (int i = 0; i < slices; i++) {
        printf("%.1f%c", lane->slices[i], i + 1 < slices ? ' ' : '\n');
    }
}

struct plan {
    int cold, slices;
    long long slice_ns;
    struct lane lanes[LANES];
    size_t count;
};

static void parse(struct plan *plan, char **argument)
{
    for (; *argument != NULL; argument++) {
        if (strcmp(*argument, "--cold") == 0) {
            plan->cold = 1;
        } else if (strncmp(*argument, "--", 2) != 0) {
            if (plan->count == LANES) {
                fail("too many lanes");
            }
            parse_lane(&plan->lanes[plan->count++], *argument, plan->slices);
        } else if (argument[1] == NULL) {
            fail("%s needs a value", *argument);
        } else if (strcmp(*argument, "--slice-ms") == 0) {
            plan->slice_ns = atoll(*++argument) * NS_PER_MS;
        } else if (strcmp(*argument, "--slices") == 0) {
            plan->slices = atoi(*++argument);
        } else if (strcmp(*argument, "--before") == 0) {
            run_before(*++argument);
        } else if (strcmp(*argument, "--chdir") != 0 || chdir(*++argument) != 0) {
            fail("%s: %m", *argument);
        }
    }
}

static void warm(struct lane *lane)
{
    if (lane->operation == operate_fstat) {
        open_all(lane);
    }
    if (lane->operation == operate_statat) {
        open_directory(lane);
    }
    pass(lane);
}

int main(int count, char **arguments)
{
    static struct plan plan = {.slices = 20, .slice_ns = 5 * NS_PER_MS};
    (void)count;
    buffer = allocate(1, BUFFER_BYTES);
    memset(buffer, 1, BUFFER_BYTES);
    parse(&plan, arguments + 1);
    for (size_t i = 0; !plan.cold && i < plan.count; i++) {
        warm(&plan.lanes[i]);
    }
    for (int slice = 0; slice < plan.slices; slice++) {
        for (size_t i = 0; i < plan.count; i++) {
            plan.lanes[i].slices[slice] = measure_slice(&plan.lanes[i], plan.slice_ns);
        }
    }
    for (size_t i = 0; i < plan.count; i++) {
        print_lane(&plan.lanes[i], plan.slices);
    }
    return 0;
}
