/* ring/ring.c */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ring/ring.h"

#define BYTES ((size_t)1 << 13)

static struct stk_ring ring;

/* One that was sent, and whose tensor in the worker has ended. */
static int send_one(size_t bytes)
{
    int slot = stk_ring_take(&ring, bytes);
    ck_assert_int_ge(slot, 0);
    stk_slot_lend(&ring.slots[slot].slot);
    stk_ring_let_go(&ring, slot);
    stk_ring_introduced(&ring, slot);
    return slot;
}

static void come_back(int slot)
{
    stk_slot_give_back(&ring.slots[slot].slot);
}

static unsigned count_slots(void)
{
    unsigned count = 0;
    for (int i = 0; i < STK_RING_SLOTS; i++) {
        count += ring.slots[i].slot.memory != NULL;
    }
    return count;
}

START_TEST(a_slot_that_came_back_is_taken_again)
{
    stk_ring_begin(&ring, 1);
    int first = send_one(BYTES);
    unsigned char *memory = ring.slots[first].slot.memory;
    come_back(first);
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(send_one(BYTES), first);
        come_back(first);
    }
    ck_assert_ptr_eq(ring.slots[first].slot.memory, memory);
    ck_assert_uint_eq(count_slots(), 1);
}
END_TEST

START_TEST(a_slot_is_not_taken_while_anybody_has_it)
{
    stk_ring_begin(&ring, 1);
    int first = stk_ring_take(&ring, BYTES);
    int second = stk_ring_take(&ring, BYTES);
    ck_assert_int_ne(first, second);
    stk_slot_lend(&ring.slots[first].slot);
    stk_ring_hold(&ring, first);
    stk_ring_let_go(&ring, first);
    stk_ring_let_go(&ring, first);
    int third = stk_ring_take(&ring, BYTES); /* the first is lent, the second held */
    ck_assert_int_ne(third, first);
    ck_assert_int_ne(third, second);
    come_back(first);
    ck_assert_int_eq(stk_ring_take(&ring, BYTES), first);
}
END_TEST

START_TEST(there_are_as_many_as_are_in_flight)
{
    int slots[5];
    stk_ring_begin(&ring, 1);
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 5; i++) {
            slots[i] = send_one(BYTES);
        }
        for (int i = 0; i < 5; i++) {
            come_back(slots[i]);
        }
        ck_assert_uint_eq(count_slots(), 5);
    }
}
END_TEST

START_TEST(what_was_in_flight_once_goes_back_to_the_system)
{
    int slots[20];
    stk_ring_begin(&ring, 1);
    for (int i = 0; i < 20; i++) {
        slots[i] = send_one(BYTES);
    }
    for (int i = 0; i < 20; i++) {
        come_back(slots[i]);
    }
    for (int i = 0; i < 600; i++) {
        come_back(send_one(BYTES));
    }
    ck_assert_uint_eq(count_slots(), 1);
}
END_TEST

START_TEST(sizes_that_come_in_turn_have_slots_each)
{
    stk_ring_begin(&ring, 1);
    for (int i = 0; i < 100; i++) {
        int large = send_one(8 * BYTES), small = send_one(BYTES);
        ck_assert_uint_eq(ring.slots[large].slot.bytes, 8 * BYTES);
        ck_assert_uint_eq(ring.slots[small].slot.bytes, BYTES); /* not the large one's */
        come_back(large);
        come_back(small);
    }
    ck_assert_uint_eq(count_slots(), 2);
    ck_assert_uint_eq(ring.numbers, 2);
}
END_TEST

static int offer_one(size_t bytes)
{
    int slot = stk_ring_take(&ring, bytes);
    ck_assert_int_ge(slot, 0);
    stk_slot_lend(&ring.slots[slot].slot);
    stk_ring_offer(&ring, slot);
    stk_ring_let_go(&ring, slot);
    return slot;
}

