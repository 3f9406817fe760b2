/*
 * Reads a file in odd ways and prints the result of each call: return value, errno, a sum of the
 * bytes, the offset afterwards. The output must not depend on the source of the bytes.
 *
 *   odd WAY PATH OTHER       (OTHER: another file, which is small)
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROOM (8 << 20) /* of the buffer; more than the file has */

static const char *path, *other;
static unsigned char *buffer;
static void *volatile nowhere = (void *)8; /* the compiler shall not see them */
static void *volatile nothing = NULL;
static void *volatile beyond = (void *)(UINTPTR_MAX - 4095);
static volatile size_t all_bits = SIZE_MAX;
static volatile int minus_one = -1;

static unsigned sum_of(const unsigned char *bytes, ssize_t count)
{
    unsigned sum = 0;
    for (ssize_t i = 0; i < count; i++) {
        sum = sum * 31 + bytes[i];
    }
    return sum;
}

/* The buffer is another one each time, so that what was not read shows. */
static void said_of(const char *what, ssize_t got, const unsigned char *bytes, int fd)
{
    int error = got < 0 ? errno : 0;
    printf("%s: %zd, errno %d, sum %08x", what, got, error, sum_of(bytes, got));
    if (fd >= 0) {
        printf(", then at %lld", (long long)lseek(fd, 0, SEEK_CUR));
    }
    printf("\n");
    memset(buffer, 0x5a, got > 0 && got < ROOM ? (size_t)got : 0);
}

static void said(const char *what, ssize_t got, int fd)
{
    said_of(what, got, buffer, fd);
}

static int opened(int flags)
{
    int fd = open(path, O_RDONLY | flags);
    if (fd < 0) {
        printf("open with %x: errno %d\n", (unsigned)flags, errno);
    }
    return fd;
}

static off_t size_of(int fd)
{
    struct stat stat;
    return fstat(fd, &stat) == 0 ? stat.st_size : -1;
}

static struct iovec part(void *base, size_t bytes)
{
    return (struct iovec){base, bytes};
}

/* ---- lengths and addresses ---- */

static void lengths(void)
{
    int fd = opened(0);
    said("nothing", read(fd, buffer, 0), fd);
    said("nothing, nowhere", read(fd, nowhere, 0), fd);
    said("nothing at an offset", pread(fd, buffer, 0, 70000), fd);
    said("all bits", read(fd, buffer, all_bits), fd);
    said("the most that is signed", read(fd, buffer, all_bits >> 1), fd);
    said("half of that", read(fd, buffer, all_bits >> 2), fd);
    said("all bits at an offset", pread(fd, buffer, all_bits, 4096), fd);
    said("half of the most at an offset", pread(fd, buffer, all_bits >> 2, 4096), fd);
    said("what fits no buffer", read(fd, buffer, (size_t)1 << 46), fd);
    said("more than the kernel reads at once", pread(fd, buffer, (size_t)3 << 30, 1000), fd);
    said("and here", read(fd, buffer, (size_t)3 << 30), fd);
    said("and again", read(fd, buffer, (size_t)3 << 30), fd);
}

static void addresses(void)
{
    int fd = opened(0);
    long page = sysconf(_SC_PAGESIZE);
    char *pages =
        mmap(NULL, 3 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + page, (size_t)page, PROT_READ);
    munmap(pages + 2 * page, (size_t)page);
    said("nowhere", read(fd, nowhere, 1000), fd);
    said("nowhere, at an offset", pread(fd, nowhere, 1000, 5000), fd);
    said("the kernel's", read(fd, beyond, 1000), fd);
    said("the kernel's, at an offset", pread(fd, beyond, 1000, 5000), fd);
    said("NULL", read(fd, nothing, 1000), fd);
    said("only to be read", read(fd, pages + page, 1000), fd);
    said("unmapped", read(fd, pages + 2 * page, 1000), fd);
    lseek(fd, 0, SEEK_SET);
    said_of("one page of two", read(fd, pages, 2 * (size_t)page), (unsigned char *)pages, fd);
    said_of("the same, elsewhere", pread(fd, pages, 2 * (size_t)page, 300 * page),
            (unsigned char *)pages, fd);
}

