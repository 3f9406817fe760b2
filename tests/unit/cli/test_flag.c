/* cli/args, cli/out: flags with values, and text for a shell or a terminal */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "cli/args/covered_paths.h"
#include "cli/out/flag.h"
#include "cli/out/sanitise.h"
#include "cli/out/shell_quote.h"

static char path_flag[] = "--path", joined[] = "--path=/a=b",
            empty[] = "--path=", value[] = "/data";
static char longer[] = "--pathological", end[] = "--";

START_TEST(a_value_behind_the_flag)
{
    char *arguments[] = {path_flag, value, NULL}, **at = arguments;
    ck_assert_str_eq(flag_value(&at, "--path"), "/data");
    ck_assert_ptr_eq(at, arguments + 1);
}
END_TEST

START_TEST(a_value_in_the_same_argument)
{
    char *arguments[] = {joined, empty, NULL}, **at = arguments;
    ck_assert_str_eq(flag_value(&at, "--path"), "/a=b");
    ck_assert_ptr_eq(at, arguments);
    at++;
    ck_assert_str_eq(flag_value(&at, "--path"), "");
}
END_TEST

START_TEST(another_flag)
{
    char *arguments[] = {longer, value, NULL}, **at = arguments;
    ck_assert_ptr_null(flag_value(&at, "--path"));
    ck_assert_ptr_null(flag_value(&at, "--pathologically"));
    ck_assert_ptr_eq(at, arguments);
}
END_TEST

START_TEST(no_value)
{
    char *at_the_end[] = {path_flag, NULL}, *before_the_command[] = {path_flag, end, value, NULL};
    char **at = _i == 0 ? at_the_end : before_the_command;
    flag_value(&at, "--path"); /* exits */
}
END_TEST

static const struct {
    const char *text, *cut;
} slashes[] = {{"/a/b//", "/a/b"}, {"/", "/"}, {"///", "/"}, {"a", "a"}, {"", ""}};

START_TEST(slashes_at_the_end)
{
    char *path = strdup(slashes[_i].text);
    paths_cut_slashes(path);
    ck_assert_str_eq(path, slashes[_i].cut);
    free(path);
}
END_TEST

static const struct {
    const char *text, *quoted;
} words[] = {
    {"plain", "'plain'"}, {"", "''"}, {"it's", "'it'\\''s'"}, {"a b", "'a b'"}, {"$x", "'$x'"}};

START_TEST(a_word_in_quotes)
{
    char *quoted = shell_quote_always(words[_i].text);
    ck_assert_str_eq(quoted, words[_i].quoted);
    free(quoted);
}
END_TEST

START_TEST(a_word_that_needs_no_quotes)
{
    char *word = shell_quote("/data/images-1.0_x");
    ck_assert_str_eq(word, "/data/images-1.0_x");
    free(word);
}
END_TEST

static const struct {
    const char *text, *plain;
} lines[] = {{"a\nb", "a?b"},
             {"\033[31mred", "?[31mred"},
             {"gr\303\274n", "gr\303\274n"},
             {"\303x\377", "?x?"},
             {"tab\there", "tab?here"},
             {"\342\200\256right to left", "?right to left"},
             {"\342\201\246\342\200\250\342\200\235", "??\342\200\235"}};

START_TEST(text_for_one_line)
{
    char *text = strdup(lines[_i].text);
    ck_assert_str_eq(sanitise_line(text), lines[_i].plain);
    free(text);
}
END_TEST

Suite *suite_flag(void)
{
    Suite *suite = suite_create("flag");
    TCase *flags = unit_case(suite, "flag_values");
    tcase_add_test(flags, a_value_behind_the_flag);
    tcase_add_test(flags, a_value_in_the_same_argument);
    tcase_add_test(flags, another_flag);
    tcase_add_loop_exit_test(flags, no_value, 2, 0, 2);
    tcase_add_loop_test(flags, slashes_at_the_end, 0, sizeof slashes / sizeof *slashes);
    TCase *text = unit_case(suite, "flag_text");
    tcase_add_loop_test(text, a_word_in_quotes, 0, sizeof words / sizeof *words);
    tcase_add_test(text, a_word_that_needs_no_quotes);
    tcase_add_loop_test(text, text_for_one_line, 0, sizeof lines / sizeof *lines);
    return suite;
}
