/* cache/run/revalidation_queue.c */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "cache/run/revalidation_queue.h"
#include "tests/unit/unit.h"

static struct stk_revalidation_queue queue;
static struct stk_roots roots;

static const struct stk_root *begin(void)
{
    memset(&queue, 0, sizeof queue);
    roots.count = 2;
    roots.roots[0] = (struct stk_root){.key = {.low = 7}, .usable = true};
    roots.roots[1] = (struct stk_root){.key = {.low = 8}, .usable = true, .kind = STK_ROOT_DISK};
    stk_revalidation_queue_open(&queue, &roots, getppid());
    return &roots.roots[0];
}

static bool put(const char *below)
{
    struct stk_revalidation_queue_slot *slot =
        stk_revalidation_queue_reserve(&queue, &roots.roots[0], below);
    if (slot != NULL) {
        stk_revalidation_queue_put(&queue, slot);
    }
    return slot != NULL;
}

START_TEST(what_is_put_is_taken)
{
    uint64_t root;
    char below[STK_REVALIDATION_QUEUE_PATH_BYTES];
    begin();
    ck_assert(put("a/b"));
    ck_assert(put("c"));
    ck_assert(stk_revalidation_queue_take(&queue, &root, below));
    ck_assert_uint_eq(root, 7);
    ck_assert_str_eq(below, "a/b");
    ck_assert(stk_revalidation_queue_take(&queue, &root, below));
    ck_assert_str_eq(below, "c");
}
END_TEST

START_TEST(only_what_somebody_takes)
{
    char longest[STK_REVALIDATION_QUEUE_PATH_BYTES + 1];
    struct stk_root other = {.key = {.low = 9}, .usable = true};
    const struct stk_root *root = begin();
    memset(longest, 'x', STK_REVALIDATION_QUEUE_PATH_BYTES);
    longest[STK_REVALIDATION_QUEUE_PATH_BYTES] = '\0';
    ck_assert_ptr_null(stk_revalidation_queue_reserve(NULL, root, "a"));
    ck_assert_ptr_null(stk_revalidation_queue_reserve(&queue, &other, "a"));
    ck_assert_ptr_null(
        stk_revalidation_queue_reserve(&queue, &roots.roots[1], "a")); /* local: asks */
    ck_assert_ptr_null(stk_revalidation_queue_reserve(&queue, root, longest));
    ck_assert_ptr_nonnull(stk_revalidation_queue_reserve(&queue, root, longest + 1));
    stk_revalidation_queue_open(&queue, &roots, getpid());
    ck_assert_ptr_null(stk_revalidation_queue_reserve(&queue, root, "a"));
    stk_revalidation_queue_close(&queue);
    ck_assert_ptr_null(stk_revalidation_queue_reserve(&queue, root, "a"));
}
END_TEST

START_TEST(reserved_is_not_there_yet)
{
    uint64_t key;
    char below[STK_REVALIDATION_QUEUE_PATH_BYTES];
    const struct stk_root *root = begin();
    struct stk_revalidation_queue_slot *first =
        stk_revalidation_queue_reserve(&queue, root, "first");
    ck_assert(put("second"));
    ck_assert(stk_revalidation_queue_take(&queue, &key, below));
    ck_assert_str_eq(below, "second");
    stk_revalidation_queue_end(&queue, first, false);
    ck_assert(put("third"));
    ck_assert(stk_revalidation_queue_take(&queue, &key, below));
    ck_assert_str_eq(below, "third");
}
END_TEST

START_TEST(full)
{
    uint64_t key;
    char below[STK_REVALIDATION_QUEUE_PATH_BYTES];
    begin();
    for (int i = 0; i < STK_REVALIDATION_QUEUE_SLOTS; i++) {
        ck_assert(put("x"));
    }
    ck_assert(!put("x"));
    ck_assert(stk_revalidation_queue_take(&queue, &key, below));
    ck_assert(put("x"));
    ck_assert(!put("x"));
}
END_TEST

static void reserve_all(void)
{
    while (stk_revalidation_queue_reserve(&queue, &roots.roots[0], "x") != NULL) {
    }
}

/* A process that is killed between reserving and putting takes no room with it. */
START_TEST(the_dead_hold_nothing)
{
    begin();
    for (int i = 0; i < STK_REVALIDATION_QUEUE_SLOTS; i++) {
        atomic_store(&queue.slots[i].state, (uint32_t)unit_dead_pid());
    }
    ck_assert(put("x"));
    reserve_all();
    ck_assert(!put("y")); /* this one lives */
}
END_TEST

static void *take_until_closed(void *context)
{
    uint64_t key;
    char below[STK_REVALIDATION_QUEUE_PATH_BYTES];
    _Atomic int *taken = context;
    while (stk_revalidation_queue_take(&queue, &key, below)) {
        atomic_fetch_add(taken, 1);
    }
    return NULL;
}

START_TEST(each_is_taken_once)
{
    enum { THREADS = 4, COUNT = 20000 };
    pthread_t threads[THREADS];
    _Atomic int taken = 0;
    begin();
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, take_until_closed, &taken), 0);
    }
    int count = 0;
    while (count < COUNT) {
        count += put("x") ? 1 : 0;
    }
    UNIT_WAIT_UNTIL(atomic_load(&taken) >= COUNT);
    stk_revalidation_queue_close(&queue);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    ck_assert_int_eq(atomic_load(&taken), COUNT);
}
END_TEST

Suite *suite_revalidation_queue(void)
{
    Suite *suite = suite_create("revalidation_queue");
    TCase *queue_case = unit_case(suite, "queue");
    tcase_add_test(queue_case, what_is_put_is_taken);
    tcase_add_test(queue_case, only_what_somebody_takes);
    tcase_add_test(queue_case, reserved_is_not_there_yet);
    tcase_add_test(queue_case, full);
    tcase_add_test(queue_case, the_dead_hold_nothing);
    tcase_add_test(queue_case, each_is_taken_once);
    return suite;
}
