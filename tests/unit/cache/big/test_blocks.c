/* cache/big/blocks.c */
#include "cache/big/blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sys.h"
#include "cache/origin/entry_name.h"
#include "tests/unit/box.h"

#define BLOCK STK_LEAST_BLOCK_BYTES
#define SIZE  (10 * BLOCK + 5)

static struct stk_big_blocks blocks;

/* A file of eleven blocks that the catalogue knows. */
static struct stk_record *known_file(void)
{
    static char content[SIZE];
    box_open();
    memset(content, 'x', sizeof content);
    unit_tick();
    unit_write(box_origin("file"), content, sizeof content);
    unit_tick();
    box_learn("file");
    return box_record("file");
}

static void open_blocks(void)
{
    ck_assert_int_eq(stk_big_blocks_open(&blocks, &box.cache, known_file(), BLOCK), 0);
}

START_TEST(begins_with_none)
{
    UNIT_NEEDS_PRIVATE();
    int64_t before;
    struct stk_record *record = known_file();
    before = box_used_blocks();
    ck_assert_int_eq(stk_big_blocks_open(&blocks, &box.cache, record, BLOCK), 0);
    ck_assert_uint_eq(blocks.count, 11);
    ck_assert_uint_eq(stk_big_blocks_bytes_of(&blocks, 9), BLOCK);
    ck_assert_uint_eq(stk_big_blocks_bytes_of(&blocks, 10), 5);
    for (uint64_t i = 0; i < blocks.count; i++) {
        ck_assert(!stk_big_blocks_is_present(&blocks, i));
    }
    ck_assert_int_eq(box_used_blocks() - before, (int64_t)(unit_stat(blocks.state).st_blocks +
                                                           unit_stat(blocks.file).st_blocks));
    ck_assert_uint_eq(unit_stat(blocks.file).st_ino, blocks.file_ino);
}
END_TEST

START_TEST(is_the_same_for_all)
{
    UNIT_NEEDS_PRIVATE();
    static struct stk_big_blocks second;
    open_blocks();
    uint64_t held = stk_big_blocks_take(&blocks, 3);
    ck_assert(stk_big_blocks_publish(&blocks, 3, held));
    ck_assert_int_eq(stk_big_blocks_open(&second, &box.cache, box_record("file"), 4 * BLOCK), 0);
    ck_assert_uint_eq(second.block_bytes, BLOCK); /* the first opener decides */
    ck_assert_str_eq(second.file, blocks.file);
    ck_assert(stk_big_blocks_is_present(&second, 3));
    ck_assert(!stk_big_blocks_is_present(&second, 4));
}
END_TEST

START_TEST(one_fills_a_block)
{
    UNIT_NEEDS_PRIVATE();
    open_blocks();
    uint64_t held = stk_big_blocks_take(&blocks, 0);
    ck_assert_uint_ne(held, 0);
    ck_assert_uint_eq(stk_big_blocks_take(&blocks, 0), 0);
    ck_assert(stk_big_blocks_advance(&blocks, 0, &held));
    ck_assert(stk_big_blocks_publish(&blocks, 0, held));
    ck_assert_uint_eq(stk_big_blocks_take(&blocks, 0), 0);
}
END_TEST

/* By another thread of the same process, which has the same pid. */
START_TEST(who_is_overtaken_knows)
{
    UNIT_NEEDS_PRIVATE();
    open_blocks();
    uint64_t first = stk_big_blocks_take(&blocks, 0), mine = first;
    stk_big_blocks_give_up(&blocks, 0, first); /* as a waiter takes it over */
    usleep(1000);
    uint64_t second = stk_big_blocks_take(&blocks, 0);
    ck_assert_uint_ne(second, 0);
    ck_assert(!stk_big_blocks_advance(&blocks, 0, &mine));
    ck_assert(!stk_big_blocks_pay(&blocks, 0, &mine));
    ck_assert(!stk_big_blocks_publish(&blocks, 0, mine));
    stk_big_blocks_give_up(&blocks, 0, mine);
    ck_assert(stk_big_blocks_advance(&blocks, 0, &second));
    ck_assert(stk_big_blocks_publish(&blocks, 0, second));
}
END_TEST

START_TEST(what_is_paid_stays_paid)
{
    UNIT_NEEDS_PRIVATE();
    open_blocks();
    uint64_t held = stk_big_blocks_take(&blocks, 7);
    ck_assert(!stk_big_blocks_is_paid(held));
    ck_assert(stk_big_blocks_pay(&blocks, 7, &held));
    stk_big_blocks_give_up(&blocks, 7, held);
    held = stk_big_blocks_take(&blocks, 7);
    ck_assert(stk_big_blocks_is_paid(held));
}
END_TEST

static _Atomic bool has_waited;

/* Block 4, which gets on while block 0 is waited for. */
static void *get_on(void *held)
{
    while (!atomic_load(&has_waited)) {
        usleep(10000);
        stk_big_blocks_advance(&blocks, 4, held);
    }
    return NULL;
}

/* A stopped process has many blocks under way. A reader that goes on from front to back would wait
 * for each of them. */
