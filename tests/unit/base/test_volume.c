/* base/volume.c */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/volume.h"

static uint64_t number_of(const char *path, int flags)
{
    struct statfs fs;
    int fd = open(path, flags | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fstatfs(fd, &fs), 0);
    uint64_t number = stk_volume_of_fd(fd, &fs);
    close(fd);
    return number;
}

static uint64_t number_at(const char *path)
{
    uint64_t number = number_of(path, O_PATH);
    ck_assert_uint_eq(number_of(path, O_RDONLY), number);
    return number;
}

static bool mount_overlay(const char *point)
{
    char options[4096];
    snprintf(options, sizeof options, "lowerdir=%s:%s", unit_path("one"), unit_path("two"));
    return mount("overlay", point, "overlay", MS_RDONLY, options) == 0;
}

/* Mounts the layers again: only the mount is another. */
static int each_mount_has_a_number(void *context)
{
    const char *point = context;
    uint64_t numbers[2];
    for (int i = 0; i < 2; i++) {
        if (!mount_overlay(point)) {
            return 2;
        }
        numbers[i] = number_at(point);
        unit_write_text(unit_path("one/file"), i == 0 ? "x" : "y");
        if (number_of(unit_join(point, "file"), O_RDONLY) != numbers[i] || umount(point) != 0) {
            return 3;
        }
    }
    return numbers[0] != numbers[1] ? 0 : 1;
}

START_TEST(of_a_mount)
{
    UNIT_NEEDS_PRIVATE();
    unit_directory("one");
    unit_directory("two");
    char point[4096];
    snprintf(point, sizeof point, "%s", unit_directory("point"));
    UNIT_NEEDS(mount_overlay(point) && umount(point) == 0, "needs overlayfs");
    ck_assert_int_eq(unit_in_child(each_mount_has_a_number, point), 0);
}
END_TEST

START_TEST(of_a_tmpfs)
{
    UNIT_NEEDS_PRIVATE();
    const char *one = unit_directory("one"), *other = unit_directory("other");
    unit_mount_tmpfs(one, NULL);
    unit_mount_tmpfs(other, NULL);
    uint64_t number = number_at(one);
    ck_assert_uint_ne(number_at(other), number);
    ck_assert_int_eq(umount(other), 0);
    ck_assert_int_eq(mount(one, other, NULL, MS_BIND, NULL), 0);
    ck_assert_uint_eq(number_at(other), number); /* the same, by another mount */
}
END_TEST

/* ---- images on one loop device ---- */

static bool run(const char *format, const char *a, const char *b)
{
    char command[8192];
    snprintf(command, sizeof command, format, a, b);
    return system(command) == 0;
}

static bool mounted_number(const char *image, uint64_t *number)
{
    const char *point = unit_path("point");
    mkdir(point, 0700);
    if (!run("mount -o loop %s %s 2>/dev/null", image, point)) {
        return false;
    }
    *number = number_at(point);
    return run("umount %s%s", point, "");
}

static void check_images(const char *make)
{
    uint64_t numbers[3] = {0};
    const char *one = unit_path("one.img"), *other = unit_path("other.img");
    UNIT_NEEDS(run(make, one, "") && run(make, other, "") && mounted_number(one, &numbers[0]) &&
                   mounted_number(other, &numbers[1]) && mounted_number(one, &numbers[2]),
               "needs loop mounts and what makes such images");
    ck_assert_uint_ne(numbers[0], numbers[1]);
    ck_assert_uint_eq(numbers[0], numbers[2]);
}

START_TEST(of_an_xfs)
{
    UNIT_NEEDS_PRIVATE();
    check_images("f=%s%s; truncate -s 320M $f && mkfs.xfs -q $f 2>/dev/null");
}
END_TEST

START_TEST(of_an_ext4)
{
    UNIT_NEEDS_PRIVATE();
    check_images("f=%s%s; truncate -s 4M $f && mke2fs -q -t ext4 $f 2>/dev/null");
}
END_TEST

/* ---- kernels before 6.8 ---- */

/* Has statx fail if the mount's unique number is asked for. */
static bool forget_unique_numbers(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_statx, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x4000, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static int loops_tell(void *context)
{
    (void)context;
    uint64_t numbers[2];
    return !forget_unique_numbers()                               ? 2
           : !mounted_number(unit_path("one.img"), &numbers[0])   ? 3
           : !mounted_number(unit_path("other.img"), &numbers[1]) ? 4
           : numbers[0] != numbers[1]                             ? 0
                                                                  : 1;
}

START_TEST(of_an_image_on_an_old_kernel)
{
    UNIT_NEEDS_PRIVATE();
    UNIT_NEEDS_ROOT();
    uint64_t number;
    const char *make = "mksquashfs %s %s -noappend -mkfs-time 1 -quiet >/dev/null 2>&1";
    const char *source = unit_directory("source");
    UNIT_NEEDS(run(make, source, unit_path("one.img")) &&
                   run(make, source, unit_path("other.img")) &&
                   mounted_number(unit_path("one.img"), &number),
               "needs loop mounts and squashfs");
    ck_assert_int_eq(unit_in_child(loops_tell, NULL), 0);
}
END_TEST

START_TEST(mount_id)
{
    UNIT_NEEDS_PRIVATE();
    const char *one = unit_directory("one");
    uint64_t ids[2];
    int before = open(one, O_PATH | O_CLOEXEC);
    unit_mount_tmpfs(one, NULL);
    int after = open(one, O_PATH | O_CLOEXEC);
    ck_assert(stk_volume_mount_id(before, &ids[0]) && stk_volume_mount_id(after, &ids[1]));
    ck_assert_uint_ne(ids[0], ids[1]);
    close(after);
    ck_assert(!stk_volume_mount_id(after, &ids[1]));
    close(before);
}
END_TEST

Suite *suite_volume(void)
{
    Suite *suite = suite_create("volume");
    TCase *all = unit_case(suite, "volume_number");
    tcase_add_test(all, of_a_mount);
    tcase_add_test(all, of_a_tmpfs);
    tcase_add_test(all, of_an_xfs);
    tcase_add_test(all, of_an_ext4);
    tcase_add_test(all, of_an_image_on_an_old_kernel);
    tcase_add_test(all, mount_id);
    return suite;
}
