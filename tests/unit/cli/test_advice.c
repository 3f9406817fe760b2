/* cli/summary: what counters come to, and the advice that follows, of counters made up here */
#include "tests/unit/unit.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tally.h"
#include "cli/summary/figures.h"
#include "tests/unit/cli/made_run.h"

#define S UINT64_C(1000000000)

/* Works the figures out, and asserts what they are bound by and what the advice begins with. */
static void assert_advice(enum bound bound, const char *begins)
{
    made_figures();
    char *advice = figures_advice(&made.figures);
    ck_assert_int_eq(made.figures.bound, bound);
    if (begins == NULL) {
        ck_assert_ptr_null(advice);
    } else {
        ck_assert_msg(advice != NULL && strncmp(advice, begins, strlen(begins)) == 0,
                      "expected: %s\nbut was: %s", begins, advice == NULL ? "none" : advice);
    }
    free(advice);
}

START_TEST(no_cache_no_advice)
{
    made.session.tier.shared = NULL;
    made_opens(0, 10, 0, 60);
    assert_advice(BOUND_UNKNOWN, NULL);
    char *all[FIGURES_SUGGESTIONS];
    ck_assert_uint_eq(figures_suggest(&made.figures, all), 0);
}
END_TEST

START_TEST(room_comes_first)
{
    made_pass(0, 100, 90, 1);
    made_opens(0, 100, 0, 80);
    made.tier.budget.blocks = 8192;
    made.counts.bypassed[STK_BYPASS_BUDGET] = 7;
    made.counts.bypassed_bytes[STK_BYPASS_BUDGET] = 5 << 20;
    assert_advice(BOUND_FETCH,
                  "5.0 MiB found no room in the 4.0 MiB of the cache: name a larger place");
}
END_TEST

START_TEST(memory_is_not_room)
{
    made_pass(0, 100, 90, 1);
    made_opens(0, 100, 0, 80);
    made.tier.budget.blocks = 8192;
    made.counts.bypassed[STK_BYPASS_MEMORY] = 4;
    made.counts.bypassed_bytes[STK_BYPASS_MEMORY] = 4 << 20;
    assert_advice(BOUND_FETCH, "memory was short for 4.0 MiB of files: a cache on a local disk");
    made.counts.bypassed[STK_BYPASS_TIER] = 1;
    made.counts.bypassed_bytes[STK_BYPASS_TIER] = 1 << 20;
    assert_advice(BOUND_FETCH, "1.0 MiB found no room in the 4.0 MiB of the cache, and 4.0 MiB no "
                               "free memory: name a larger place");
}
END_TEST

START_TEST(a_loader_that_keeps_up)
{
    made_pass(0, 10, 5, 1);
    made_pass(1, 10, 0.1, 1);
    made_tally_s(STK_TALLY_FETCH_NS, 19);
    assert_advice(BOUND_NOT, "the loader keeps up: the job waited for batches for 1% of the later "
                             "epochs; the rest is the job's own step");
}
END_TEST

START_TEST(workers_that_are_idle)
{
    made_pass(0, 10, 0, 4);
    made_pass(1, 10, 0, 4);
    made_tally_s(STK_TALLY_FETCH_NS, 12);
    assert_advice(BOUND_NOT, "the loader keeps up: the job waited for batches for 0% of the later "
                             "epochs; the rest is the job's own step; 0.6 of its 4 workers were "
                             "busy on average: 1 would do");
}
END_TEST

START_TEST(decoding)
{
    made_pass(0, 10, 8, 1);
    made_pass(1, 10, 8, 1);
    made_tally_s(STK_TALLY_FETCH_NS, 16);
    made_tally_s(STK_TALLY_JPEG_NS, 11);
    made_tally_s(STK_TALLY_RESIZED_NS, 1);
    made_tally_s(STK_TALLY_COLLATE_NS, 2);
    assert_advice(BOUND_DECODE, "decode-bound: 12.0 s of 16.0 s of work on batches; ");
}
END_TEST

START_TEST(batches)
{
    made_pass(0, 10, 8, 1);
    made_tally_s(STK_TALLY_FETCH_NS, 9);
    made_tally_s(STK_TALLY_COLLATE_NS, 7);
    assert_advice(BOUND_BATCH, "batch-bound: 7.0 s of 9.0 s of work on batches; ");
}
END_TEST

/* The job's own transforms, and a first epoch that waited for the origin, but for less. */
START_TEST(a_first_epoch_that_is_outweighed)
{
    made_pass(0, 12, 6, 1);
    made_pass(1, 50, 48, 1);
    made_opens(0, 20, 0, 2);
    made_opens(1, 100, 100, 0);
    made_tally_s(STK_TALLY_FETCH_NS, 54);
    assert_advice(BOUND_OTHER,
                  "transform-bound: 52.0 s of 52.0 s of work on batches (storage apart); ");
}
END_TEST