static void parts(void)
{
    int fd = opened(0);
    struct iovec two[3] = {part(buffer, 1000), part(buffer + 1000, 3000), part(buffer + 4000, 0)};
    struct iovec bad[2] = {part(buffer, 1000), part(nowhere, 1000)};
    struct iovec long_one[2] = {part(buffer, 1000), part(buffer, all_bits)};
    struct iovec longest[2] = {part(buffer, 1000), part(buffer + 1000, (size_t)3 << 30)};
    struct iovec none[2] = {part(nowhere, 0), part(NULL, 0)};
    static struct iovec many[IOV_MAX + 1];
    for (int i = 0; i <= IOV_MAX; i++) {
        many[i] = part(buffer + 10 * i, 10);
    }
    said("two parts", readv(fd, two, 3), fd);
    said("two parts at an offset", preadv(fd, two, 3, 100000), fd);
    said("a list nowhere", readv(fd, nowhere, 2), fd);
    said("a list nowhere at an offset", preadv(fd, nowhere, 2, 100), fd);
    said("a list of the kernel's", preadv2(fd, beyond, 2, 100, 0), fd);
    said("no list", readv(fd, nothing, 2), fd);
    said("no list, no parts", readv(fd, nothing, 0), fd);
    said("fewer than none", readv(fd, two, minus_one), fd);
    said("as many as may be", readv(fd, many, IOV_MAX), fd);
    said("one more", readv(fd, many, IOV_MAX + 1), fd);
    said("a bad second one", readv(fd, bad, 2), fd);
    said("a second one that is too long", readv(fd, long_one, 2), fd);
    said("more than at once", preadv(fd, longest, 2, 0), fd);
    said("empty ones", readv(fd, none, 2), fd);
    said("another file's", readv(-1, nowhere, 2), -1);
}

static void offsets(void)
{
    int fd = opened(0);
    off_t size = size_of(fd);
    struct iovec one = part(buffer, 5000);
    said("before the file", pread(fd, buffer, 10, -5), fd);
    said("before, of parts", preadv(fd, &one, 1, -1), fd);
    said("where it is", preadv2(fd, &one, 1, -1, 0), fd);
    said("before that", preadv2(fd, &one, 1, -2, 0), fd);
    said("at the far end", pread(fd, buffer, 10, INT64_MAX), fd);
    said("close to it", pread(fd, buffer, 10, INT64_MAX - 9), fd);
    said("the last bytes", pread(fd, buffer, 5000, size - 7), fd);
    said("the end", pread(fd, buffer, 5000, size), fd);
    said("behind it", pread(fd, buffer, 5000, size + 1), fd);
    lseek(fd, size - 3, SEEK_SET);
    said("the last three", read(fd, buffer, 5000), fd);
    said("no more", read(fd, buffer, 5000), fd);
    lseek(fd, size + 5000, SEEK_SET);
    said("far behind", read(fd, buffer, 5000), fd);
    printf("data %lld, hole %lld, end %lld\n", (long long)lseek(fd, 0, SEEK_DATA),
           (long long)lseek(fd, 0, SEEK_HOLE), (long long)lseek(fd, 0, SEEK_END));
    said("before all", lseek(fd, -1, SEEK_SET), fd);
}

/* ---- flags ---- */

static void flags(void)
{
    int fd = opened(0), direct = opened(O_DIRECT), waiting = opened(O_NONBLOCK);
    int passing = opened(O_PATH), appending = opened(O_APPEND), bare = opened(O_NOATIME);
    struct iovec one = part(buffer, 5000);
    static const int kinds[] = {RWF_HIPRI, RWF_APPEND, RWF_DSYNC, 1 << 30};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        said("with a flag", preadv2(fd, &one, 1, 8192, kinds[i]), fd);
    }
    ssize_t got = preadv2(fd, &one, 1, 8192, RWF_NOWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EOPNOTSUPP)) {
        got = pread(fd, buffer, 5000, 8192);
    }
    said("at once, if that can be", got, fd);
    said("past the memory", read(direct, buffer, 8192), direct);
    said("without waiting", read(waiting, buffer, 10000), waiting);
    said("for appending", read(appending, buffer, 10000), appending);
    said("no time of access", read(bare, buffer, 10000), bare);
    said("a path", read(passing, buffer, 10), -1);
    said("the working directory", read(AT_FDCWD, buffer, 10), -1);
    fcntl(fd, F_SETFL, O_DIRECT);
    said("direct from now on", pread(fd, buffer, 4096, 4096), fd);
    fcntl(fd, F_SETFL, 0);
    printf("%x %d %d\n", (unsigned)fcntl(fd, F_GETFL), flock(fd, LOCK_SH), flock(fd, LOCK_EX));
    struct pollfd ready = {.fd = fd, .events = POLLIN | POLLOUT};
    int left = -1;
    printf("poll %d %x", poll(&ready, 1, 0), (unsigned)ready.revents);
    printf(", ioctl %d %d\n", ioctl(fd, FIONREAD, &left), left);
}

