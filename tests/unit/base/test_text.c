/* base/text.c */
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

START_TEST(builds)
{
    char buffer[32];
    struct stk_text text = stk_text_in(buffer, sizeof buffer);
    stk_text_add(&text, "a/");
    stk_text_add_number(&text, 0);
    stk_text_add_char(&text, '-');
    stk_text_add_hex(&text, 0x2a, 4);
    stk_text_add_bytes(&text, "xyz", 2);
    ck_assert_str_eq(buffer, "a/0-002axy");
    ck_assert_uint_eq(text.used, 10);
    ck_assert(!text.cut);
}
END_TEST

START_TEST(numbers_at_their_limits)
{
    char buffer[64];
    struct stk_text text = stk_text_in(buffer, sizeof buffer);
    stk_text_add_number(&text, UINT64_MAX);
    stk_text_add_char(&text, ' ');
    stk_text_add_hex(&text, UINT64_MAX, 16);
    ck_assert_str_eq(buffer, "18446744073709551615 ffffffffffffffff");
}
END_TEST

START_TEST(cuts)
{
    char buffer[8] = "ZZZZZZZ";
    struct stk_text text = stk_text_in(buffer, 5);
    stk_text_add(&text, "abcd");
    ck_assert(!text.cut);
    stk_text_add(&text, "");
    ck_assert(!text.cut);
    stk_text_add(&text, "e");
    ck_assert(text.cut);
    ck_assert_str_eq(buffer, "abcd");
    stk_text_add_number(&text, 7);
    ck_assert_str_eq(buffer, "abcd");
    ck_assert_int_eq(buffer[5], 'Z');
}
END_TEST

START_TEST(prints)
{
    char buffer[64];
    ck_assert(stk_text_print(buffer, sizeof buffer, "/%s/%lu-%lu.%016lx", "a", UINT64_C(0),
                             UINT64_MAX, UINT64_C(0x2a)));
    ck_assert_str_eq(buffer, "/a/0-18446744073709551615.000000000000002a");
    ck_assert(stk_text_print(buffer, sizeof buffer, "%lx %lx %lx %lx %s", UINT64_C(0),
                             UINT64_C(0xf), UINT64_C(0x10), UINT64_MAX, ""));
    ck_assert_str_eq(buffer, "0 f 10 ffffffffffffffff ");
    ck_assert(stk_text_print(buffer, 5, "ab%s", "cd"));
    ck_assert(!stk_text_print(buffer, 5, "ab%se", "cd"));
    ck_assert_str_eq(buffer, "abcd");
}
END_TEST

START_TEST(copies_whole_or_not_at_all)
{
    char buffer[4];
    ck_assert(stk_text_copy(buffer, sizeof buffer, "abc"));
    ck_assert_str_eq(buffer, "abc");
    ck_assert(!stk_text_copy(buffer, sizeof buffer, "abcd"));
    ck_assert_str_eq(buffer, "");
}
END_TEST

START_TEST(takes_numbers)
{
    uint64_t number = 1;
    const char *at = "007x";
    ck_assert(stk_text_take_number(&at, &number));
    ck_assert_uint_eq(number, 7);
    ck_assert_str_eq(at, "x");
    ck_assert(!stk_text_take_number(&at, &number));
    at = "18446744073709551615";
    ck_assert(stk_text_take_number(&at, &number));
    ck_assert_uint_eq(number, UINT64_MAX);
    at = "18446744073709551616";
    ck_assert(!stk_text_take_number(&at, &number));
    at = "-1";
    ck_assert(!stk_text_take_number(&at, &number));
}
END_TEST

START_TEST(takes_hex)
{
    uint64_t number;
    const char *at = "00ff;x";
    ck_assert(stk_text_take_hex(&at, 4, &number));
    ck_assert_uint_eq(number, 255);
    ck_assert_str_eq(at, ";x");
    at = "00f";
    ck_assert(!stk_text_take_hex(&at, 4, &number));
    ck_assert_str_eq(at, "00f");
    at = "00FF";
    ck_assert(!stk_text_take_hex(&at, 4, &number));
}
END_TEST

