/* The parsers of what a user writes: sizes, seconds, lists of paths, tiers; against models. */
#include "base/options.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "cache/tier/tier.h"
#include "tests/fuzz/fuzz.h"

#define TEXT_BYTES 4096

const char *const fuzz_words[] = {"0",  "1",  "9", "1048576", "18446744073709551615",
                                  "K",  "M",  "g", "T",       "p",
                                  "iB", "B",  ".", ".5",      "4611686018427387904",
                                  ":",  "\\", ",", "/a",      "/dev/shm",
                                  "-",  " ",  "i", "run",     NULL};

/* "12.34" and what follows it; false when there are no digits in front. */
static bool take_model_number(const char **at, long double *out)
{
    long double value = 0, weight = 1;
    size_t digits = strspn(*at, "0123456789");
    for (size_t i = 0; i < digits; i++) {
        value = value * 10 + (*(*at)++ - '0');
    }
    if (digits > 0 && **at == '.') {
        for ((*at)++; **at >= '0' && **at <= '9'; (*at)++) {
            weight /= 10;
            value += weight * (**at - '0');
        }
    }
    *out = value;
    return digits > 0;
}

static bool model_size(const char *text, long double *out)
{
    static const char units[] = "KkMmGgTtPp";
    if (!take_model_number(&text, out)) {
        return false;
    }
    const char *unit = *text != '\0' ? strchr(units, *text) : NULL;
    if (unit != NULL) {
        *out *= powl(1024, (long double)((unit - units) / 2 + 1));
        text++;
        text += *text == 'i';
    }
    text += *text == 'B';
    return *text == '\0';
}

static void check_size(const char *text)
{
    long double wanted;
    int64_t got = -1;
    bool good = stk_text_parse_size(text, &got) == 0;
    bool size = model_size(text, &wanted);
    bool far_too_large = size && wanted > 0x1p62L * 1.0001L;
    bool clearly_fits = size && wanted < 0x1p62L * 0.9999L;
    /* A fraction counts to its ninth digit. */
    if ((good && (!size || far_too_large)) || (!good && clearly_fits)) {
        fuzz_fail("size \"%s\": %s", text, good ? "taken" : "refused");
    }
    if (good && (got < 0 || fabsl((long double)got - wanted) > 1 + wanted * 1e-9L + 0x1p21L)) {
        fuzz_fail("size \"%s\": %lld", text, (long long)got);
    }
}

static void check_seconds(const char *text)
{
    long double wanted;
    int64_t got = -1;
    const char *at = text;
    bool good = stk_text_parse_seconds(text, &got) == 0;
    bool number = take_model_number(&at, &wanted) && *at == '\0';
    if (good != (number && wanted < 1000000001.0L)) {
        fuzz_fail("seconds \"%s\": %s", text, good ? "taken" : "refused");
    }
    if (good && (got < 0 || fabsl((long double)got - wanted * 1e9L) > 2)) {
        fuzz_fail("seconds \"%s\": %lld ns", text, (long long)got);
    }
}

/* The next path of the list as a plain loop would find it; false at the end. */
static bool model_next(const char **list, char *out)
{
    size_t used = 0;
    while (**list != '\0' && **list != ':') {
        *list += **list == '\\' && (*list)[1] != '\0';
        out[used++] = *(*list)++;
    }
    out[used] = '\0';
    bool more = **list == ':' || used > 0;
    *list += **list == ':';
    return more;
}

static void check_paths(const char *text, size_t room)
{
    char got[TEXT_BYTES], wanted[TEXT_BYTES];
    const char *list = text, *model = text;
    while (stk_options_next_path(&list, got, room)) {
        do {
            if (!model_next(&model, wanted)) {
                fuzz_fail("\"%s\" has no path \"%s\"", text, got);
            }
        } while (wanted[0] == '\0' || strlen(wanted) + 1 > room);
        if (strcmp(got, wanted) != 0) {
            fuzz_fail("\"%s\": the path \"%s\" instead of \"%s\"", text, got, wanted);
        }
    }
    while (model_next(&model, wanted)) {
        if (wanted[0] != '\0' && strlen(wanted) + 1 <= room) {
            fuzz_fail("\"%s\": the path \"%s\" is left out", text, wanted);
        }
    }
}

static void check_tier(const char *text)
{
    char dir[STK_HOME_BYTES];
    int64_t budget = 0;
    const char *list = text;
    if (stk_tier_parse(&list, dir, &budget) != 0) {
        return;
    }
    size_t length = strcspn(text, ":,");
    if (strlen(dir) != length || strncmp(dir, text, length) != 0 ||
        (budget <= 0 && budget != STK_TIER_DEFAULT_BUDGET)) {
        fuzz_fail("tier \"%s\": \"%s\", %lld", text, dir, (long long)budget);
    }
}

/* If a value is complained of, reading falls back from it: so both must know the same. */
static void check_complaints(const char *text)
{
    for (int option = 0; option < STK_OPTION_COUNT; option++) {
        const char *complaint = stk_option_complaint((enum stk_option)option, text);
        if (complaint != NULL && *complaint == '\0') {
            fuzz_fail("an empty complaint about \"%s\"", text);
        }
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char text[TEXT_BYTES];
    struct fuzz_input input = fuzz_input(data, bytes);
    size_t room = 1 + fuzz_pick(&input, 256);
    fuzz_take_text(&input, text, fuzz_pick(&input, 4) == 0 ? sizeof text : 24);
    check_size(text);
    check_seconds(text);
    check_paths(text, room);
    check_tier(text);
    check_complaints(text);
    return 0;
}
