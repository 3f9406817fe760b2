/* ring/slot.c */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ring/slot.h"

#define BYTES 300000

static const struct stk_slot_name name = {7, 3};

/* A slot of BYTES, mapped a second time as its receiver does. */
static void make_pair(struct stk_slot *ours, struct stk_slot *theirs)
{
    int fd = stk_slot_make(ours, BYTES, name);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(stk_slot_map(theirs, fd), 0);
    ck_assert_int_eq(close(fd), 0);
}

START_TEST(is_one_memory_for_both)
{
    struct stk_slot ours, theirs;
    make_pair(&ours, &theirs);
    ck_assert_ptr_ne(ours.memory, theirs.memory);
    ck_assert_uint_ge(ours.bytes, BYTES);
    ck_assert_uint_eq(ours.bytes, theirs.bytes);
    ck_assert_uint_eq((uintptr_t)ours.memory % 4096, 0);
    memset(ours.memory, 5, ours.bytes);
    ck_assert_int_eq(theirs.memory[theirs.bytes - 1], 5);
    struct stk_slot_name said = stk_slot_name(&theirs);
    ck_assert_uint_eq(said.ring, 7);
    ck_assert_uint_eq(said.number, 3);
    ck_assert_int_eq(stk_slot_owner(&theirs), getpid());
}
END_TEST

START_TEST(is_lent_and_given_back)
{
    struct stk_slot ours, theirs;
    make_pair(&ours, &theirs);
    ck_assert_uint_eq(stk_slot_times_lent(&ours), 0);
    stk_slot_lend(&ours);
    stk_slot_lend(&ours);
    ck_assert_uint_eq(stk_slot_give_back(&theirs), 1);
    ck_assert_uint_eq(stk_slot_times_lent(&ours), 1);
    ck_assert_uint_eq(stk_slot_give_back(&theirs), 0);
    ck_assert_uint_eq(stk_slot_times_lent(&ours), 0);
}
END_TEST

START_TEST(marks_are_seen_by_both)
{
    struct stk_slot ours, theirs;
    make_pair(&ours, &theirs);
    ck_assert(!stk_slot_has(&ours, STK_SLOT_KEPT));
    stk_slot_mark(&theirs, STK_SLOT_KEPT);
    ck_assert(stk_slot_has(&ours, STK_SLOT_KEPT));
    ck_assert(!stk_slot_has(&ours, STK_SLOT_OVER));
    stk_slot_mark(&ours, STK_SLOT_OVER);
    ck_assert(stk_slot_has(&theirs, STK_SLOT_OVER));
    ck_assert(stk_slot_has(&theirs, STK_SLOT_KEPT));
}
END_TEST

START_TEST(outlives_whoever_made_it)
{
    struct stk_slot ours, theirs;
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    int fd = stk_slot_make(&ours, BYTES, name);
    pid_t child = fork();
    if (child == 0) { /* the worker, which dies with the slot in its hands */
        memset(ours.memory, 9, ours.bytes);
        stk_slot_lend(&ours);
        ck_assert_int_eq(write(ends[1], "x", 1), 1);
        kill(getpid(), SIGKILL);
    }
    stk_slot_unmap(&ours);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert_int_eq(stk_slot_map(&theirs, fd), 0);
    ck_assert_int_eq(theirs.memory[0], 9);
    ck_assert_uint_eq(stk_slot_times_lent(&theirs), 1);
    ck_assert_uint_eq(stk_slot_give_back(&theirs), 0);
}
END_TEST

START_TEST(may_be_mapped_as_this_processs_own)
{
    struct stk_slot ours, theirs;
    int fd = stk_slot_make(&ours, BYTES, name);
    ck_assert_int_eq(stk_slot_map(&theirs, fd), 0);
    unsigned char *own = stk_slot_map_own(&theirs, fd);
    ck_assert_ptr_nonnull(own);
    memset(ours.memory, 1, ours.bytes);
    ck_assert_int_eq(own[BYTES - 1], 1);
    own[0] = 7;
    ck_assert_int_eq(ours.memory[0], 1);
    ck_assert_int_eq(theirs.memory[0], 1);
    memset(ours.memory, 2, ours.bytes); /* the next batch */
    ck_assert(stk_slot_renew_own(&theirs, own));
    ck_assert_int_eq(own[0], 2);
    stk_slot_unmap_own(&theirs, own);
}
END_TEST

