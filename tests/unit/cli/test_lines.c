/* cli/summary: the lines at the end of a run, of counters made up here */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/out/summary_lines.h"
#include "cli/summary/summary.h"
#include "cli/run/shared_helper.h"
#include "tests/unit/cli/made_run.h"

/* Returns the summary as it is printed. The caller frees. */
static char *print(void)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    made.request.no_decode = made.request.no_batches = true; /* no line about the package */
    made_figures();
    summary_print(out, &made.figures, LINES_MOST);
    ck_assert_int_eq(fclose(out), 0);
    return text;
}

/* Puts the rows of a broken line together again. */
static void join_rows(char *text)
{
    for (char *row = text; (row = strstr(row, "\n    ")) != NULL;) {
        *row = ' ';
        memmove(row + 1, row + 5, strlen(row + 5) + 1);
    }
}

static void assert_lines(const char *wanted)
{
    char *text = print();
    join_rows(text);
    ck_assert_msg(strstr(text, wanted) != NULL, "no \"%s\" in:\n%s", wanted, text);
    free(text);
}

static void assert_no_line(const char *unwanted)
{
    char *text = print();
    ck_assert_msg(strstr(text, unwanted) == NULL, "\"%s\" in:\n%s", unwanted, text);
    free(text);
}

static const struct {
    uint64_t opens[3]; /* first, second and third ones; all but the first are hits */
    uint64_t unnumbered;
    const char *lines;
} files[] = {
    {{1}, 0, "stoker: 1 open of 1 file, 0.0% from the cache\n  first open of a file: 1\n"},
    {{2, 2, 2},
     0,
     "stoker: 6 opens of 2 files, 66.7% from the cache\n"
     "  first, second, ... open of a file: 2, 2, 2\n"},
    {{4, 1, 1},
     3,
     "stoker: 6 opens of at least 1 file, 33.3% from the cache\n"
     "  first, second, ... open of a file: 1, 1, 1\n"},
    {{6}, 6, "stoker: 6 opens, 0.0% from the cache\n  cache: "},
};

/* A file without a record may have been opened before. */
START_TEST(files_are_numbered_if_they_are_known)
{
    for (unsigned epoch = 0; epoch < 3; epoch++) {
        made_opens(epoch, files[_i].opens[epoch], epoch > 0 ? files[_i].opens[epoch] : 0, 0);
    }
    made.counts.unnumbered = files[_i].unnumbered;
    assert_lines(files[_i].lines);
}
END_TEST

START_TEST(more_opens_than_there_is_room_for)
{
    for (unsigned epoch = 0; epoch < 9; epoch++) {
        made_opens(epoch, 1, epoch > 0, 0);
    }
    assert_lines("  first, second, ... open of a file: 1, 1, 1, 1, 1, 1, 1, 1, ...\n");
}
END_TEST

/* A rate is printed of what lasted a second. */
START_TEST(how_fast_opens_were)
{
    made_opens(0, 3, 0, 0);
    for (unsigned epoch = 1; epoch < 3; epoch++) {
        made_opens(epoch, 3, 3, 0);
        made.times.begun_ns[epoch] = (9 + epoch) * STK_NS_PER_S;
        made.times.ended_ns[epoch] = (10 + epoch) * STK_NS_PER_S;
    }
    assert_lines("  first open of a file: 3\n"
                 "  2nd and later opens of a file: 6 in 2.0 s, 3 files/s\n");
    made.times.begun_ns[0] = 5 * STK_NS_PER_S;
    made.times.ended_ns[0] = 8 * STK_NS_PER_S;
    assert_lines("  first open of a file: 3 in 3.0 s, 1 files/s\n"
                 "  2nd and later opens of a file: 6 in 2.0 s, 3 files/s (3.0x)\n");
}
END_TEST

START_TEST(epochs_are_passes)
{
    made_opens(0, 10, 0, 0);
    made_pass(0, 10, 5, 2);
    assert_lines("  epoch 1: 100 samples in 10.0 s, 10/s, 5.0 s waiting for data\n");
    assert_no_line("epochs");
    made_pass(1, 5, 1, 2);
    assert_lines("\n  epoch 2: 100 samples in 5.0 s, 20/s (2.0x), 1.0 s waiting for data\n");
    made_pass(2, 5, 0.5, 2);
    assert_lines("  epochs 2-3: 200 samples in 10.0 s, 20/s (2.0x), 1.5 s waiting for data\n");
    assert_no_line("open of a file");
}
END_TEST