START_TEST(what_is_offered_stays_whatever_is_in_flight)
{
    stk_ring_begin(&ring, 1);
    int small = offer_one(BYTES), large = offer_one(8 * BYTES);
    for (int i = 0; i < 600; i++) {
        come_back(send_one(64 * BYTES));
    }
    ck_assert_int_eq(offer_one(BYTES), small);
    ck_assert_int_eq(send_one(8 * BYTES), large);
    come_back(large);
    come_back(send_one(64 * BYTES));
    ck_assert_ptr_null(ring.slots[large].slot.memory); /* it has memory since it was sent */
    ck_assert_ptr_nonnull(ring.slots[small].slot.memory);
}
END_TEST

START_TEST(an_offer_makes_room_if_there_is_no_other)
{
    stk_ring_begin(&ring, 1);
    for (int i = 0; i < STK_RING_SLOTS; i++) {
        offer_one(BYTES << i % 2 << i / 2 % 12);
    }
    for (int i = 0; i < STK_RING_SLOTS; i++) {
        ck_assert_int_ge(stk_ring_take(&ring, 3 * BYTES << i % 8), 0);
    }
    ck_assert_int_eq(stk_ring_take(&ring, BYTES), -EBUSY);
}
END_TEST

START_TEST(sizes_that_are_not_asked_for_any_more_make_room)
{
    stk_ring_begin(&ring, 1);
    for (size_t bytes = BYTES; bytes < 40 * BYTES; bytes += BYTES) {
        come_back(send_one(bytes));
        size_t all = 0;
        for (int i = 0; i < STK_RING_SLOTS; i++) {
            all += ring.slots[i].slot.bytes;
        }
        ck_assert_uint_le(all, 2 * bytes);
    }
}
END_TEST

START_TEST(a_consumer_may_keep_all_it_gets)
{
    struct stk_slot theirs[3 * STK_RING_SLOTS];
    stk_ring_begin(&ring, 1);
    for (int i = 0; i < 3 * STK_RING_SLOTS; i++) {
        int slot = stk_ring_take(&ring, 65536);
        ck_assert_int_ge(slot, 0);
        memset(ring.slots[slot].slot.memory, i, 65536);
        stk_slot_lend(&ring.slots[slot].slot);
        ck_assert_int_eq(stk_slot_map(&theirs[i], ring.slots[slot].fd), 0);
        stk_ring_let_go(&ring, slot);
        stk_ring_introduced(&ring, slot);
    }
    for (int i = 0; i < 3 * STK_RING_SLOTS; i++) {
        ck_assert_int_eq(theirs[i].memory[0], i & 255);
        ck_assert_int_eq(theirs[i].memory[65535], i & 255);
        ck_assert_uint_eq(stk_slot_name(&theirs[i]).number, (unsigned)i);
    }
    ck_assert(stk_slot_has(&theirs[0], STK_SLOT_OVER));
}
END_TEST

START_TEST(a_ring_whose_slots_are_all_held_says_no)
{
    stk_ring_begin(&ring, 1);
    for (int i = 0; i < STK_RING_SLOTS; i++) {
        ck_assert_int_ge(stk_ring_take(&ring, 4096), 0);
    }
    ck_assert_int_eq(stk_ring_take(&ring, 4096), -EBUSY);
    stk_ring_let_go(&ring, 5);
    ck_assert_int_eq(stk_ring_take(&ring, 4096), 5);
}
END_TEST

START_TEST(a_slot_is_found_by_what_lies_in_it)
{
    stk_ring_begin(&ring, 1);
    int slot = stk_ring_take(&ring, BYTES), other = stk_ring_take(&ring, BYTES);
    const unsigned char *memory = ring.slots[slot].slot.memory;
    ck_assert_int_eq(stk_ring_find(&ring, memory), slot);
    ck_assert_int_eq(stk_ring_find(&ring, memory + BYTES - 1), slot);
    ck_assert_int_eq(stk_ring_find(&ring, ring.slots[other].slot.memory), other);
    ck_assert_int_eq(stk_ring_find(&ring, &ring), -1);
    ck_assert_int_eq(stk_ring_find(&ring, NULL), -1);
}
END_TEST

