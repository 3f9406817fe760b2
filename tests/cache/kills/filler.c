/*
 * filler make DIRECTORY FILES            makes the files
 * filler HOW DIRECTORY FILES SEED        reads all of them in an order of its own, and checks them
 *
 * HOW: plain; threads: three of them, each reading all; fork: threads that read, while the main
 * thread forks children. The children read as well, in the middle of whatever the threads are
 * doing. A file's content follows from its number, so that the reader sees every wrong byte. Prints
 * how long the longest open took; exits 1 when anything was wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS     3
#define CHILDREN    3
#define MOST_FILES  1000
#define LARGE_BYTES 1500000 /* of every twelfth file; a fill takes several chunks */
#define SMALL_BYTES 100000
#define MOST_BYTES  (LARGE_BYTES + MOST_FILES)

/* All processes of one filler share this. */
static struct {
    _Atomic int64_t longest_ns;
    _Atomic unsigned opens, wrong;
} * shared;

static const char *directory;
static unsigned files;
static dev_t device;

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) + b;
    x = (x ^ x >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 29;
}

static size_t size_of(unsigned number)
{
    return number % 12 == 0 ? LARGE_BYTES + number : 1 + mix(number, 1) % SMALL_BYTES;
}

static void path_of(unsigned number, char path[4096])
{
    snprintf(path, 4096, "%s/%u/f%04u", directory, number % 4, number);
}

static void content_of(unsigned number, unsigned char *out)
{
    for (size_t i = 0; i < size_of(number); i += 8) {
        uint64_t word = mix(number, i);
        size_t left = size_of(number) - i;
        memcpy(out + i, &word, left < 8 ? left : 8);
    }
}

/* ---- reading ---- */

static void complain(unsigned number, const char *what, long long value)
{
    atomic_fetch_add(&shared->wrong, 1);
    printf("file %u: %s: %lld\n", number, what, value);
    fflush(stdout);
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int open_timed(const char *path)
{
    int64_t began = now_ns();
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int64_t took = now_ns() - began;
    int64_t longest = atomic_load(&shared->longest_ns);
    while (took > longest && !atomic_compare_exchange_weak(&shared->longest_ns, &longest, took)) {
    }
    atomic_fetch_add(&shared->opens, 1);
    return fd;
}

static void check_stat(unsigned number, int fd)
{
    struct stat stat;
    if (fstat(fd, &stat) != 0) {
        complain(number, "fstat", errno);
    } else if (stat.st_dev != device || (stat.st_mode & 07777) != 0644) {
        complain(number, "another file's mode or device", stat.st_mode);
    } else if ((size_t)stat.st_size != size_of(number)) {
        complain(number, "size", stat.st_size);
    }
}

/* Each thread has its two buffers once: new pages for each file would cost more than reading. */
static void check_bytes(unsigned number, int fd)
{
    static _Thread_local unsigned char seen[MOST_BYTES + 1], wanted[MOST_BYTES + 8];
    size_t size = size_of(number), used = 0;
    ssize_t got = 1;
    while (got > 0 && used <= size) {
        got = read(fd, seen + used, size + 1 - used);
        used += got > 0 ? (size_t)got : 0;
    }
    content_of(number, wanted);
    if (got < 0 || used != size) {
        complain(number, "length", (long long)used);
    } else if (memcmp(seen, wanted, size) != 0) {
        complain(number, "bytes", 0);
    }
}

static void read_file(unsigned number)
{
    char path[4096];
    path_of(number, path);
    int fd = open_timed(path);
    if (fd < 0) {
        complain(number, "open", errno);
        return;
    }
    check_stat(number, fd);
    check_bytes(number, fd);
    close(fd);
}

static void read_all(unsigned seed)
{
    unsigned order[MOST_FILES];
    for (unsigned i = 0; i < files; i++) {
        unsigned j = (unsigned)(mix(seed, i) % (i + 1));
        order[i] = order[j];
        order[j] = i;
    }
    for (unsigned i = 0; i < files; i++) {
        read_file(order[i]);
    }
}

/* ---- ways ---- */

static void *in_thread(void *seed)
{
    read_all((unsigned)(uintptr_t)seed);
    return NULL;
}

static void start_threads(pthread_t threads[THREADS], unsigned seed)
{
    for (unsigned i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, in_thread, (void *)(uintptr_t)(seed + i)) != 0) {
            perror("a thread");
            exit(2);
        }
    }
}

static void join_threads(const pthread_t threads[THREADS])
{
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void by_threads(unsigned seed)
{
    pthread_t threads[THREADS];
    start_threads(threads, seed);
    join_threads(threads);
}

static void by_forks(unsigned seed)
{
    pthread_t threads[THREADS];
    start_threads(threads, seed);
    for (unsigned i = 0; i < CHILDREN; i++) {
        usleep((unsigned)(mix(seed, i) % 20000));
        if (fork() == 0) {
            read_all(seed + 100 + i);
            _exit(0);
        }
    }
    join_threads(threads);
    while (wait(NULL) > 0) {
    }
}

/* ---- making ---- */

static int make_file(unsigned number)
{
    char path[4096];
    unsigned char *content = malloc(size_of(number) + 8);
    content_of(number, content);
    path_of(number, path);
    FILE *file = fopen(path, "w");
    bool good = file != NULL && fwrite(content, size_of(number), 1, file) == 1;
    good = file != NULL && fchmod(fileno(file), 0644) == 0 && fclose(file) == 0 && good;
    free(content);
    if (!good) {
        perror(path);
    }
    return good ? 0 : 1;
}

static int make_all(void)
{
    char path[4096];
    int failed = 0;
    for (unsigned i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%u", directory, i);
        mkdir(path, 0755);
    }
    for (unsigned i = 0; i < files; i++) {
        failed |= make_file(i);
    }
    return failed;
}

static bool look_at_device(void)
{
    char path[4096];
    struct stat stat;
    path_of(0, path);
    *strrchr(path, '/') = '\0';
    bool known = lstat(path, &stat) == 0;
    device = stat.st_dev;
    return known;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: %s make|plain|threads|fork DIRECTORY FILES [SEED]\n", argv[0]);
        return 2;
    }
    directory = argv[2];
    files = (unsigned)atoi(argv[3]) % MOST_FILES;
    if (strcmp(argv[1], "make") == 0) {
        return make_all();
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    unsigned seed = argc > 4 ? (unsigned)atoi(argv[4]) : 0;
    if (shared == MAP_FAILED || !look_at_device()) {
        perror(directory);
        return 2;
    }
    if (strcmp(argv[1], "fork") == 0) {
        by_forks(seed);
    } else if (strcmp(argv[1], "threads") == 0) {
        by_threads(seed);
    } else {
        read_all(seed);
    }
    printf("longest %lld opens %u\n", (long long)shared->longest_ns, shared->opens);
    return shared->wrong != 0;
}