START_TEST(who_is_stuck_with_many_is_waited_for_once)
{
    UNIT_NEEDS_PRIVATE();
    pthread_t thread;
    open_blocks();
    for (uint64_t i = 0; i < 4; i++) {
        ck_assert_uint_ne(stk_big_blocks_take(&blocks, i), 0);
    }
    uint64_t held = stk_big_blocks_take(&blocks, 4);
    struct stk_claim anothers = stk_claim_load(&blocks.words[3]);
    anothers.pid = getppid();
    atomic_store(&blocks.words[5], stk_claim_pack(anothers));
    ck_assert_int_eq(pthread_create(&thread, NULL, get_on, &held), 0);
    stk_big_blocks_wait(&blocks, 0);
    atomic_store(&has_waited, true);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    for (uint64_t i = 0; i < 4; i++) {
        ck_assert_uint_ne(stk_big_blocks_take(&blocks, i), 0);
    }
    ck_assert(stk_big_blocks_publish(&blocks, 4, held));
    ck_assert_int_eq(stk_claim_load(&blocks.words[5]).state, STK_FILLING);
}
END_TEST

/* The word has a valid form, but no process has written it. */
START_TEST(a_damaged_word_is_no_block)
{
    UNIT_NEEDS_PRIVATE();
    open_blocks();
    atomic_store(&blocks.words[2], stk_claim_pack((struct stk_claim){.state = STK_PRESENT}));
    ck_assert(!stk_big_blocks_is_present(&blocks, 2));
    ck_assert(stk_big_blocks_publish(&blocks, 1, stk_big_blocks_take(&blocks, 1)));
    atomic_store(&blocks.words[2], atomic_load(&blocks.words[1]));
    ck_assert(!stk_big_blocks_is_present(&blocks, 2));
}
END_TEST

START_TEST(tells_when_all_are_there)
{
    UNIT_NEEDS_PRIVATE();
    open_blocks();
    for (uint64_t i = blocks.count; i-- > 0;) {
        ck_assert(!stk_big_blocks_are_all_present(&blocks));
        ck_assert(stk_big_blocks_publish(&blocks, i, stk_big_blocks_take(&blocks, i)));
    }
    ck_assert(stk_big_blocks_are_all_present(&blocks));
}
END_TEST

START_TEST(one_that_is_lost_is_made_anew)
{
    UNIT_NEEDS_PRIVATE();
    static struct stk_big_blocks second;
    open_blocks();
    ck_assert(stk_big_blocks_publish(&blocks, 0, stk_big_blocks_take(&blocks, 0)));
    ck_assert_int_eq(unlink(blocks.file), 0);
    stk_big_blocks_lose(&blocks, &box.cache);
    ck_assert_int_eq(stk_big_blocks_open(&second, &box.cache, box_record("file"), BLOCK), 0);
    ck_assert_str_ne(second.file, blocks.file);
    ck_assert(!stk_big_blocks_is_present(&second, 0));
}
END_TEST

/* The process that completes the file removes the table under the record's claim. */
START_TEST(a_version_with_an_entry_gets_no_table)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_record *record = known_file();
    ck_assert(stk_claim_take(&record->claim, stk_claim_load(&record->claim)));
    ck_assert_int_eq(stk_big_blocks_open(&blocks, &box.cache, record, BLOCK), -EALREADY);
    stk_claim_finish(&record->claim, STK_PRESENT, 0, 0);
    ck_assert_int_eq(stk_big_blocks_open(&blocks, &box.cache, record, BLOCK), -EALREADY);
    ck_assert_ptr_null(blocks.table);
}
END_TEST

START_TEST(what_is_no_table_is_none)
{
    UNIT_NEEDS_PRIVATE();
    static struct stk_big_blocks second;
    char junk[8192] = "no table";
    open_blocks();
    ck_assert_int_eq(truncate(blocks.state, 4096), 0);
    ck_assert_int_lt(stk_big_blocks_open(&second, &box.cache, box_record("file"), BLOCK), 0);
    ck_assert_int_eq(unlink(blocks.state), 0);
    unit_write(blocks.state, junk, sizeof junk);
    ck_assert_int_eq(chmod(blocks.state, 0600), 0);
    ck_assert_int_lt(stk_big_blocks_open(&second, &box.cache, box_record("file"), BLOCK), 0);
    ck_assert_ptr_null(second.table);
}
END_TEST

Suite *suite_blocks(void)
{
    Suite *suite = suite_create("blocks");
    TCase *table = unit_case(suite, "blocks_table");
    tcase_add_test(table, begins_with_none);
    tcase_add_test(table, is_the_same_for_all);
    tcase_add_test(table, one_that_is_lost_is_made_anew);
    tcase_add_test(table, a_version_with_an_entry_gets_no_table);
    tcase_add_test(table, what_is_no_table_is_none);
    TCase *words = unit_case(suite, "blocks_words");
    tcase_add_test(words, one_fills_a_block);
    tcase_add_test(words, who_is_overtaken_knows);
    tcase_add_test(words, who_is_stuck_with_many_is_waited_for_once);
    tcase_add_test(words, what_is_paid_stays_paid);
    tcase_add_test(words, a_damaged_word_is_no_block);
    tcase_add_test(words, tells_when_all_are_there);
    return suite;
}