/* ---- forks and ends ---- */

/* The parent takes, writes, and looks at what the child saw. */
static int leave_and_look(void *context)
{
    const unsigned char *memory = ring.slots[*(const int *)context].slot.memory;
    if (stk_ring_is_own(&ring)) {
        return 1;
    }
    stk_ring_leave(&ring);
    if (ring.owner != 0 || count_slots() != 0) {
        return 2;
    }
    return memory[BYTES - 1] == 7 ? 0 : 3; /* what lies over a slot stays where it is */
}

START_TEST(a_child_of_fork_has_no_ring)
{
    stk_ring_begin(&ring, 1);
    ck_assert(stk_ring_is_own(&ring));
    int held = stk_ring_take(&ring, BYTES);
    memset(ring.slots[held].slot.memory, 7, BYTES);
    stk_ring_keep(&ring);
    ck_assert_int_eq(unit_in_child(leave_and_look, &held), 0);
    ck_assert(stk_ring_is_own(&ring));
    ck_assert_uint_eq(count_slots(), 1);
}
END_TEST

/* A forked child that looks at its memory once its parent has gone on. */
static void look_late(int held, const int *gate)
{
    const unsigned char *memory = ring.slots[held].slot.memory;
    char word;
    if (read(gate[0], &word, 1) != 1) {
        _exit(2);
    }
    stk_ring_leave(&ring);
    _exit(memory[0] == 7 && memory[BYTES - 1] == 7 ? 0 : 1);
}

START_TEST(a_child_sees_what_there_was_at_the_fork)
{
    int gate[2], status;
    stk_ring_begin(&ring, 1);
    int held = stk_ring_take(&ring, BYTES);
    memset(ring.slots[held].slot.memory, 7, BYTES);
    ck_assert_int_eq(pipe(gate), 0);
    stk_ring_keep(&ring);
    pid_t child = fork();
    if (child == 0) {
        look_late(held, gate);
    }
    stk_ring_go_on(&ring);
    ck_assert_ptr_null(ring.slots[held].copy);
    memset(ring.slots[held].slot.memory, 8, BYTES);
    ck_assert_int_eq(write(gate[1], "x", 1), 1);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    close(gate[0]);
    close(gate[1]);
}
END_TEST

START_TEST(what_a_child_sees_is_never_written_again)
{
    stk_ring_begin(&ring, 1);
    int held = stk_ring_take(&ring, BYTES);
    uint64_t number = stk_slot_name(&ring.slots[held].slot).number;
    int free_one = stk_ring_take(&ring, BYTES);
    stk_ring_let_go(&ring, free_one);
    struct stk_slot childs;
    ck_assert_int_eq(stk_slot_map(&childs, ring.slots[held].fd), 0);
    memset(childs.memory, 7, BYTES);
    stk_ring_keep(&ring); /* and now it forks */
    stk_ring_let_go(&ring, held);
    for (int i = 0; i < 10; i++) {
        int slot = stk_ring_take(&ring, BYTES);
        ck_assert_uint_ne(stk_slot_name(&ring.slots[slot].slot).number, number);
        memset(ring.slots[slot].slot.memory, i, BYTES);
        stk_ring_let_go(&ring, slot);
    }
    ck_assert_int_eq(childs.memory[0], 7);
    ck_assert_uint_eq(count_slots(), 1); /* the kept one is forgotten, the free one serves on */
    ck_assert(stk_slot_has(&childs, STK_SLOT_OVER));
}
END_TEST

START_TEST(what_the_receivers_child_sees_is_never_written_again)
{
    struct stk_slot theirs;
    stk_ring_begin(&ring, 1);
    int slot = stk_ring_take(&ring, BYTES);
    memset(ring.slots[slot].slot.memory, 7, BYTES);
    ck_assert_int_eq(stk_slot_map(&theirs, ring.slots[slot].fd), 0);
    stk_slot_lend(&theirs);
    stk_ring_let_go(&ring, slot);
    stk_slot_mark(&theirs, STK_SLOT_KEPT);
    stk_slot_give_back(&theirs);
    int next = stk_ring_take(&ring, BYTES);
    memset(ring.slots[next].slot.memory, 8, BYTES);
    ck_assert_int_eq(theirs.memory[0], 7);
}
END_TEST