/* ---- numbers ---- */

static void numbers(void)
{
    int fd = opened(0), second = dup(fd), third = fcntl(fd, F_DUPFD_CLOEXEC, 50), pipes[2];
    said("first", read(fd, buffer, 5000), second);
    said("its duplicate", read(second, buffer, 5000), third);
    said("another", read(third, buffer, 5000), fd);
    int small = open(other, O_RDONLY);
    dup2(small, fd);
    said("another file's by its number", read(fd, buffer, 5000), fd);
    said("the duplicate goes on", read(second, buffer, 5000), second);
    if (pipe(pipes) != 0 || write(pipes[1], "from the pipe", 13) != 13) {
        exit(2);
    }
    dup2(pipes[0], second);
    said("a pipe's", read(second, buffer, 5000), -1);
    close(third);
    int again = opened(0);
    printf("the number %d\n", again == third || again < third);
    said("a closed one's", read(third, buffer, 5000), -1);
    said("anew", read(again, buffer, 5000), again);
    close(again);
    said("closed", pread(again, buffer, 5000, 0), -1);
}

/* ---- who else reads ---- */

static void wait_for(pid_t child)
{
    int status;
    waitpid(child, &status, 0);
    printf("child: %d\n", status);
}

static void one_after_the_other(int fd)
{
    for (volatile int turn = 0; turn < 6; turn++) {
        fflush(stdout);
        pid_t child = turn % 2 == 0 ? fork() : vfork();
        if (child == 0) {
            ssize_t got = read(fd, buffer, 7000);
            if (turn % 2 == 0) {
                said("child", got, fd);
                fflush(stdout);
            }
            _exit(got == 7000 ? 0 : 1);
        }
        wait_for(child);
        said("parent", read(fd, buffer, 9000), fd);
    }
}