/* Returns the blocks of a slot's file; -1: no process has such a file mapped. */
static long blocks_of(int fd)
{
    struct stat stat;
    return fstat(fd, &stat) == 0 ? (long)stat.st_blocks : -1;
}

START_TEST(gives_its_memory_back_when_told_to)
{
    struct stk_slot ours;
    int fd = stk_slot_make(&ours, BYTES, name);
    ck_assert_int_ge(blocks_of(fd) * 512, BYTES); /* all is there before it is touched */
    stk_slot_lend(&ours);
    stk_slot_empty(&ours);
    ck_assert_int_le(blocks_of(fd) * 512, 65536);
    ck_assert_uint_eq(stk_slot_times_lent(&ours), 1); /* the words stay */
    ck_assert_int_eq(ours.memory[0], 0);
}
END_TEST

START_TEST(needs_no_room_in_shared_memory)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_slot ours;
    unit_mount_tmpfs("/dev/shm", "size=64k,mode=1777");
    ck_assert_int_ge(stk_slot_make(&ours, 8 << 20, name), 0);
    memset(ours.memory, 1, ours.bytes);
}
END_TEST

START_TEST(says_no_where_none_can_be_had)
{
    struct stk_slot ours;
    struct rlimit limit = {65536, 65536};
    ck_assert_int_eq(stk_slot_make(&ours, 0, name), -EINVAL);
    ck_assert_int_eq(stk_slot_make(&ours, SIZE_MAX, name), -EINVAL);
    ck_assert_int_lt(stk_slot_make(&ours, (size_t)1 << 60, name), 0);
    ck_assert_ptr_null(ours.memory);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0); /* not by a signal */
    ck_assert_int_eq(stk_slot_make(&ours, BYTES, name), -EFBIG);
    ck_assert_ptr_null(ours.memory);
}
END_TEST

START_TEST(leaves_no_descriptor_when_it_fails)
{
    struct stk_slot ours;
    int before = dup(0);
    close(before);
    ck_assert_int_lt(stk_slot_make(&ours, (size_t)1 << 60, name), 0);
    ck_assert_int_eq(dup(0), before);
}
END_TEST

START_TEST(takes_no_other_file_for_a_slot)
{
    struct stk_slot theirs;
    unit_write_text(unit_path("file"), "text");
    int file = open(unit_path("file"), O_RDWR | O_CLOEXEC);
    int long_file = memfd_create("long", MFD_CLOEXEC);
    ck_assert_int_eq(ftruncate(long_file, 65536 + 4096), 0);
    ck_assert_int_eq(stk_slot_map(&theirs, file), -EINVAL);
    ck_assert_int_eq(stk_slot_map(&theirs, long_file), -EINVAL);
    ck_assert_int_eq(stk_slot_map(&theirs, -1), -EBADF);
    ck_assert_ptr_null(theirs.memory);
}
END_TEST

START_TEST(is_not_one_that_was_cut_short)
{
    struct stk_slot ours, theirs;
    int fd = stk_slot_make(&ours, BYTES, name);
    off_t length = unit_stat("/proc/self/exe").st_size; /* any other */
    ck_assert_int_eq(ftruncate(fd, length), 0);
    ck_assert_int_eq(stk_slot_map(&theirs, fd), -EINVAL);
}
END_TEST

Suite *suite_slot(void)
{
    Suite *suite = suite_create("slot");
    TCase *words = unit_case(suite, "slot_words");
    tcase_add_test(words, is_one_memory_for_both);
    tcase_add_test(words, is_lent_and_given_back);
    tcase_add_test(words, marks_are_seen_by_both);
    tcase_add_test(words, outlives_whoever_made_it);
    tcase_add_test(words, may_be_mapped_as_this_processs_own);
    TCase *memory = unit_case(suite, "slot_memory");
    tcase_add_test(memory, gives_its_memory_back_when_told_to);
    tcase_add_test(memory, needs_no_room_in_shared_memory);
    tcase_add_test(memory, says_no_where_none_can_be_had);
    tcase_add_test(memory, leaves_no_descriptor_when_it_fails);
    tcase_add_test(memory, takes_no_other_file_for_a_slot);
    tcase_add_test(memory, is_not_one_that_was_cut_short);
    return suite;
}
