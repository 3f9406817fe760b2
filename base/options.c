/* Parses the values. */
#include "base/options.h"

#include <stdlib.h>
#include <string.h>

#include "base/rank.h"
#include "base/text.h"

const struct stk_option_row stk_option_table[STK_OPTION_COUNT] = {
#define OPTION(name, ...) [STK_OPTION_##name] = {__VA_ARGS__},
#include "base/options.def"
#undef OPTION
};

const char *stk_option_value(enum stk_option option)
{
    const char *value = getenv(stk_option_table[option].variable);
    return value != NULL && *value != '\0' ? value : NULL;
}

static const char *value_of(enum stk_option option)
{
    const char *value = stk_option_value(option);
    return value != NULL ? value : stk_option_table[option].otherwise;
}

bool stk_option_is(enum stk_option option, const char *value)
{
    return strcmp(value_of(option), value) == 0;
}

/* ---- forms of values ---- */

bool stk_option_split_place(const char *value, unsigned long *length, int64_t *bytes)
{
    const char *colon = strrchr(value, ':');
    *length = colon != NULL ? (unsigned long)(colon - value) : strlen(value);
    *bytes = -1;
    return colon == NULL || stk_text_parse_size(colon + 1, bytes) == 0;
}

/* Sets `out` to which of the names, which bars separate, the value is. */
static bool parse_choice(const char *names, const char *value, int64_t *out)
{
    size_t length = strlen(value);
    for (*out = 0; *names != '\0'; ++*out) {
        size_t end = strcspn(names, "|");
        if (end == length && strncmp(names, value, end) == 0) {
            return true;
        }
        names += end + (names[end] == '|');
    }
    return false;
}

static int parse_directory(const char *value, int64_t *out)
{
    unsigned long length;
    return stk_option_split_place(value, &length, out) ? 0 : -1;
}

/* The forms that are checked, by how the table writes them. Settings of the decoder are not: there
 * an unknown one counts as unset. */
static const struct form {
    const char *argument;
    int (*parse)(const char *value, int64_t *out); /* NULL: one of the names of `argument` */
    const char *complaint;
} forms[] = {
    {"on|off", NULL, "write on or off"},
    {"run|open|never", NULL, "write run, open or never"},
    {"auto|mtime|off", NULL, "write auto, mtime or off"},
    {"SECONDS", stk_text_parse_seconds, "write seconds, such as 2 or 0.05"},
    {"SIZE", stk_text_parse_size, "write a size, such as 64M"},
    {"DIR[:SIZE]", parse_directory, "write DIR or DIR:SIZE, such as /mnt/nvme/decoded:200G"},
};

static const struct form *form_of(enum stk_option option)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (strcmp(forms[i].argument, stk_option_table[option].argument) == 0) {
            return &forms[i];
        }
    }
    return NULL;
}

static bool parse(const struct form *form, const char *value, int64_t *out)
{
    return form->parse != NULL ? form->parse(value, out) == 0
                               : parse_choice(form->argument, value, out);
}

static bool is_block(int64_t bytes)
{
    return bytes == 0 ||
           (bytes >= STK_LEAST_BLOCK_BYTES && bytes <= STK_MOST_BLOCK_BYTES && bytes % 4096 == 0);
}

const char *stk_option_complaint(enum stk_option option, const char *value)
{
    int64_t number;
    const struct form *form = form_of(option);
    bool block = option == STK_OPTION_BLOCK;
    if (form == NULL || (parse(form, value, &number) && (!block || is_block(number)))) {
        return NULL;
    }
    return block ? "write a size from 64K to 64M, a multiple of 4K, or 0" : form->complaint;
}

/* ---- the environment ---- */

/* Returns the value, or the default if the value is not understood. */
static int64_t number_of(enum stk_option option)
{
    int64_t number = 0;
    const struct form *form = form_of(option);
    const char *value = value_of(option);
    bool good = stk_option_complaint(option, value) == NULL;
    parse(form, good ? value : stk_option_table[option].otherwise, &number);
    return number;
}

void stk_options_read(struct stk_options *out)
{
    out->paths = value_of(STK_OPTION_PATHS);
    stk_text_copy(out->tiers, sizeof out->tiers, value_of(STK_OPTION_TIERS));
    stk_text_copy(out->run, sizeof out->run, value_of(STK_OPTION_RUN));
    out->outer_paths = value_of(STK_OPTION_OUTER_PATHS);
    stk_text_copy(out->outer_runs, sizeof out->outer_runs, value_of(STK_OPTION_OUTER_RUNS));
    out->fresh = (enum stk_fresh)number_of(STK_OPTION_FRESH);
    out->min_age_ns = number_of(STK_OPTION_MIN_AGE);
    out->max_file_bytes = number_of(STK_OPTION_MAX_FILE);
    out->whole_bytes = number_of(STK_OPTION_WHOLE);
    out->block_bytes = number_of(STK_OPTION_BLOCK);
    out->readahead_bytes = number_of(STK_OPTION_READAHEAD);
    out->leaves_files = stk_option_is(STK_OPTION_FILES, "off");
    out->listings =
        out->leaves_files ? STK_LISTINGS_OFF : (enum stk_listings)number_of(STK_OPTION_LISTINGS);
    out->reads_ahead = !stk_option_is(STK_OPTION_AHEAD, "off");
    out->completes = !stk_option_is(STK_OPTION_COMPLETE, "off");
    out->rank = stk_rank_own();
}

bool stk_options_next_path(const char **list, char *out, unsigned long bytes)
{
    while (**list != '\0') {
        struct stk_text path = stk_text_in(out, bytes);
        for (; **list != '\0' && **list != ':'; (*list)++) {
            if (**list == '\\' && (*list)[1] != '\0') {
                (*list)++;
            }
            stk_text_add_char(&path, **list);
        }
        *list += **list == ':';
        if (path.used > 0 && !path.cut) {
            return true;
        }
    }
    return false;
}