START_TEST(an_end_is_told)
{
    struct stk_slot theirs;
    stk_ring_begin(&ring, 1);
    int slot = stk_ring_take(&ring, BYTES);
    ck_assert_int_eq(stk_slot_map(&theirs, ring.slots[slot].fd), 0);
    ck_assert(!stk_slot_has(&theirs, STK_SLOT_OVER));
    stk_ring_end(&ring);
    ck_assert(stk_slot_has(&theirs, STK_SLOT_OVER));
}
END_TEST

/* How many descriptors this process has open. */
static int count_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    return count;
}

START_TEST(no_descriptor_stays_open)
{
    int before = count_descriptors();
    stk_ring_begin(&ring, 1);
    for (size_t bytes = 4096; bytes < 40 * BYTES; bytes *= 3) { /* some are forgotten on the way */
        send_one(bytes);
        stk_ring_let_go(&ring, stk_ring_take(&ring, bytes));
    }
    for (int i = 0; i < STK_RING_SLOTS; i++) {
        if (ring.slots[i].slot.memory != NULL) {
            stk_ring_introduced(&ring, i);
        }
    }
    ck_assert_int_eq(count_descriptors(), before);
}
END_TEST

START_TEST(a_slot_that_is_none_is_not_held)
{
    stk_ring_begin(&ring, 1);
    stk_ring_hold(&ring, STK_RING_SLOTS);
}
END_TEST

START_TEST(a_slot_is_let_go_as_often_as_it_was_held)
{
    stk_ring_begin(&ring, 1);
    int slot = stk_ring_take(&ring, BYTES);
    stk_ring_let_go(&ring, slot);
    stk_ring_let_go(&ring, slot);
}
END_TEST

Suite *suite_ring(void)
{
    Suite *suite = suite_create("ring");
    TCase *taking = unit_case(suite, "ring_taking");
    tcase_add_test(taking, a_slot_that_came_back_is_taken_again);
    tcase_add_test(taking, a_slot_is_not_taken_while_anybody_has_it);
    tcase_add_test(taking, a_slot_is_found_by_what_lies_in_it);
    TCase *growth = unit_case(suite, "ring_growth");
    tcase_add_test(growth, there_are_as_many_as_are_in_flight);
    tcase_add_test(growth, what_was_in_flight_once_goes_back_to_the_system);
    tcase_add_test(growth, sizes_that_come_in_turn_have_slots_each);
    tcase_add_test(growth, what_is_offered_stays_whatever_is_in_flight);
    tcase_add_test(growth, an_offer_makes_room_if_there_is_no_other);
    tcase_add_test(growth, sizes_that_are_not_asked_for_any_more_make_room);
    tcase_add_test(growth, a_consumer_may_keep_all_it_gets);
    tcase_add_test(growth, a_ring_whose_slots_are_all_held_says_no);
    TCase *lists = unit_case(suite, "ring_invariants");
    tcase_add_test_raise_signal(lists, a_slot_that_is_none_is_not_held, SIGABRT);
    tcase_add_test_raise_signal(lists, a_slot_is_let_go_as_often_as_it_was_held, SIGABRT);
    TCase *ends = unit_case(suite, "ring_ends");
    tcase_add_test(ends, a_child_of_fork_has_no_ring);
    tcase_add_test(ends, a_child_sees_what_there_was_at_the_fork);
    tcase_add_test(ends, what_a_child_sees_is_never_written_again);
    tcase_add_test(ends, what_the_receivers_child_sees_is_never_written_again);
    tcase_add_test(ends, an_end_is_told);
    tcase_add_test(ends, no_descriptor_stays_open);
    return suite;
}
