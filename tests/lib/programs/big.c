/*
 * Reads a big file in every way, and knows what must come. The word at each multiple of 8 follows
 * from its offset, so a reader knows from where its bytes were.
 *
 *   big make PATH BYTES          big random PATH BYTES PROCESSES READS SEED
 *   big shared PATH BYTES PROCESSES      big threads PATH BYTES THREADS
 *   big front PATH BYTES PIECE           big edges PATH BYTES
 *   big rough PATH BYTES PROCESSES READS SEED
 *   big map PATH BYTES       big stream PATH BYTES       big adopted PATH BYTES
 *
 * The last one is for origins that fail, and files that grow and are cut. A read may fail with EIO
 * or ESTALE or be short, and what it gives must be right. Prints what is wrong and ends with 1, or
 * prints "good".
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
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define ODD   UINT64_C(0x9e3779b97f4a7c15)
#define UNODD UINT64_C(0xf1de83e19937733d) /* ODD times this is 1 */
#define MOST  (300 << 10)
#define PIECE 65536

static const char *path;
static uint64_t size;
static _Atomic uint64_t *shared_sum;

static void fail(const char *what, int64_t at, int64_t got)
{
    printf("%s at %lld: %lld, errno %d\n", what, (long long)at, (long long)got, errno);
    fflush(stdout);
    _exit(1);
}

static uint64_t word_at(uint64_t offset)
{
    return (offset / 8 + 1) * ODD;
}

static unsigned char byte_at(uint64_t offset)
{
    return (unsigned char)(word_at(offset) >> offset % 8 * 8);
}

static void check(const unsigned char *bytes, uint64_t offset, ssize_t got, uint64_t wanted)
{
    uint64_t left = offset < size ? size - offset : 0;
    uint64_t right = wanted < left ? wanted : left;
    if (got != (ssize_t)right) {
        fail("length", (int64_t)offset, got);
    }
    for (uint64_t i = 0; i < right; i++) {
        if (bytes[i] != byte_at(offset + i)) {
            fail("byte", (int64_t)(offset + i), bytes[i]);
        }
    }
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 20;
}

static int open_file(void)
{
    int fd = open(path, O_RDONLY);
    if (fd < 0) {
        fail("open", 0, fd);
    }
    return fd;
}

static int make(void)
{
    static uint64_t words[1 << 17];
    FILE *file = fopen(path, "w");
    for (uint64_t at = 0; file != NULL && at < size; at += sizeof words) {
        for (size_t i = 0; i < sizeof words / 8; i++) {
            words[i] = word_at(at + 8 * i);
        }
        fwrite(words, size - at < sizeof words ? size - at : sizeof words, 1, file);
    }
    return file != NULL && fclose(file) == 0 ? 0 : 1;
}

/* ---- anywhere ---- */

static ssize_t read_in_two(int fd, unsigned char *buffer, size_t bytes, int64_t offset, int how)
{
    struct iovec parts[2] = {{buffer, bytes / 3}, {buffer + bytes / 3, bytes - bytes / 3}};
    switch (how) {
    case 0:
        return preadv(fd, parts, 2, offset);
    case 1:
        return preadv2(fd, parts, 2, offset, 0);
    case 2:
        lseek(fd, offset, SEEK_SET);
        return preadv2(fd, parts, 2, -1, 0);
    default:
        lseek(fd, offset, SEEK_SET);
        return readv(fd, parts, 2);
    }
}

static ssize_t read_somehow(int fd, unsigned char *buffer, size_t bytes, int64_t offset, int how)
{
    switch (how) {
    case 0:
    case 1:
        return pread(fd, buffer, bytes, offset);
    case 2:
        lseek(fd, offset, SEEK_SET);
        return read(fd, buffer, bytes);
    default:
        return read_in_two(fd, buffer, bytes, offset, how - 3);
    }
}

/* Some file systems forget what they have in memory of a file when it is opened: so none begins
 * before all have opened it. */
static void wait_until_all_are_here(unsigned count)
{
    atomic_fetch_add(shared_sum, 1);
    while (atomic_load(shared_sum) < count) {
        usleep(1000);
    }
}

static void read_anywhere(unsigned processes, uint64_t reads, uint64_t seed)
{
    static unsigned char buffer[MOST];
    int fd = open_file();
    wait_until_all_are_here(processes);
    for (uint64_t i = 0; i < reads; i++) {
        uint64_t offset = next_random(&seed) % (size + 1000);
        size_t bytes = 1 + next_random(&seed) % (sizeof buffer - 1);
        int how = (int)(next_random(&seed) % 7);
        errno = 77;
        ssize_t got = read_somehow(fd, buffer, bytes, (int64_t)offset, how);
        check(buffer, offset, got, bytes);
        if (errno != 77) {
            fail("errno was changed", (int64_t)offset, how);
        }
        if (how >= 5 && lseek(fd, 0, SEEK_CUR) != (off_t)offset + got) {
            fail("offset", (int64_t)offset, lseek(fd, 0, SEEK_CUR));
        }
    }
    close(fd);
}

/* ---- by one descriptor ---- */

