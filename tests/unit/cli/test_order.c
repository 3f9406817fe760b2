/* cli/ahead/orders/order.c */
#include "tests/unit/unit.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/ahead/orders/beside.h"
#include "cli/ahead/orders/order.h"
#include "cli/ahead/orders/sample_files.h"

static struct stk_run run;
static struct order order;
static int loader; /* the other end of the order's connection */

/* Begins another pass of the same loader. */
static void connect_loader(void)
{
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    loader = ends[1];
    order_begin(&order, ends[0]);
}

static void begin(void)
{
    const char *home = unit_directory("home");
    unit_directory("home/runs");
    ck_assert_int_eq(chmod(home, 0700), 0);
    ck_assert_int_eq(stk_run_create(&run, home, "one"), 0);
    connect_loader();
}

static void end(void)
{
    order_end(&order);
    close(loader);
}

static bool add(uint64_t asked, const char *paths, size_t bytes)
{
    char message[256];
    struct order_message head = {.magic = ORDER_MAGIC, .done = asked};
    memcpy(message, &head, sizeof head);
    memcpy(message + sizeof head, paths, bytes);
    return order_add(&order, message, sizeof head + bytes);
}

/* Adds a file for each number. */
static void add_files(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        ck_assert(add(0, "/a", sizeof "/a"));
    }
}

/* Takes all files that may be read. File N has record N + 1. */
static unsigned take_all(void)
{
    unsigned count = 0;
    char path[STK_PATH_BYTES];
    while (order_has_next(&order)) {
        uint64_t number = order_take(&order, path);
        order_probe(&order, number, (uint32_t)number + 1);
        count++;
    }
    return count;
}

static void open_file(uint32_t record)
{
    stk_run_count_open(&run,
                       &(struct stk_run_open_counts){.record = record, .kind = STK_COUNT_OPENS});
}

START_TEST(paths_come_in_their_order)
{
    static const char paths[] = "/a\0/b c\0/d";
    char path[STK_PATH_BYTES];
    begin();
    ck_assert(!order_has_next(&order));
    ck_assert(add(0, paths, 3) && add(1, paths + 3, sizeof paths - 3));
    ck_assert_uint_eq(order_take(&order, path), 0);
    ck_assert_str_eq(path, "/a");
    ck_assert_uint_eq(order_take(&order, path), 1);
    ck_assert_str_eq(path, "/b c");
    ck_assert_uint_eq(order_take(&order, path), 2);
    ck_assert_str_eq(path, "/d");
    ck_assert(!order_has_next(&order));
    ck_assert_uint_eq(order.done, 1);
    end();
}
END_TEST

START_TEST(how_far_ahead_of_the_workers)
{
    begin();
    order.asked = 10;
    ck_assert_uint_eq(order_lead(&order, 30), 20);
    ck_assert_uint_eq(order_lead(&order, 10), 0);
    ck_assert_uint_eq(order_lead(&order, 9), 0);
    order.done = ORDER_UNORDERED;
    ck_assert_uint_eq(order_lead(&order, 30), 0);
    end();
}
END_TEST

START_TEST(a_file_that_was_opened_in_its_turn)
{
    begin();
    order.asked = 100;
    ck_assert(!order_was_opened(&order, 500, 1)); /* by earlier passes */
    ck_assert(!order_was_opened(&order, 99, 1));
    ck_assert(order_was_opened(&order, 99, 2));
    ck_assert(order_was_opened(&order, 100 + ORDER_UNHEARD - 1, 2)); /* asked for since */
    ck_assert(!order_was_opened(&order, 100 + ORDER_UNHEARD, 2));
    order.width = 2;
    ck_assert(order_was_opened(&order, 100 + ORDER_UNHEARD, 2));
    ck_assert(!order_was_opened(&order, 100 + 2 * ORDER_UNHEARD, 2));
    order.done = ORDER_UNORDERED;
    ck_assert(!order_was_opened(&order, 0, 2));
    end();
}
END_TEST

START_TEST(what_is_no_message)
{
    struct order_message head = {.magic = ORDER_MAGIC + 1};
    begin();
    ck_assert(!order_add(&order, &head, sizeof head));
    head.magic = ORDER_MAGIC;
    ck_assert(order_add(&order, &head, sizeof head));
    ck_assert(!order_add(&order, &head, sizeof head - 1));
    ck_assert(!add(0, "/a", 2)); /* without its zero */
    ck_assert(!order_has_next(&order));
    end();
}
END_TEST