START_TEST(a_first_epoch_longer_than_all_others)
{
    made_pass(0, 20, 18, 1);
    made_pass(1, 4, 1, 1);
    made_opens(0, 20, 0, 17);
    made_opens(1, 20, 20, 0);
    made_tally_s(STK_TALLY_FETCH_NS, 19);
    assert_advice(BOUND_FETCH, "fetch-bound in epoch 1: storage took 17.0 s, ");
    char *advice = figures_advice(&made.figures);
    ck_assert_ptr_nonnull(strstr(advice, "'/data/my"));
    free(advice);
}
END_TEST

/* All files were there when they were opened, and the job waited for them. */
static void make_first_epoch_of_hits(void)
{
    made_pass(0, 20, 18, 1);
    made_pass(1, 4, 1, 1);
    made_opens(0, 20, 20, 17);
    made_opens(1, 20, 20, 0);
    made_tally_s(STK_TALLY_FETCH_NS, 19);
}

START_TEST(a_first_epoch_that_was_read_ahead)
{
    make_first_epoch_of_hits();
    assert_advice(BOUND_FETCH, "fetch-bound in epoch 1: storage took 17.0 s, ");
}
END_TEST

START_TEST(a_first_epoch_that_only_asked)
{
    make_first_epoch_of_hits();
    made.counts.asked_ns = 17 * S;
    assert_advice(BOUND_FETCH, "fetch-bound in epoch 1: asking storage whether files have changed "
                               "took 17.0 s, added up over processes; where they never do, --fresh "
                               "never spares it");
}
END_TEST

/* Files that were read in this run, about which storage was asked once more. */
START_TEST(a_first_epoch_of_files_that_just_came)
{
    make_first_epoch_of_hits();
    made.counts.asked_ns = 17 * S;
    made.counts.ahead[STK_AHEAD_FILES] = 20;
    assert_advice(BOUND_FETCH, "fetch-bound in epoch 1: storage took 17.0 s, ");
}
END_TEST

static void assert_limit(const char *name)
{
    ck_assert_str_eq(figures_limit_name(figures_ahead_limit(&made.figures)), name);
}

START_TEST(what_limits_reading_ahead)
{
    made_figures();
    assert_limit("none");
    made.counts.ahead[STK_AHEAD_STORAGE_NS] = 10 * S;
    made.counts.ahead[STK_AHEAD_WINDOW_NS] = 9 * S;
    assert_limit("storage");
    made.counts.ahead[STK_AHEAD_PROCESSORS_NS] = 2 * S; /* of the ten that storage seemed to take */
    assert_limit("window");
    made.counts.ahead[STK_AHEAD_PROCESSORS_NS] = 11 * S;
    assert_limit("processors");
    made.counts.ahead[STK_AHEAD_ROOM_NS] = 12 * S;
    assert_limit("room");
}
END_TEST

START_TEST(files_that_were_read_ahead)
{
    made_opens(0, 20, 15, 1);
    made.counts.awaited = 5;
    made.counts.epochs[0][STK_COUNT_BYTES_ORIGIN] = 50;
    made.counts.ahead[STK_AHEAD_BYTES] = 120;
    made.counts.ahead[STK_AHEAD_LED] = 4;
    made.counts.ahead[STK_AHEAD_LEAD] = 100;
    made_figures();
    ck_assert_uint_eq(made.figures.there, 10);
    ck_assert_uint_eq(figures_lead(&made.figures), 25);
    ck_assert_uint_eq(made.figures.total[STK_COUNT_BYTES_ORIGIN], 170);
    made.counts.ahead[STK_AHEAD_LED] = 0;
    ck_assert_uint_eq(figures_lead(&made.figures), 0);
}
END_TEST

START_TEST(opens_where_no_loader_was_seen)
{
    made_opens(0, 20, 0, 30);
    made_opens(1, 20, 20, 0);
    assert_advice(BOUND_UNKNOWN, "fetch-bound at first opens: storage took 30.0 s, ");
}
END_TEST

START_TEST(files_that_were_opened_once)
{
    made_opens(0, 20, 0, 0.1);
    made.tier.memory = 1;
    assert_advice(BOUND_UNKNOWN, "each file was opened once: ");
    made.request.keep = true;
    assert_advice(BOUND_UNKNOWN, NULL);
    made.request.keep = false;
    made.counts.unnumbered = 1; /* it may be any open of its file */
    assert_advice(BOUND_UNKNOWN, NULL);
}
END_TEST