static void send_fd(int socket, int fd)
{
    char room[CMSG_SPACE(sizeof fd)] = {0}, byte = 'x';
    struct iovec one = part(&byte, 1);
    struct msghdr message = {
        .msg_iov = &one, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    *head = (struct cmsghdr){CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    sendmsg(socket, &message, 0);
}

static int receive_fd(int socket)
{
    int fd = -1;
    char room[CMSG_SPACE(sizeof fd)] = {0}, byte;
    struct iovec one = part(&byte, 1);
    struct msghdr message = {
        .msg_iov = &one, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    if (recvmsg(socket, &message, 0) == 1 && CMSG_FIRSTHDR(&message) != NULL) {
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    }
    return fd;
}

/* To a process that has never opened it. */
static void sent(void)
{
    int ends[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int fd = receive_fd(ends[1]);
        said("what was sent", read(fd, buffer, 60000), fd);
        said("at an offset", pread(fd, buffer, 60000, 1000000), fd);
        fflush(stdout);
        _exit(0);
    }
    int fd = opened(0);
    said("before", read(fd, buffer, 60000), fd);
    fflush(stdout);
    send_fd(ends[0], fd);
    wait_for(child);
    said("after", read(fd, buffer, 60000), fd);
}

static void shared(void)
{
    int fd = opened(0);
    one_after_the_other(fd);
    sent();
}

/* ---- what reads by itself ---- */

static int aside(void)
{
    return memfd_create("aside", 0);
}

static void said_aside(const char *what, ssize_t done, int to, int fd)
{
    int error = errno;
    ssize_t bytes = pread(to, buffer, ROOM, 0);
    errno = error;
    printf("%s: %zd bytes aside, sum %08x; ", what, bytes, sum_of(buffer, bytes));
    said(what, done < 0 ? done : 0, fd);
}

static void kernels(void)
{
    int fd = opened(0), pipes[2], to = aside();
    off_t from = 200000, past = 300000;
    ssize_t got = read(fd, buffer, 1000);
    said("first", got, fd);
    said_aside("sendfile", sendfile(to, fd, NULL, 50000), to, fd);
    said_aside("sendfile at an offset", sendfile(to, fd, &from, 50000), to, fd);
    said("read on", read(fd, buffer, 50000), fd);
    if (pipe(pipes) != 0) {
        exit(2);
    }
    got = splice(fd, NULL, pipes[1], NULL, 4096, 0);
    printf("splice %zd\n", got);
    said("out of the pipe", read(pipes[0], buffer, 4096), fd);
    said("read on", read(fd, buffer, 50000), fd);
    FILE *file = tmpfile();
    got = copy_file_range(fd, &past, fileno(file), NULL, 40000, 0);
    printf("copied: %d\n", got > 0 || errno == EXDEV || errno == EOPNOTSUPP || errno == EINVAL);
    said("read on", read(fd, buffer, 50000), fd);
    printf("fadvise %d %d %d, readahead %d\n", posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM),
           posix_fadvise(fd, 0, 1 << 20, POSIX_FADV_WILLNEED),
           posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), (int)readahead(fd, 0, 100000));
    said("read on", read(fd, buffer, 50000), fd);
    printf("advised on nothing %d, before %d, behind %d, nobody's %d\n",
           posix_fadvise(fd, 0, 0, 77), posix_fadvise(fd, -1, 10, POSIX_FADV_WILLNEED),
           posix_fadvise(fd, INT64_MAX - 9, 10, POSIX_FADV_WILLNEED),
           posix_fadvise(-1, 0, 10, POSIX_FADV_WILLNEED));
    said("ahead of nothing", readahead(fd, 0, 0), fd);
    said("ahead, before", readahead(fd, -1, 10), fd);
    said("ahead of all", readahead(fd, 5000, all_bits >> 1), fd);
    said("ahead, behind", readahead(fd, INT64_MAX - 9, 9), fd);
    said("ahead of nobody", readahead(-1, 0, 10), -1);
}

static void streams(void)
{
    FILE *file = fopen(path, "rb"), *second = fdopen(opened(0), "r");
    said("fread", (ssize_t)fread(buffer, 1, 100, file), -1);
    fseek(file, 500000, SEEK_SET);
    said("after fseek", (ssize_t)fread(buffer, 1, 100000, file), -1);
    said("pread of its number", pread(fileno(file), buffer, 100000, 700000), -1);
    said("on", (ssize_t)fread(buffer, 1, 100000, file), -1);
    fflush(file);
    said("read of its number", read(fileno(file), buffer, 100000), fileno(file));
    printf("told %ld\n", ftell(file));
    said("of a number", (ssize_t)fread(buffer, 1, 1000, second), -1);
    fseek(second, 0, SEEK_END);
    printf("told %ld, end %d\n", ftell(second), getc(second) == EOF);
}

static void maps(void)
{
    int fd = opened(0);
    size_t bytes = (size_t)size_of(fd);
    said("read", read(fd, buffer, 200000), fd);
    unsigned char *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    unsigned char *own = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    void *stores = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    printf("to store: %d %d\n", stores == MAP_FAILED, errno);
    printf("sums %08x %08x\n", sum_of(map, (ssize_t)bytes), sum_of(own, (ssize_t)bytes));
    memset(own, 1, 100000);
    printf("protect %d %d\n", mprotect(map, bytes, PROT_READ | PROT_WRITE), errno);
    said("read on", read(fd, buffer, 200000), fd);
    said("from the front", pread(fd, buffer, 200000, 0), fd);
    printf("sums %08x %08x\n", sum_of(map, (ssize_t)bytes), sum_of(own, (ssize_t)bytes));
    said("into what is mapped", pread(fd, own + 4096, 100000, 1000000), fd);
    printf("sum %08x\n", sum_of(own, (ssize_t)bytes));
}

/* One read by io_uring, which the library does not see. */
static void ring(void)
{
    int fd = opened(0);
    struct io_uring_params asked = {.flags = 0};
    int ring = (int)syscall(SYS_io_uring_setup, 1, &asked);
    said("read", read(fd, buffer, 1000), fd);
    if (ring < 0) {
        printf("no ring\n");
        return;
    }
    size_t bytes = asked.sq_off.array + sizeof(unsigned) + asked.cq_off.cqes + 4096;
    char *queue = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    char *done = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_CQ_RING);
    struct io_uring_sqe *order =
        mmap(NULL, sizeof *order, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
    *order = (struct io_uring_sqe){.opcode = IORING_OP_READ,
                                   .fd = fd,
                                   .off = 123456,
                                   .addr = (uint64_t)(uintptr_t)buffer,
                                   .len = 70000};
    *(unsigned *)(void *)(queue + asked.sq_off.array) = 0;
    __atomic_store_n((unsigned *)(void *)(queue + asked.sq_off.tail), 1, __ATOMIC_SEQ_CST);
    printf("entered %ld\n",
           syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0));
    struct io_uring_cqe *came = (struct io_uring_cqe *)(void *)(done + asked.cq_off.cqes);
    said("by the ring", came->res, fd);
    said("read on", read(fd, buffer, 1000), fd);
}