START_TEST(a_path_that_is_too_long)
{
    static char message[sizeof(struct order_message) + STK_PATH_BYTES + 10];
    char path[STK_PATH_BYTES];
    struct order_message head = {.magic = ORDER_MAGIC};
    begin();
    memcpy(message, &head, sizeof head);
    memset(message + sizeof head, 'a', STK_PATH_BYTES + 9);
    ck_assert(order_add(&order, message, sizeof message));
    order_take(&order, path);
    ck_assert_str_eq(path, "");
    ck_assert(!order_has_next(&order));
    end();
}
END_TEST

/* Returns the next word for the loader, or 0. */
static char hear(void)
{
    char word = 0;
    (void)!recv(loader, &word, sizeof word, MSG_DONTWAIT);
    return word;
}

START_TEST(no_more_than_probes_until_the_job_opens_some)
{
    begin();
    add_files(3 * ORDER_PROBES);
    ck_assert_uint_eq(take_all(), ORDER_PROBES);
    for (uint32_t record = 1; record < 8; record++) {
        open_file(record);
    }
    order_judge(&order, &run);
    order_judge(&order, &run); /* counts no open twice */
    ck_assert_uint_eq(take_all(), 0);
    ck_assert_int_eq(hear(), ORDER_PROBED);
    ck_assert_int_eq(hear(), 0);
    open_file(20);
    order_judge(&order, &run);
    ck_assert_uint_eq(take_all(), 2 * ORDER_PROBES);
    ck_assert_int_eq(hear(), ORDER_BELIEVED);
    end();
}
END_TEST

/* So the loader does not doubt its list. */
START_TEST(files_that_were_there_refute_nothing)
{
    begin();
    add_files(ORDER_PROBES);
    for (unsigned i = 0; i < ORDER_PROBES; i++) {
        char path[STK_PATH_BYTES];
        order_probe(&order, order_take(&order, path), i < 7 ? i + 1 : 0);
    }
    order_judge(&order, &run);
    ck_assert_int_eq(hear(), 0);
    end();
}
END_TEST

START_TEST(an_order_that_nobody_follows)
{
    begin();
    add_files(2 * ORDER_PROBES);
    ck_assert_uint_eq(take_all(), ORDER_PROBES);
    ck_assert(add(4000, "", 0)); /* the workers may not have come to them */
    order_judge(&order, &run);
    ck_assert(!order.failed);
    ck_assert(add(10000, "", 0));
    order_judge(&order, &run);
    ck_assert(order.failed && !order_has_next(&order));
    ck_assert_int_eq(hear(), ORDER_PROBED);
    ck_assert_int_eq(hear(), ORDER_REFUTED);
    end();
}
END_TEST

START_TEST(an_order_that_fails_later)
{
    begin();
    add_files(ORDER_PROBES);
    take_all();
    for (uint32_t record = 1; record <= 8; record++) {
        open_file(record);
    }
    order_judge(&order, &run);
    ck_assert(order.believed && !order.failed);
    ck_assert(add(10000, "", 0));
    order_judge(&order, &run);
    ck_assert(order.failed);
    order_judge(&order, &run);
    static const char words[] = {ORDER_PROBED, ORDER_BELIEVED, ORDER_REFUTED, 0};
    for (size_t i = 0; i < sizeof words; i++) {
        ck_assert_int_eq(hear(), words[i]);
    }
    end();
}
END_TEST

START_TEST(files_without_room)
{
    begin();
    add_files(10);
    for (int i = 0; i < 31; i++) {
        order_note_room(&order, false);
    }
    order_note_room(&order, true);
    for (int i = 0; i < 31; i++) {
        order_note_room(&order, false);
    }
    ck_assert(order_has_next(&order));
    order_note_room(&order, false);
    ck_assert(!order_has_next(&order));
    end();
}
END_TEST

/* Its files may be opened at any time, so it does not fail. */
START_TEST(files_in_no_order)
{
    begin();
    add_files(100);
    ck_assert_uint_eq(take_all(), ORDER_PROBES);
    ck_assert(add(ORDER_UNORDERED, "/a", sizeof "/a"));
    order_judge(&order, &run);
    ck_assert(!order.failed && !order_has_next(&order));
    for (uint32_t record = 1; record <= 8; record++) {
        open_file(record);
    }
    order_judge(&order, &run);
    ck_assert(order.believed && order_has_next(&order));
    end();
}
END_TEST