/* Times that would be printed as 0.0 are left out. */
START_TEST(where_the_time_went)
{
    made_opens(0, 10, 0, 2);
    made_tally_s(STK_TALLY_FETCH_NS, 9);
    made_tally_s(STK_TALLY_JPEG_NS, 3);
    made_tally_s(STK_TALLY_COLLATE_NS, 0.04);
    assert_lines("  time summed over processes: storage 2.0 s, decode 3.0 s, the job's transforms "
                 "4.0 s\n");
}
END_TEST

static void bypass(enum stk_bypass why, uint64_t opens, uint64_t bytes)
{
    made.counts.bypassed[why] = opens;
    made.counts.bypassed_bytes[why] = bytes;
}

/* The two reasons that weigh most, and the rest. */
START_TEST(why_opens_were_not_served)
{
    made_opens(0, 6, 0, 0);
    bypass(STK_BYPASS_EMPTY, 1, 0);
    bypass(STK_BYPASS_LARGE, 1, 3000);
    bypass(STK_BYPASS_YOUNG, 2, 117);
    bypass(STK_BYPASS_WRITTEN, 1, 2);
    bypass(STK_BYPASS_DATABASE, 1, 1);
    assert_lines("  not cached: 1 large, 2.9 KiB (above STOKER_MAX_FILE; would change it: "
                 "STOKER_BLOCK above 0, or a larger STOKER_MAX_FILE)\n"
                 "  not cached: 2 changed recently, 117 B (changed less than STOKER_MIN_AGE ago; "
                 "would change it: a smaller STOKER_MIN_AGE, if nobody writes them)\n");
    assert_lines("  also not cached: 1 empty, 1 written, 1 database\n");
    made.counts.unnumbered = 6; /* some of the opens may be of one file */
    assert_lines("  not cached: 1 large, at most 2.9 KiB (");
}
END_TEST

START_TEST(a_large_file_that_is_read_by_blocks)
{
    made_opens(0, 1, 0, 0);
    bypass(STK_BYPASS_LARGE, 1, 0);
    made.counts.blocks[STK_BLOCK_READS] = 3;
    made.counts.blocks[STK_BLOCK_BYTES_CACHE] = 2048;
    assert_lines("  big files: 3 reads answered from blocks (2.0 KiB); 0 B came from storage\n");
    assert_no_line("not cached");
    made.counts.blocks[STK_BLOCK_READS] = 1;
    assert_lines("  big files: 1 read answered from blocks (");
}
END_TEST

/* Reads of a map are not seen: the size stands for them. */
START_TEST(a_large_file_that_is_mapped)
{
    made_opens(0, 1, 0, 0);
    made.counts.blocks[STK_BLOCK_READS] = 2;
    made.counts.blocks[STK_BLOCK_BYTES_CACHE] = 304;
    made.counts.blocks[STK_BLOCK_BYTES_ORIGIN] = 2048; /* to make the file whole */
    made.counts.blocks[STK_BLOCK_MAPPED_CACHE] = 2048;
    assert_lines("stoker: 1 open of 1 file, 2.0 KiB mapped, 100.0% from the cache\n");
    made.counts.blocks[STK_BLOCK_MAPPED_ORIGIN] = 2048;
    assert_lines("stoker: 1 open of 1 file, 4.0 KiB mapped, 50.0% from the cache\n");
    made.counts.blocks[STK_BLOCK_BYTES_CACHE] = 8192; /* more is read than mapped */
    assert_lines("stoker: 1 open of 1 file, 10.0 KiB read, 80.0% from the cache\n");
}
END_TEST

/* The command read it from storage, and the job from the cache. */
START_TEST(a_large_file_that_the_command_finished)
{
    made_opens(0, 1, 1, 0);
    made.counts.epochs[0][STK_COUNT_BYTES_CACHE] = 2048;
    made.session.finished = (struct finisher_figures){.files = 1, .bytes = 2048};
    assert_lines("  files: 2.0 KiB from storage, 2.0 KiB from the cache\n");
    made.counts.blocks[STK_BLOCK_READS] = 1; /* blocks have lines of their own */
    assert_lines("  whole files: 0 B from storage, 2.0 KiB from the cache\n");
}
END_TEST