/* Each piece says where it was read, and each is to be read once. */
static void read_on(int fd)
{
    unsigned char *buffer = malloc(PIECE);
    ssize_t got;
    while ((got = read(fd, buffer, PIECE)) > 0) {
        uint64_t word;
        memcpy(&word, buffer, 8);
        uint64_t offset = (word * UNODD - 1) * 8;
        if (offset % PIECE != 0) {
            fail("not a piece", (int64_t)offset, got);
        }
        check(buffer, offset, got, PIECE);
        atomic_fetch_add(shared_sum, offset + (uint64_t)got);
    }
    if (got != 0) {
        fail("end", 0, got);
    }
    free(buffer);
}

static void check_sum(int fd)
{
    uint64_t sum = 0;
    for (uint64_t at = 0; at < size; at += PIECE) {
        sum += at + (size - at < PIECE ? size - at : PIECE);
    }
    if (sum != atomic_load(shared_sum) || lseek(fd, 0, SEEK_CUR) != (off_t)size) {
        fail("sum of all pieces, and offset", (int64_t)atomic_load(shared_sum),
             lseek(fd, 0, SEEK_CUR));
    }
}

static void *thread(void *fd)
{
    read_on((int)(intptr_t)fd);
    return NULL;
}

static void by_threads(unsigned count)
{
    pthread_t threads[64];
    int fd = open_file();
    for (unsigned i = 0; i < count; i++) {
        pthread_create(&threads[i], NULL, thread, (void *)(intptr_t)fd);
    }
    for (unsigned i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
    check_sum(fd);
}

static void wait_for_all(void)
{
    int status, failed = 0;
    while (wait(&status) > 0) {
        failed |= status;
    }
    if (failed != 0) {
        _exit(1);
    }
}

static void by_processes(unsigned count)
{
    int fd = open_file();
    for (unsigned i = 0; i < count; i++) {
        if (fork() == 0) {
            read_on(fd);
            _exit(0);
        }
    }
    wait_for_all();
    check_sum(fd);
}

static void by_random_processes(unsigned count, uint64_t reads, uint64_t seed)
{
    for (unsigned i = 0; i < count; i++) {
        if (fork() == 0) {
            read_anywhere(count, reads, seed + i);
            _exit(0);
        }
    }
    wait_for_all();
}

/* ---- whatever happens to the file ---- */

static void check_some(const unsigned char *bytes, uint64_t offset, ssize_t got)
{
    if (got < 0 && errno != EIO && errno != ESTALE) {
        fail("error", (int64_t)offset, got);
    }
    for (ssize_t i = 0; i < got; i++) {
        if (bytes[i] != byte_at(offset + (uint64_t)i)) {
            fail("byte", (int64_t)offset + i, bytes[i]);
        }
    }
}

static int open_roughly(void)
{
    int fd = open(path, O_RDONLY);
    if (fd < 0 && errno != EIO && errno != ESTALE) {
        fail("open", 0, fd);
    }
    return fd;
}

/* By a descriptor that all processes share, and by ones of its own, opened now and then. */
static void read_roughly(int shared, uint64_t reads, uint64_t seed)
{
    static unsigned char buffer[MOST];
    int fd = -1;
    for (uint64_t i = 0; i < reads; i++) {
        uint64_t offset = next_random(&seed) % (size + 1000);
        size_t bytes = 1 + next_random(&seed) % (sizeof buffer - 1);
        if (i % 16 == 0) {
            close(fd);
            fd = open_roughly();
        }
        int from = i % 3 == 0 || fd < 0 ? shared : fd;
        int how = from == shared ? (int)(next_random(&seed) % 2) : (int)(next_random(&seed) % 7);
        check_some(buffer, offset, read_somehow(from, buffer, bytes, (int64_t)offset, how));
    }
    close(fd);
}

static void by_rough_processes(unsigned count, uint64_t reads, uint64_t seed)
{
    int shared = open_roughly();
    while (shared < 0) {
        usleep(1000);
        shared = open_roughly();
    }
    for (unsigned i = 0; i < count; i++) {
        if (fork() == 0) {
            read_roughly(shared, reads, seed + i);
            _exit(0);
        }
    }
    wait_for_all();
}

static void from_the_front(size_t piece)
{
    unsigned char *buffer = malloc(piece);
    int fd = open_file();
    uint64_t at = 0;
    ssize_t got;
    while ((got = read(fd, buffer, piece)) > 0) {
        check(buffer, at, got, piece);
        at += (uint64_t)got;
    }
    if (got < 0 || at != size) {
        fail("end", (int64_t)at, got);
    }
    free(buffer);
}

/* ---- by what libc or the kernel reads itself ---- */

static void check_map(int fd, int protection, int flags, uint64_t from)
{
    size_t bytes = size - from;
    unsigned char *map = mmap(NULL, bytes, protection, flags, fd, (off_t)from);
    if (map == MAP_FAILED) {
        fail("map", (int64_t)from, flags);
    }
    check(map, from, (ssize_t)bytes, bytes);
    if ((protection & PROT_WRITE) != 0) {
        map[0] ^= 1;
    }
    munmap(map, bytes);
}

static void by_map(void)
{
    int fd = open_file();
    check_map(fd, PROT_READ, MAP_SHARED, 0);
    check_map(fd, PROT_READ | PROT_WRITE, MAP_PRIVATE, 1 << 20);
    check_map(fd, PROT_READ, MAP_PRIVATE | MAP_POPULATE, 4096);
    if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED ||
        errno != EACCES) {
        fail("a map to be written to", 0, errno);
    }
    if (lseek(fd, 0, SEEK_CUR) != 0) {
        fail("offset", 0, lseek(fd, 0, SEEK_CUR));
    }
}