static void begin_tree(uint64_t kind, unsigned count)
{
    begin();
    for (unsigned i = 0; i < count; i++) {
        ck_assert(add(kind, "/a", sizeof "/a"));
    }
}

static unsigned open_files(uint32_t from, uint32_t until)
{
    for (uint32_t record = from; record <= until; record++) {
        open_file(record);
    }
    order_judge(&order, &run);
    return take_all();
}

START_TEST(a_tree_whose_files_are_opened)
{
    begin_tree(ORDER_TREE, 300);
    ck_assert_uint_eq(take_all(), ORDER_PROBES);
    ck_assert_uint_eq(open_files(1, 3), 0);
    ck_assert_uint_eq(open_files(4, 4), 1); /* one in 16, and one more probe */
    ck_assert_uint_eq(open_files(5, 6), 300 - ORDER_PROBES - 1);
    end();
}
END_TEST

START_TEST(files_of_a_tree_that_were_there)
{
    char path[STK_PATH_BYTES];
    begin_tree(ORDER_TREE, 300);
    for (unsigned i = 0; i < 200; i++) {
        ck_assert(order_has_next(&order));
        order_probe(&order, order_take(&order, path), 0);
    }
    ck_assert_uint_eq(take_all(), ORDER_PROBES);
    end();
}
END_TEST

START_TEST(shards_come_as_they_are_opened)
{
    begin_tree(ORDER_SHARDS, 100);
    ck_assert_uint_eq(take_all(), 2);
    ck_assert_uint_eq(open_files(1, 1), 8);
    ck_assert_uint_eq(open_files(2, 2), 8);
    ck_assert_uint_eq(open_files(3, 3), 1); /* 16 are ahead */
    end();
}
END_TEST

#define SET 5 /* a data set */

/* ---- beside a list ---- */

static struct order beside;

/* Adds what a message of some kind says of SET. */
static bool tell(uint64_t kind, const char *body, size_t bytes)
{
    char message[256];
    struct order_message head = {.magic = ORDER_MAGIC, .dataset = SET, .done = kind};
    memcpy(message, &head, sizeof head);
    memcpy(message + sizeof head, body, bytes);
    return order_add(&order, message, sizeof head + bytes);
}

/* Adds a message with so many files of a list, as their numbers say. */
static void add_list(uint64_t done, unsigned first, unsigned count)
{
    char paths[128];
    for (unsigned i = 0; i < count; i++) {
        snprintf(paths + 7 * i, 7, "/i%04u", (first + i) % 10000);
    }
    ck_assert(add(done, paths, 7 * count));
}

static void learn_rule(void)
{
    ck_assert(!order_has_rule(&order));
    for (unsigned i = 0; i < 8; i++) {
        char paths[] = "/i000x\0/m000x";
        paths[5] = paths[12] = (char)('0' + i);
        ck_assert(tell(ORDER_BESIDE, paths, sizeof paths));
    }
    ck_assert(order_has_rule(&order));
}

/* Begins a list whose rule is learned, and an order beside it. */
static void begin_list(uint64_t done, unsigned messages, unsigned each)
{
    begin();
    ck_assert(tell(ORDER_LIST, "", 0));
    for (unsigned i = 0; i < messages; i++) {
        add_list(done, i * each, each);
    }
    take_all();
    learn_rule();
    order_begin_beside(&beside, &order, dup(order.fd));
    ck_assert(!order_has_rule(&order));
    ck_assert(order_follow(&beside));
}

/* Takes the files beside the list's that may be read. `came`: they were read, as records
 * from 1. */
static unsigned take_beside(bool came)
{
    unsigned count = 0;
    char path[STK_PATH_BYTES];
    while (order_has_next(&beside)) {
        uint64_t number = order_take(&beside, path);
        order_probe(&beside, number, came ? (uint32_t)number + 1 : 0);
        count++;
    }
    return count;
}

static void open_pairs(unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++) {
        open_file(i + 1);
    }
}

/* The loader is done with so many samples. */
static void pass(unsigned done)
{
    add_list(done, 1000, 8);
    ck_assert(order_follow(&beside));
    order_judge(&beside, &run);
}

static void end_list(void)
{
    order_judge(&beside, &run);
    order_judge_rule(&beside);
    order_end(&beside);
    end();
}