START_TEST(one_file_that_was_filled_ahead)
{
    made_opens(0, 1, 1, 0);
    made.request.warm = true;
    made.session.ahead = (struct fill_figures){.found = 1, .filled = 1, .present = 1};
    assert_lines("  --warm: 1 file (0 B) filled, 1 was there, of 1 in all\n");
}
END_TEST

/* Nothing is in the way of reading ahead if all was read that the loader had named. */
START_TEST(what_reading_ahead_waited_for)
{
    made_opens(0, 2, 2, 0);
    made.counts.ahead[STK_AHEAD_FILES] = 2;
    made.counts.ahead[STK_AHEAD_STORAGE_NS] = 2;
    assert_lines("  read ahead: 2 files (0 B), 2 were there in time; limit: storage\n");
    made.counts.ahead[STK_AHEAD_WINDOW_NS] = 3;
    assert_lines("  read ahead: 2 files (0 B), 2 were there in time\n");
}
END_TEST

/* Fills all of the summary: more than fits. */
static void make_much_to_say(void)
{
    made_opens(0, 10, 0, 2);
    made_pass(0, 10, 5, 2);
    made_pass(1, 10, 5, 2);
    for (int why = 1; why < STK_BYPASS_KINDS; why++) {
        bypass((enum stk_bypass)why, (uint64_t)why, 1000);
    }
    made.counts.stale = made.counts.listings_served = 4;
    made.counts.blocks[STK_BLOCK_READS] = 3;
    made.session.given_back_bytes = 1 << 20;
    made.session.finished.files = made.session.finished.left[STK_BYPASS_LARGE] = 2;
    stk_tally_add(made.session.tally, STK_TALLY_IMAGES, 7);
    stk_tally_add(made.session.tally, STK_TALLY_UPLOADS, 7);
}

START_TEST(ten_lines_of_eighty_columns)
{
    make_much_to_say();
    char *text = print(), *rest;
    unsigned rows = 0, left_out = 0;
    for (char *row = strtok_r(text, "\n", &rest); row != NULL; row = strtok_r(NULL, "\n", &rest)) {
        rows++;
        ck_assert_uint_le(strlen(row), LINES_COLUMNS);
        sscanf(row, "  (%u lines did not fit", &left_out);
    }
    free(text);
    ck_assert_uint_le(rows, LINES_MOST);
    ck_assert_uint_ge(rows, LINES_MOST - 1); /* a line of two rows may not fit any more */
    ck_assert_uint_gt(left_out, 0);
}
END_TEST

START_TEST(what_becomes_of_copies_that_are_not_shared_yet)
{
    static struct stk_catalogue_header header;
    static struct stk_tier_shared memory = {.memory = 1};
    struct session *session = &made.session;
    session->catalogue.header = &header;
    session->tier_count = 1;
    ck_assert_str_eq(shared_helper_fate_of_left(session), "the next run does");
    session->tiers[1].shared = &memory;
    session->tier_count = 2;
    ck_assert_ptr_nonnull(strstr(shared_helper_fate_of_left(session), "what is on a disk"));
    session->tiers[0].shared = &memory;
    ck_assert_ptr_nonnull(strstr(shared_helper_fate_of_left(session), "they go with the cache"));
    header.kept = STK_KEPT;
    ck_assert_str_eq(shared_helper_fate_of_left(session), "the next run does");
    header.kept = STK_KEPT_NOT;
}
END_TEST

Suite *suite_lines(void)
{
    Suite *suite = suite_create("lines");
    TCase *lines = unit_case(suite, "summary_lines");
    tcase_add_checked_fixture(lines, made_begin, made_end);
    tcase_add_loop_test(lines, files_are_numbered_if_they_are_known, 0,
                        sizeof files / sizeof *files);
    tcase_add_test(lines, more_opens_than_there_is_room_for);
    tcase_add_test(lines, how_fast_opens_were);
    tcase_add_test(lines, epochs_are_passes);
    tcase_add_test(lines, where_the_time_went);
    tcase_add_test(lines, why_opens_were_not_served);
    tcase_add_test(lines, a_large_file_that_is_read_by_blocks);
    tcase_add_test(lines, a_large_file_that_is_mapped);
    tcase_add_test(lines, a_large_file_that_the_command_finished);
    tcase_add_test(lines, one_file_that_was_filled_ahead);
    tcase_add_test(lines, what_reading_ahead_waited_for);
    tcase_add_test(lines, ten_lines_of_eighty_columns);
    tcase_add_test(lines, what_becomes_of_copies_that_are_not_shared_yet);
    return suite;
}
