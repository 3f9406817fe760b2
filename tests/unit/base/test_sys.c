/* base/sys.c */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sysmacros.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sys.h"

START_TEST(errors_are_negative_and_errno_stays)
{
    struct stat stat;
    errno = EXDEV;
    ck_assert_int_eq(stk_sys_openat(AT_FDCWD, unit_path("none"), O_RDONLY, 0), -ENOENT);
    ck_assert_int_eq(stk_sys_close(-1), -EBADF);
    ck_assert_int_eq(stk_sys_fstatat(AT_FDCWD, unit_path("none"), &stat, 0), -ENOENT);
    ck_assert_ptr_null(stk_sys_mmap(4096, PROT_READ, MAP_SHARED, -1, 0));
    ck_assert_int_eq(stk_sys_write_out(-1), -EBADF);
    ck_assert_int_eq(errno, EXDEV);
}
END_TEST

START_TEST(open_nolinks_refuses_links_anywhere)
{
    unit_directory("d");
    unit_write_text(unit_path("d/file"), "x");
    ck_assert_int_eq(symlink("file", unit_path("d/link")), 0);
    ck_assert_int_eq(symlink("d", unit_path("linked")), 0);
    int fd = stk_sys_open_nolinks(unit_path("d/file"), O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
    ck_assert_int_eq(stk_sys_open_nolinks(unit_path("d/link"), O_RDONLY), -ELOOP);
    ck_assert_int_eq(stk_sys_open_nolinks(unit_path("linked/file"), O_RDONLY), -ELOOP);
}
END_TEST

START_TEST(rename_noreplace_does_not_replace)
{
    unit_write_text(unit_path("a"), "a");
    unit_write_text(unit_path("b"), "b");
    ck_assert_int_eq(stk_sys_rename_noreplace(unit_path("a"), unit_path("b")), -EEXIST);
    ck_assert(unit_has_text(unit_path("a"), "a"));
    ck_assert(unit_has_text(unit_path("b"), "b"));
    ck_assert_int_eq(stk_sys_rename_noreplace(unit_path("a"), unit_path("c")), 0);
    ck_assert(!unit_exists(unit_path("a")));
    ck_assert(unit_has_text(unit_path("c"), "a"));
    ck_assert_int_eq(stk_sys_rename_noreplace(unit_path("a"), unit_path("x/y")), -ENOENT);
}
END_TEST

START_TEST(statx_agrees_with_stat)
{
    struct statx got;
    unit_write_text(unit_path("file"), "hello");
    struct stat known = unit_stat(unit_path("file"));
    ck_assert_int_eq(stk_sys_statx(AT_FDCWD, unit_path("file"), 0, STATX_BASIC_STATS, &got), 0);
    ck_assert_uint_eq(got.stx_size, 5);
    ck_assert_uint_eq(got.stx_ino, known.st_ino);
    ck_assert_uint_eq(makedev(got.stx_dev_major, got.stx_dev_minor), known.st_dev);
    ck_assert_int_eq(got.stx_mtime.tv_nsec, known.st_mtim.tv_nsec);
}
END_TEST

/* Without the check the kernel would end this process with SIGXFSZ. */
START_TEST(the_limit_on_file_sizes_is_an_error)
{
    struct rlimit limit = {1000, 1000};
    int fd = open(unit_path("limited"), O_RDWR | O_CREAT, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(stk_sys_fallocate(fd, 0, 1000), 0);
    ck_assert_int_eq(stk_sys_fallocate(fd, 0, 1001), -EFBIG);
    ck_assert_int_eq(stk_sys_fallocate(fd, 900, 101), -EFBIG);
    ck_assert_int_eq(stk_sys_pwrite(fd, "ab", 2, 998), 2);
    ck_assert_int_eq(stk_sys_pwrite(fd, "ab", 2, 999), -EFBIG);
    struct rlimit none = {0, 1000};
    setrlimit(RLIMIT_FSIZE, &none);
    ssize_t put = stk_sys_pwrite(fd, "ab", 2, 0); /* though it is long enough */
    setrlimit(RLIMIT_FSIZE, &limit);              /* the test's own notes are a file, too */
    ck_assert_int_eq(put, -EFBIG);
    close(fd);
}
END_TEST

START_TEST(lists_of_buffers_are_looked_at)
{
    char buffer[10];
    struct iovec parts[2] = {{buffer, sizeof buffer}, {NULL, 0}};
    void *volatile nowhere = (void *)8;
    if (stk_sys_look_at_parts(parts, 2) == -ENOSYS || stk_sys_look_at_parts(parts, 2) == -EPERM) {
        return; /* a sandbox */
    }
    ck_assert_int_eq(stk_sys_look_at_parts(parts, 1), 0);
    ck_assert_int_eq(stk_sys_look_at_parts(parts, 2), 0);
    ck_assert_int_eq(stk_sys_look_at_parts(nowhere, 2), -EFAULT);
    parts[0].iov_len = SIZE_MAX / 4;
    ck_assert_int_eq(stk_sys_look_at_parts(parts, 2), -EFAULT);
}
END_TEST

START_TEST(processes_and_clocks)
{
    ck_assert(stk_sys_process_exists(getpid()));
    ck_assert(stk_sys_process_exists(1));
    ck_assert(!stk_sys_process_exists(unit_dead_pid()));
    int64_t before = stk_clock_boottime_ns();
    uint32_t word = 1;
    stk_sys_futex_wait(&word, 2, STK_NS_PER_S); /* another value: no waiting */
    ck_assert_int_lt(stk_clock_boottime_ns() - before, STK_NS_PER_S / 2);
    before = stk_clock_boottime_ns();
    stk_sys_futex_wait(&word, 1, 20000000);
    ck_assert_int_ge(stk_clock_boottime_ns() - before, 15000000);
    ck_assert_int_gt(stk_clock_realtime_ns(), INT64_C(1600000000) * STK_NS_PER_S);
}
END_TEST

static int tell_five(clockid_t clock, struct timespec *now)
{
    *now = (struct timespec){.tv_sec = 5, .tv_nsec = clock};
    return 0;
}

static int tell_nothing(clockid_t clock, struct timespec *now)
{
    *now = (struct timespec){.tv_sec = clock};
    return -1;
}

START_TEST(clocks_by_another_way)
{
    int64_t before = stk_sys_clock_ns(CLOCK_BOOTTIME);
    stk_sys_clock_by(tell_five);
    ck_assert_int_eq(stk_sys_clock_ns(CLOCK_BOOTTIME), 5 * STK_NS_PER_S + CLOCK_BOOTTIME);
    stk_sys_clock_by(tell_nothing);
    ck_assert_int_ge(stk_sys_clock_ns(CLOCK_BOOTTIME), before);
    stk_sys_clock_by(NULL);
    ck_assert_int_ge(stk_sys_clock_ns(CLOCK_BOOTTIME), before);
}
END_TEST

static bool forbid_limits(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prlimit64, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static int duplicate_without_limits(void *context)
{
    const struct rlimit *limit = context;
    if (setrlimit(RLIMIT_NOFILE, limit) != 0 || !forbid_limits()) {
        return 2;
    }
    int number = stk_sys_dup_high(STDIN_FILENO);
    return limit->rlim_cur < 512 ? number != -EINVAL : number < 512;
}

/* A low one would be the number of the program's next file. */
START_TEST(a_duplicate_is_high_where_the_limit_is_not_known)
{
    ck_assert_int_eq(unit_in_child(duplicate_without_limits, &(struct rlimit){1024, 1024}), 0);
    ck_assert_int_eq(unit_in_child(duplicate_without_limits, &(struct rlimit){100, 100}), 0);
}
END_TEST

Suite *suite_sys(void)
{
    Suite *suite = suite_create("sys");
    TCase *all = unit_case(suite, "sys_calls");
    tcase_add_test(all, errors_are_negative_and_errno_stays);
    tcase_add_test(all, open_nolinks_refuses_links_anywhere);
    tcase_add_test(all, rename_noreplace_does_not_replace);
    tcase_add_test(all, statx_agrees_with_stat);
    tcase_add_test(all, the_limit_on_file_sizes_is_an_error);
    tcase_add_test(all, lists_of_buffers_are_looked_at);
    tcase_add_test(all, processes_and_clocks);
    tcase_add_test(all, clocks_by_another_way);
    tcase_add_test(all, a_duplicate_is_high_where_the_limit_is_not_known);
    return suite;
}