/* It begins with the files that the loader is not done with, though the list's are taken. */
START_TEST(files_beside_those_of_a_list)
{
    char path[STK_PATH_BYTES];
    begin_list(10, 3, 8);
    ck_assert(order_is_empty(&order));
    for (unsigned i = 8; i < 24; i++) {
        char expected[8];
        snprintf(expected, sizeof expected, "/m%04u", i);
        ck_assert_uint_eq(order_take(&beside, path), i);
        ck_assert_str_eq(path, expected);
    }
    ck_assert(!order_has_next(&beside));
    add_list(11, 24, 8);
    add_list(32, 32, 8);
    ck_assert(order_follow(&beside) && order_follow(&beside));
    ck_assert_uint_eq(order_take(&beside, path), 32); /* the loader is done with those before */
    ck_assert_str_eq(path, "/m0032");
    end_list();
}
END_TEST

START_TEST(files_that_do_not_follow_from_a_list)
{
    begin_list(0, 1, 8);
    ck_assert_uint_eq(take_beside(true), 8);
    ck_assert(add(0, "/other", sizeof "/other"));
    ck_assert(order_follow(&beside));
    ck_assert(!order_has_next(&beside));
    ck_assert_uint_eq(beside.taken, 9);
    end_list();
}
END_TEST

START_TEST(a_rule_that_holds)
{
    begin_list(0, 20, 8);
    ck_assert_uint_eq(take_beside(true), ORDER_PROBES);
    for (uint32_t record = 1; record <= 8; record++) {
        open_file(record);
    }
    order_judge(&beside, &run);
    ck_assert_uint_eq(take_beside(true), 2 * 8);
    open_pairs(8, ORDER_PROBES);
    order_judge(&beside, &run);
    ck_assert_uint_eq(take_beside(true), 160 - ORDER_PROBES - 2 * 8);
    ck_assert_int_eq(hear(), ORDER_PROBED); /* of its own order */
    ck_assert_int_eq(hear(), 0);
    end_list();
    char path[STK_PATH_BYTES];
    ck_assert_uint_gt(beside_path(SET, 0, "/i0001", path), 1);
}
END_TEST

/* Ids are no files. The loader hears that names follow from them. */
START_TEST(files_that_follow_from_ids)
{
    char path[STK_PATH_BYTES];
    begin();
    ck_assert(tell(ORDER_IDS, "", 0));
    for (unsigned i = 0; i < 20; i++) {
        add_list(0, 8 * i, 8);
    }
    ck_assert(!order_has_next(&order));
    learn_rule();
    order_begin_beside(&beside, &order, dup(order.fd));
    ck_assert(order_follow(&beside));
    ck_assert_uint_eq(take_beside(true), ORDER_PROBES);
    open_pairs(0, 8);
    order_judge(&beside, &run);
    ck_assert_int_eq(hear(), ORDER_PROBED);
    ck_assert_int_eq(hear(), ORDER_BELIEVED);
    add_list(512, 160, 8);
    ck_assert(!order_is_useless(&order));
    beside_refute(SET, 0);
    ck_assert(order_is_useless(&order));
    end_list();
    ck_assert_uint_eq(beside_path(SET, 0, "/i0001", path), 1);
}
END_TEST

START_TEST(ids_from_which_nothing_follows)
{
    begin();
    ck_assert(tell(ORDER_IDS, "", 0));
    add_list(511, 0, 8);
    ck_assert(!order_is_useless(&order));
    add_list(512, 8, 8);
    ck_assert(order_is_useless(&order));
    end();
}
END_TEST

/* Until it is refuted, 64 files are read, and two for each that the job opens. */
START_TEST(a_rule_that_holds_for_some_samples)
{
    char path[STK_PATH_BYTES];
    begin_list(0, 36, 16);
    ck_assert_uint_eq(take_beside(true), ORDER_PROBES);
    open_pairs(0, 8);
    order_judge(&beside, &run);
    ck_assert_uint_eq(take_beside(true), 2 * 8);
    pass(128 + 8 + 8);
    ck_assert(!beside.failed);
    pass(128 + 8 + 9);
    ck_assert(beside.failed);
    end_list();
    ck_assert_uint_eq(beside_path(SET, 0, "/i0001", path), 1);
}
END_TEST