static void check_stream(FILE *file, uint64_t at)
{
    static unsigned char buffer[PIECE];
    size_t got;
    while (file != NULL && (got = fread(buffer, 1, sizeof buffer, file)) > 0) {
        check(buffer, at, (ssize_t)got, sizeof buffer);
        at += got;
    }
    if (at != size || fclose(file) != 0) {
        fail("end of the stream", (int64_t)at, 0);
    }
}

/* As numpy reads arrays: the offset is that of both numbers. */
static void by_adopted_stream(void)
{
    unsigned char head[100];
    int fd = open_file();
    check(head, 0, read(fd, head, sizeof head), sizeof head);
    check_stream(fdopen(dup(fd), "rb"), sizeof head);
    if (lseek(fd, 0, SEEK_CUR) != (off_t)size) {
        fail("offset", 0, lseek(fd, 0, SEEK_CUR));
    }
}

/* ---- what is no plain read ---- */

static void expect(const char *what, ssize_t got, ssize_t wanted, int error)
{
    if (got != wanted || (got < 0 && errno != error)) {
        fail(what, error, got);
    }
}

static void at_the_edges(void)
{
    static unsigned char buffer[8192];
    void *volatile nowhere = (void *)8; /* the compiler shall not see it */
    volatile int negative = -1;
    int fd = open_file(), both = open(path, O_RDONLY | O_NONBLOCK);
    char *hole = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(hole + 4096, 4096);
    expect("nothing", read(fd, buffer, 0), 0, 0);
    expect("a bad buffer", read(fd, nowhere, 100), -1, EFAULT);
    expect("a bad buffer elsewhere", pread(fd, nowhere, 100, 4096), -1, EFAULT);
    expect("the offset after it", lseek(fd, 0, SEEK_CUR), 0, 0);
    ssize_t some = read(fd, hole, 8192);
    expect("half a buffer", some, 4096, 0);
    expect("the offset after that", lseek(fd, 0, SEEK_CUR), 4096, 0);
    check((unsigned char *)hole, 0, some, 4096);
    expect("a negative offset", pread(fd, buffer, 10, -5), -1, EINVAL);
    expect("the end", pread(fd, buffer, 10, (off_t)size), 0, 0);
    expect("behind the end", pread(fd, buffer, 10, (off_t)size + 12345), 0, 0);
    expect("the last bytes", pread(fd, buffer, 100, (off_t)size - 7), 7, 0);
    expect("without waiting", read(both, buffer, 10), 10, 0);
    expect("no parts", readv(fd, NULL, 0), 0, 0);
    expect("negative parts", readv(fd, (struct iovec[1]){{buffer, 1}}, negative), -1, EINVAL);
    expect("bad flags", preadv2(fd, (struct iovec[1]){{buffer, 1}}, 1, 0, 1 << 30), -1, EOPNOTSUPP);
    int number = dup(fd);
    expect("a duplicate", pread(number, buffer, 100, 1000), 100, 0);
    check(buffer, 1000, 100, 100);
    close(number);
    expect("a closed number", pread(number, buffer, 100, 1000), -1, EBADF);
    int passing = open(path, O_RDONLY | O_PATH);
    expect("a path", pread(passing, buffer, 100, 1000), -1, EBADF);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        return 2;
    }
    path = argv[2];
    size = strtoull(argv[3], NULL, 10);
    uint64_t number = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
    shared_sum = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (strcmp(argv[1], "make") == 0) {
        return make();
    } else if (strcmp(argv[1], "random") == 0) {
        by_random_processes((unsigned)number, strtoull(argv[5], NULL, 10),
                            strtoull(argv[6], NULL, 10));
    } else if (strcmp(argv[1], "rough") == 0) {
        by_rough_processes((unsigned)number, strtoull(argv[5], NULL, 10),
                           strtoull(argv[6], NULL, 10));
    } else if (strcmp(argv[1], "shared") == 0) {
        by_processes((unsigned)number);
    } else if (strcmp(argv[1], "threads") == 0) {
        by_threads((unsigned)number);
    } else if (strcmp(argv[1], "map") == 0) {
        by_map();
    } else if (strcmp(argv[1], "stream") == 0) {
        check_stream(fopen(path, "rb"), 0);
    } else if (strcmp(argv[1], "adopted") == 0) {
        by_adopted_stream();
    } else if (strcmp(argv[1], "front") == 0) {
        from_the_front(number);
    } else {
        at_the_edges();
    }
    printf("good\n");
    return 0;
}