/* ---- what comes in between ---- */

static int interrupted_fd;
static volatile unsigned ticks, wrong;
static unsigned char from_handler[5000], at_first[5000];

static void on_tick(int number)
{
    int saved = errno;
    (void)number;
    ticks++;
    if (pread(interrupted_fd, from_handler, sizeof from_handler, 77777) !=
            (ssize_t)sizeof from_handler ||
        memcmp(from_handler, at_first, sizeof at_first) != 0) {
        wrong++;
    }
    errno = saved;
}

static void signals(void)
{
    int fd = interrupted_fd = opened(0);
    struct sigaction action = {.sa_handler = on_tick};
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    pread(fd, at_first, sizeof at_first, 77777);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int round = 0; round < 20; round++) {
        unsigned sum = 0;
        ssize_t got;
        lseek(fd, 0, SEEK_SET);
        while ((got = read(fd, buffer, 30000)) > 0) {
            sum = sum * 31 + sum_of(buffer, got);
        }
        printf("round: %zd %08x at %lld\n", got, sum, (long long)lseek(fd, 0, SEEK_CUR));
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("wrong %u, interrupted %d\n", wrong, ticks > 0);
}

/* Last: from then on the file counts as written. */
static void both_ways(void)
{
    int fd = opened(0);
    said("first", read(fd, buffer, 200000), fd);
    int both = open(path, O_RDWR), one = open(path, O_WRONLY);
    said("of both ways", read(both, buffer, 200000), both);
    said("of the other way", read(one, buffer, 200000), one);
    printf("written %zd\n", pwrite(both, "new bytes", 9, 100));
    said("what was written, where it was open", pread(fd, buffer, 200, 0), fd);
    said("what was written", pread(both, buffer, 200, 0), both);
    printf("grown %zd\n", pwrite(one, "at the end", 10, size_of(fd)));
    said("read on", read(fd, buffer, ROOM), fd);
    printf("cut %d\n", ftruncate(both, 150000));
    lseek(fd, 140000, SEEK_SET);
    said("what is left", read(fd, buffer, ROOM), fd);
    said("no more", read(fd, buffer, ROOM), fd);
    said("where it was", pread(fd, buffer, 1000, 160000), fd);
}

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {{"lengths", lengths}, {"addresses", addresses}, {"parts", parts},
            {"offsets", offsets}, {"flags", flags},         {"numbers", numbers},
            {"shared", shared},   {"kernels", kernels},     {"streams", streams},
            {"maps", maps},       {"ring", ring},           {"signals", signals},
            {"both", both_ways}};

int main(int argc, char **argv)
{
    if (argc < 4) {
        return 2;
    }
    path = argv[2];
    other = argv[3];
    buffer = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (strcmp(argv[1], ways[i].name) == 0) {
            ways[i].run();
        }
    }
    return 0;
}