/* Nine probes of the last 16 were not opened, each the 64th file. */
START_TEST(a_rule_that_no_longer_holds)
{
    char path[STK_PATH_BYTES];
    unsigned opened = 0, taken = 0;
    begin_list(0, 124, 16);
    while (opened < 20 * 64) {
        unsigned more = take_beside(true), last = taken + more < 20 * 64 ? taken + more : 20 * 64;
        ck_assert_uint_le(taken += more, ORDER_PROBES + 64 + 2 * opened);
        open_pairs(opened, last);
        opened = last;
        order_judge(&beside, &run);
    }
    pass(128 + 28 * 64);
    ck_assert(!beside.failed);
    pass(128 + 28 * 64 + 1);
    ck_assert(beside.failed);
    end_list();
    ck_assert_uint_eq(beside_path(SET, 0, "/i0001", path), 1);
}
END_TEST

/* Files that were there are no evidence. */
START_TEST(a_rule_that_is_wrong)
{
    char path[STK_PATH_BYTES];
    begin_list(0, 20, 8);
    order_probe(&beside, order_take(&beside, path), 0);
    ck_assert_uint_eq(take_beside(true), ORDER_PROBES);
    ck_assert_uint_gt(beside_path(SET, 0, "/i0001", path), 1);
    add_list(8, 160, 8);
    ck_assert(order_follow(&beside));
    order_judge_rule(&beside);
    ck_assert_uint_eq(beside_path(SET, 0, "/i0001", path),
                      sizeof "/m0001"); /* seven were not opened */
    add_list(9, 168, 8);
    ck_assert(order_follow(&beside));
    end_list();
    ck_assert_uint_eq(beside_path(SET, 0, "/i0001", path), 1);
}
END_TEST

/* A pass ends while files are on their way, so they are not reported. Four of them may be opened in
 * a later pass. */
START_TEST(a_rule_has_its_probes_once)
{
    char path[STK_PATH_BYTES];
    begin_list(0, 20, 8);
    for (unsigned i = 0; i < ORDER_PROBES; i++) {
        order_take(&beside, path);
    }
    ck_assert(!order_has_next(&beside));
    add_list(ORDER_PROBES - 4, 160, 8);
    ck_assert(order_follow(&beside));
    order_judge_rule(&beside);
    order_end(&beside);
    order.followed = 0; /* as in another pass */
    order_begin_beside(&beside, &order, dup(order.fd));
    ck_assert(order_follow(&beside));
    ck_assert_uint_eq(take_beside(true), 4);
    end_list();
}
END_TEST

/* ---- samples of a data set ---- */

/* Adds that a loader is going to ask for samples. */
static void add_samples(uint64_t asked, const uint64_t *indices, size_t count)
{
    char message[1024];
    struct order_message head = {.magic = ORDER_MAGIC, .dataset = SET, .done = 0, .asked = asked};
    memcpy(message, &head, sizeof head);
    memcpy(message + sizeof head, indices, count * sizeof *indices);
    ck_assert(order_add(&order, message, sizeof head + count * sizeof *indices));
}

/* Adds that samples have opened two files each, as their numbers say. */
static void open_samples(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct {
            struct order_message head;
            struct sample_head sample;
            char paths[16];
        } message = {.head = {.magic = ORDER_MAGIC, .dataset = SET, .done = ORDER_OPENED},
                     .sample = {.index = i, .bytes = sizeof message.paths}};
        snprintf(message.paths, 8, "/i%05u", i % 1000);
        snprintf(message.paths + 8, 8, "/m%05u", i % 1000);
        ck_assert(order_add(&order, &message, sizeof message));
    }
}

START_TEST(files_that_samples_have_opened)
{
    static const uint64_t indices[] = {1, 9, 0};
    static const char *const paths[] = {"/i00001", "/m00001", "", "", "/i00000", "/m00000"};
    char path[STK_PATH_BYTES];
    begin();
    open_samples(2);
    ck_assert(!order_has_next(&order));
    add_samples(1, indices, 3);
    for (unsigned i = 0; i < 6; i++) {
        ck_assert(order_has_next(&order));
        ck_assert_uint_eq(order_take(&order, path), i);
        ck_assert_str_eq(path, paths[i]);
    }
    ck_assert(!order_has_next(&order));
    ck_assert_uint_eq(order_lead(&order, 5), 3); /* the first sample has two files */
    end();
}
END_TEST