START_TEST(a_setting_that_leaves_much_to_the_origin)
{
    made_opens(0, 18, 0, 40);
    made.counts.bypassed[STK_BYPASS_YOUNG] = 18;
    made.counts.bypassed_bytes[STK_BYPASS_YOUNG] = 9000;
    made.counts.epochs[0][STK_COUNT_BYTES_ORIGIN] = 9000;
    made.counts.unnumbered = 18; /* a young file has no record, so no count of its opens */
    assert_advice(BOUND_UNKNOWN, "18 opens (files of at most 8.8 KiB) were not cached, changed "
                                 "less than STOKER_MIN_AGE ago: what would change it is a smaller "
                                 "STOKER_MIN_AGE, if nobody writes them");
}
END_TEST

/* Adds two passes that waited so long for batches, and the copies of both: steps waited so long for
 * these. They hold 10 MiB, of which these MiB are floats or come from memory that is not locked. */
static void make_uploads(double waited_s, double stalled_s, uint64_t floats, uint64_t unlocked)
{
    made_pass(0, 10, waited_s, 1);
    made_pass(1, 10, waited_s, 1);
    made_tally_s(STK_TALLY_UPLOAD_STALLED_NS, stalled_s);
    stk_tally_add(made.session.tally, STK_TALLY_UPLOADS, 20);
    stk_tally_add(made.session.tally, STK_TALLY_UPLOAD_BYTES, 10 << 20);
    stk_tally_add(made.session.tally, STK_TALLY_UPLOAD_FLOAT_BYTES, floats << 20);
    stk_tally_add(made.session.tally, STK_TALLY_UPLOAD_UNLOCKED_BYTES, unlocked << 20);
}

START_TEST(uploads)
{
    make_uploads(1.5, 8, 9, 9);
    assert_advice(BOUND_UPLOAD, "upload-bound: steps waited for copies to the GPU for 40% of the "
                                "later epochs; 10.0 MiB were sent, 90% of them floats: ");
}
END_TEST

START_TEST(uploads_from_memory_that_is_not_locked)
{
    make_uploads(1.5, 8, 5, 9);
    assert_advice(BOUND_UPLOAD,
                  "upload-bound: steps waited for copies to the GPU for 40% of the later epochs; "
                  "10.0 MiB were sent, 90% of them from memory that is not locked: ");
}
END_TEST

START_TEST(uploads_that_cannot_be_shorter)
{
    make_uploads(0.1, 8, 5, 5);
    assert_advice(BOUND_UPLOAD,
                  "upload-bound: steps waited for copies to the GPU for 40% of the later epochs; "
                  "10.0 MiB were sent, as bytes from locked memory: ");
}
END_TEST

/* A long step, in which the copies are done. */
START_TEST(uploads_that_no_step_waits_for)
{
    make_uploads(0.1, 0.6, 0, 0);
    made_tally_s(STK_TALLY_FETCH_NS, 19);
    assert_advice(BOUND_NOT,
                  "the loader keeps up: the job waited for batches for 1% of the later epochs, for "
                  "copies to the GPU for 3%; the rest is the step (GPU-bound)");
}
END_TEST

START_TEST(uploads_of_batches_that_come_late)
{
    make_uploads(5, 2, 9, 9);
    made_tally_s(STK_TALLY_FETCH_NS, 12);
    assert_advice(BOUND_OTHER, "transform-bound: 12.0 s of 12.0 s of work on batches");
}
END_TEST

START_TEST(uploads_of_files_that_are_far_away)
{
    made_pass(0, 10, 8, 1);
    made_opens(0, 20, 0, 7);
    made_tally_s(STK_TALLY_FETCH_NS, 8);
    made_tally_s(STK_TALLY_UPLOAD_STALLED_NS, 1);
    stk_tally_add(made.session.tally, STK_TALLY_UPLOADS, 10);
    assert_advice(BOUND_FETCH, "fetch-bound: ");
}
END_TEST

/* The job copies by itself, which is not measured. */
START_TEST(uploads_that_are_not_seen)
{
    made_pass(0, 10, 0.1, 1);
    made_tally_s(STK_TALLY_FETCH_NS, 9);
    stk_tally_add(made.session.tally, STK_TALLY_CUDA, 1);
    assert_advice(BOUND_NOT, "the loader keeps up: the job waited for batches for 1% of the epoch; "
                             "the rest is the step: GPU-bound, or upload-bound if ");
}
END_TEST

START_TEST(workers_that_each_epoch_begins_anew)
{
    made_pass(0, 10, 2, 2);
    made_pass(1, 10, 4, 2);
    made_pass(2, 10, 4, 2);
    made_tally_s(STK_TALLY_FETCH_NS, 6);
    made_tally_s(STK_TALLY_START_NS, 7);
    assert_advice(BOUND_START, "start-bound: the first batches of later epochs, from new workers, "
                               "took 6.6 s longer than others: ");
}
END_TEST