static const struct {
    const char *text;
    int error;
    int64_t bytes;
} sizes[] = {
    {"0", 0, 0},
    {"4096", 0, 4096},
    {"1K", 0, 1024},
    {"1k", 0, 1024},
    {"60G", 0, 60LL << 30},
    {"1.5T", 0, 3LL << 39},
    {"200M", 0, 200LL << 20},
    {"200MB", 0, 200LL << 20},
    {"200MiB", 0, 200LL << 20},
    {"2P", 0, 2LL << 50},
    {"7B", 0, 7},
    {"0.5K", 0, 512},
    {"4095P", 0, 4095LL << 50},
    {"4096P", -ERANGE, 0},
    {"4611686018427387904", -ERANGE, 0},
    {"99999999999999999999", -EINVAL, 0},
    {"", -EINVAL, 0},
    {"G", -EINVAL, 0},
    {"-1G", -EINVAL, 0},
    {"1X", -EINVAL, 0},
    {"1 G", -EINVAL, 0},
    {"1GG", -EINVAL, 0},
    {"1iB", -EINVAL, 0},
    {".5G", -EINVAL, 0},
    {"1,5G", -EINVAL, 0},
    {"0x10", -EINVAL, 0},
};

START_TEST(parses_sizes)
{
    int64_t bytes = 0;
    int error = stk_text_parse_size(sizes[_i].text, &bytes);
    ck_assert_msg(error == sizes[_i].error && (error != 0 || bytes == sizes[_i].bytes),
                  "\"%s\": %d, %lld", sizes[_i].text, error, (long long)bytes);
}
END_TEST

static const struct {
    const char *text;
    int error;
    int64_t ns;
} durations[] = {
    {"2", 0, 2000000000},
    {"0.05", 0, 50000000},
    {"0", 0, 0},
    {"1.", 0, 1000000000},
    {"0.123456789", 0, 123456789},
    {"0.1234567899", 0, 123456789},
    {"1000000000", 0, 1000000000000000000},
    {"1000000001", -EINVAL, 0},
    {"", -EINVAL, 0},
    {"2s", -EINVAL, 0},
    {"-1", -EINVAL, 0},
    {".5", -EINVAL, 0},
    {"1e3", -EINVAL, 0},
    {"nan", -EINVAL, 0},
};

START_TEST(parses_seconds)
{
    int64_t ns = 0;
    int error = stk_text_parse_seconds(durations[_i].text, &ns);
    ck_assert_msg(error == durations[_i].error && (error != 0 || ns == durations[_i].ns),
                  "\"%s\": %d, %lld", durations[_i].text, error, (long long)ns);
}
END_TEST

static void encode(char out[8], uint32_t point)
{
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    int length = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    memset(out, 'x', 8);
    for (int i = length - 1; i > 0; i--, point >>= 6) {
        out[i] = (char)(0x80 | (point & 0x3f));
    }
    out[0] = (char)(lead[length] | point);
}

START_TEST(every_character_is_one_sequence)
{
    char text[8];
    for (uint32_t point = 0; point < 0x120000; point++) {
        bool none = (point >= 0xd800 && point < 0xe000) || point > 0x10ffff;
        int length = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
        encode(text, point);
        if (stk_text_sequence(text) != (none ? 0 : length)) { /* each assertion is written down */
            ck_abort_msg("U+%04X", point);
        }
    }
}
END_TEST

static const char *const no_sequences[] = {
    "\x80x",
    "\xbfx",
    "\xc0\x80",
    "\xc1\xbf",
    "\xe0\x9f\xbf",
    "\xf0\x8f\xbf\xbf",
    "\xfe\x80",
    "\xff\xbf\xbf",
    "\xc3",
    "\xc3x",
    "\xe2\x82",
    "\xe2\x82x",
    "\xe2x\xac",
    "\xf0\x9f",
    "\xf0\x9f\x98",
    "\xf0\x9f\x98x",
    "\xf5\x80\x80\x80",
};

START_TEST(what_is_no_sequence)
{
    ck_assert_int_eq(stk_text_sequence(no_sequences[_i]), 0);
}
END_TEST

Suite *suite_text(void)
{
    Suite *suite = suite_create("text");
    TCase *build = unit_case(suite, "text_build");
    tcase_add_test(build, builds);
    tcase_add_test(build, numbers_at_their_limits);
    tcase_add_test(build, cuts);
    tcase_add_test(build, prints);
    tcase_add_test(build, copies_whole_or_not_at_all);
    TCase *take = unit_case(suite, "text_take");
    tcase_add_test(take, takes_numbers);
    tcase_add_test(take, takes_hex);
    tcase_add_test(take, every_character_is_one_sequence);
    tcase_add_loop_test(take, what_is_no_sequence, 0, sizeof no_sequences / sizeof *no_sequences);
    TCase *parse = unit_case(suite, "text_parse");
    tcase_add_loop_test(parse, parses_sizes, 0, sizeof sizes / sizeof *sizes);
    tcase_add_loop_test(parse, parses_seconds, 0, sizeof durations / sizeof *durations);
    return suite;
}
