#include "cli/history/sizes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/history/history.h"
#include "cli/os/state_dir.h"
#include "cli/out/say.h"

#define NAME       "sizes"
#define TEXT_BYTES 65536 /* if there are more lines, the oldest go */

/* A line is "FILES BYTES PATH:PATH". Callers get only the numbers. */
struct asked {
    char *paths;
    struct sizes sizes;
};

/* Returns the paths as a line has them, or NULL if they cannot be part of a line. The caller
 * frees. */
static char *paths_of(const struct request *request)
{
    char *paths = must_copy("");
    for (unsigned i = 0; i < request->count; i++) {
        paths = must_append(paths, ":%s", request->canonical[i]);
    }
    if (strchr(paths, '\n') == NULL && *paths != '\0') {
        return paths;
    }
    free(paths);
    return NULL;
}

/* Returns true if a line has these paths. */
static bool parse(const char *line, const char *paths, struct sizes *out)
{
    int end = 0;
    return sscanf(line, "%" SCNu64 " %" SCNu64 " %n", &out->files, &out->bytes, &end) == 2 &&
           end > 0 && strcmp(line + end, paths) == 0;
}

static void recall(void *context, int out)
{
    static char text[TEXT_BYTES];
    const struct asked *asked = context;
    struct sizes found = {.files = 0}, each;
    state_read(NAME, text, sizeof text);
    char *rest = text, *line;
    while ((line = strsep(&rest, "\n")) != NULL) {
        if (parse(line, asked->paths, &each)) {
            found = each;
        }
    }
    detached_answer(out, &found, sizeof found);
}

bool sizes_recall(const struct request *request, struct sizes *out)
{
    struct asked asked = {.paths = paths_of(request)};
    bool answered = asked.paths != NULL && state_ask(recall, &asked, out, sizeof *out);
    free(asked.paths);
    return answered && out->files > 0;
}

/* Returns the lines with other paths. The caller frees. */
static char *others(char *text, const char *paths)
{
    struct sizes each;
    char *lines = must_copy(""), *rest = text, *line;
    while ((line = strsep(&rest, "\n")) != NULL) {
        if (*line != '\0' && !parse(line, paths, &each)) {
            lines = must_append(lines, "%s\n", line);
        }
    }
    return lines;
}

/* Writes the line last, since it is the latest. Drops the oldest lines, so that all can be read
 * again. */
static void remember(void *context, int out)
{
    static char text[TEXT_BYTES];
    const struct asked *asked = context;
    state_read(NAME, text, sizeof text);
    OWNED char *lines = others(text, asked->paths);
    OWNED char *own = must_format("%" PRIu64 " %" PRIu64 " %s\n", asked->sizes.files,
                                  asked->sizes.bytes, asked->paths);
    const char *from = lines;
    while (*from != '\0' && strlen(from) + strlen(own) >= TEXT_BYTES) {
        from = strchr(from, '\n') + 1;
    }
    OWNED char *all = must_format("%s%s", from, own);
    bool written = state_write(NAME, all) == 0;
    detached_answer(out, &written, sizeof written);
}

void sizes_remember(const struct request *request, const struct stk_run_counts *counts)
{
    bool written;
    const uint64_t *first = counts->epochs[0];
    struct asked asked = {.paths = paths_of(request),
                          .sizes = {stk_run_files(counts),
                                    first[STK_COUNT_BYTES_CACHE] + first[STK_COUNT_BYTES_ORIGIN]}};
    if (asked.paths != NULL && asked.sizes.files > 0 && counts->unnumbered == 0 &&
        counts->blocks[STK_BLOCK_READS] == 0 && history_is_wanted(request)) {
        state_ask(remember, &asked, &written, sizeof written);
    }
    free(asked.paths);
}