START_TEST(samples_that_have_opened_nothing)
{
    static const uint64_t indices[] = {7, 8};
    begin();
    open_samples(1);
    add_samples(0, indices, 2);
    ck_assert(!order_has_next(&order)); /* and no thread is woken */
    ck_assert_uint_eq(order.taken, 4);
    end();
}
END_TEST

/* Adds a message that a loader is done with samples. */
static void be_done_with(uint64_t samples)
{
    struct order_message head = {
        .magic = ORDER_MAGIC, .dataset = SET, .done = samples, .asked = samples};
    ck_assert(order_add(&order, &head, sizeof head));
}

/* They wait until the loader has begun, and until they are near. */
START_TEST(ranges_of_big_files)
{
    static const char name[] = "/big//1000000+34000000";
    uint64_t indices[40];
    struct {
        struct order_message head;
        struct sample_head sample;
        char name[sizeof name];
    } message = {.head = {.magic = ORDER_MAGIC, .dataset = SET, .done = ORDER_OPENED},
                 .sample = {.bytes = sizeof name}};
    memcpy(message.name, name, sizeof name);
    begin();
    for (unsigned i = 0; i < 40; i++) {
        indices[i] = message.sample.index = i;
        ck_assert(order_add(&order, &message, offsetof(typeof(message), name) + sizeof name));
    }
    add_samples(8, indices, 40);
    ck_assert(!order_is_empty(&order) && !order_has_next(&order));
    be_done_with(1);
    unsigned near = take_all();
    ck_assert_uint_ge(near, 2);
    ck_assert_uint_le(near, 1 + 1 + (256 << 20) / 34000000);
    be_done_with(30);
    ck_assert_uint_gt(take_all(), 0);
    end();
}
END_TEST

/* Unless samples open their files again, all passes together read no more than the probes. */
START_TEST(samples_that_do_not_come_again)
{
    uint64_t indices[100];
    unsigned taken = 0;
    for (unsigned i = 0; i < 100; i++) {
        indices[i] = i;
    }
    begin();
    open_samples(100);
    for (unsigned pass = 0; pass < 2; pass++) {
        end();
        connect_loader();
        add_samples(0, indices, 100);
        taken += take_all();
        order_judge(&order, &run);
        taken += take_all();
    }
    ck_assert_uint_eq(taken, ORDER_PROBES);
    open_samples(8);
    order_judge(&order, &run);
    ck_assert_int_eq(hear(), ORDER_BELIEVED);
    ck_assert_uint_eq(take_all(), 200);
    end();
}
END_TEST

Suite *suite_order(void)
{
    Suite *suite = suite_create("order");
    TCase *all = unit_case(suite, "order");
    tcase_add_test(all, paths_come_in_their_order);
    tcase_add_test(all, how_far_ahead_of_the_workers);
    tcase_add_test(all, a_file_that_was_opened_in_its_turn);
    tcase_add_test(all, what_is_no_message);
    tcase_add_test(all, a_path_that_is_too_long);
    tcase_add_test(all, no_more_than_probes_until_the_job_opens_some);
    tcase_add_test(all, files_that_were_there_refute_nothing);
    tcase_add_test(all, an_order_that_nobody_follows);
    tcase_add_test(all, an_order_that_fails_later);
    tcase_add_test(all, files_without_room);
    tcase_add_test(all, files_in_no_order);
    tcase_add_test(all, a_tree_whose_files_are_opened);
    tcase_add_test(all, files_of_a_tree_that_were_there);
    tcase_add_test(all, shards_come_as_they_are_opened);
    tcase_add_test(all, files_beside_those_of_a_list);
    tcase_add_test(all, files_that_do_not_follow_from_a_list);
    tcase_add_test(all, a_rule_that_holds);
    tcase_add_test(all, files_that_follow_from_ids);
    tcase_add_test(all, ids_from_which_nothing_follows);
    tcase_add_test(all, a_rule_that_holds_for_some_samples);
    tcase_add_test(all, a_rule_that_no_longer_holds);
    tcase_add_test(all, a_rule_that_is_wrong);
    tcase_add_test(all, a_rule_has_its_probes_once);
    tcase_add_test(all, files_that_samples_have_opened);
    tcase_add_test(all, samples_that_have_opened_nothing);
    tcase_add_test(all, ranges_of_big_files);
    tcase_add_test(all, samples_that_do_not_come_again);
    return suite;
}