/* The heaviest, if it is much of what the job's transforms take. */
/* The first batch takes as long as any: an epoch may have no other. */
START_TEST(workers_whose_first_batch_is_like_the_others)
{
    made_pass(0, 10, 8, 2);
    made_pass(1, 10, 8, 2);
    made_pass(2, 10, 8, 2);
    made_tally_s(STK_TALLY_FETCH_NS, 150);
    made_tally_s(STK_TALLY_START_NS, 10);
    assert_advice(BOUND_OTHER, "transform-bound: 150.0 s of 150.0 s of work on batches; ");
}
END_TEST

START_TEST(transforms_that_cost_most)
{
    made_pass(0, 10, 9, 1);
    made_tally_s(STK_TALLY_FETCH_NS, 9);
    stk_tally_add_call(made.session.tally, "Blur", UINT64_C(2000000000));
    assert_advice(BOUND_OTHER, "transform-bound: 9.0 s of 9.0 s of work on batches; ");
    stk_tally_add_call(made.session.tally, "Rotate", UINT64_C(4500000000));
    assert_advice(BOUND_OTHER,
                  "transform-bound: 9.0 s (50% of it in Rotate, outside of Stoker) of 9.0 s of ");
    stk_tally_add_call(made.session.tally, "Blur", UINT64_C(20000000000));
    assert_advice(BOUND_OTHER,
                  "transform-bound: 9.0 s (100% of it in Blur, outside of Stoker) of 9.0 s of ");
}
END_TEST

/* More workers while there are processors for them. */
START_TEST(how_many_workers)
{
    static char text[3][96];
    cpu_set_t set;
    ck_assert_int_eq(sched_getaffinity(0, sizeof set, &set), 0);
    unsigned cores = (unsigned)CPU_COUNT(&set);
    const unsigned workers[] = {0, cores, cores + 1};
    snprintf(text[0], sizeof text[0], "the job makes its batches itself: num_workers=%u has",
             cores);
    snprintf(text[1], sizeof text[1], "all %u cores have a worker", cores);
    snprintf(text[2], sizeof text[2], "%u workers share %u cores: %u may do", cores + 1, cores,
             cores);
    made_pass(0, 10, 9, workers[_i]);
    made_tally_s(STK_TALLY_FETCH_NS, 9);
    assert_advice(BOUND_OTHER, "transform-bound: 9.0 s of 9.0 s of work on batches; ");
    char *advice = figures_advice(&made.figures);
    ck_assert_msg(strstr(advice, text[_i]) != NULL, "no \"%s\" in: %s", text[_i], advice);
    free(advice);
}
END_TEST

Suite *suite_advice(void)
{
    Suite *suite = suite_create("advice");
    TCase *opens = unit_case(suite, "advice_opens");
    tcase_add_checked_fixture(opens, made_begin, made_end);
    tcase_add_test(opens, no_cache_no_advice);
    tcase_add_test(opens, room_comes_first);
    tcase_add_test(opens, memory_is_not_room);
    tcase_add_test(opens, opens_where_no_loader_was_seen);
    tcase_add_test(opens, files_that_were_opened_once);
    tcase_add_test(opens, what_limits_reading_ahead);
    tcase_add_test(opens, files_that_were_read_ahead);
    tcase_add_test(opens, a_setting_that_leaves_much_to_the_origin);
    TCase *passes = unit_case(suite, "advice_passes");
    tcase_add_checked_fixture(passes, made_begin, made_end);
    tcase_add_test(passes, a_loader_that_keeps_up);
    tcase_add_test(passes, workers_that_are_idle);
    tcase_add_test(passes, decoding);
    tcase_add_test(passes, batches);
    tcase_add_test(passes, a_first_epoch_that_is_outweighed);
    tcase_add_test(passes, a_first_epoch_longer_than_all_others);
    tcase_add_test(passes, a_first_epoch_that_only_asked);
    tcase_add_test(passes, a_first_epoch_that_was_read_ahead);
    tcase_add_test(passes, a_first_epoch_of_files_that_just_came);
    tcase_add_test(passes, uploads);
    tcase_add_test(passes, uploads_from_memory_that_is_not_locked);
    tcase_add_test(passes, uploads_that_cannot_be_shorter);
    tcase_add_test(passes, uploads_that_no_step_waits_for);
    tcase_add_test(passes, uploads_of_batches_that_come_late);
    tcase_add_test(passes, uploads_of_files_that_are_far_away);
    tcase_add_test(passes, uploads_that_are_not_seen);
    tcase_add_test(passes, workers_that_each_epoch_begins_anew);
    tcase_add_test(passes, workers_whose_first_batch_is_like_the_others);
    tcase_add_test(passes, transforms_that_cost_most);
    tcase_add_loop_test(passes, how_many_workers, 0, 3);
    return suite;
}
