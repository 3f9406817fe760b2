/*
 * The steps of a hit, each alone, over the files of a list, in nanoseconds.
 *
 *     breakdown LIST      with STOKER_PATHS and the like set, and the files in the cache
 *
 * Linked with cache/ and base/ themselves, and without the preload: the steps are what
 * preload/symbols/file/open.c does for an open, one after another. Prints one line for each step:
 * its name and the nanoseconds of each slice. The steps take turns slice by slice.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/sys.h"
#include "cache/cache.h"
#include "cache/origin/entry_name.h"

#define FILES    1024
#define SLICES   30
#define SLICE_NS 5000000LL

struct file {
    char *path;
    struct stk_place place;
    struct stk_lookup ask;
};

static struct stk_cache cache;
static struct file *files;
static size_t count;
static volatile uint64_t sink;

static __attribute__((noreturn)) void fail(const char *what, const char *path)
{
    fprintf(stderr, "breakdown: %s %s\n", what, path);
    exit(1);
}

/* ---- the steps ---- */

static void match_root(struct file *file)
{
    const char *rest;
    sink += stk_roots_match(&cache.roots, file->path, &rest) != NULL;
}

static void place(struct file *file)
{
    sink += stk_cache_place(&cache, file->path, AT_FDCWD, file->path, &file->place);
}

static void look_up(struct file *file)
{
    sink += stk_catalogue_find(&cache.catalogue, file->place.key);
}

static void name_entry(struct file *file)
{
    char entry[STK_PATH_BYTES];
    const struct stk_record *record = stk_catalogue_record(&cache.catalogue, file->ask.record);
    const struct stk_root_tree *tree = &file->place.root->trees[cache.tier.index];
    sink += stk_entry_path_in(entry, tree->path, tree->length, file->place.below, record->name);
}

static void ask(struct file *file)
{
    sink += stk_cache_lookup(&cache, &file->place, &file->ask);
}

static void count_hit(struct file *file)
{
    const struct stk_outcome outcome = {
        .kind = STK_COUNT_HITS, .record = file->ask.record, .size = file->ask.size};
    stk_cache_count(&cache, &outcome);
}

static void open_entry(struct file *file)
{
    stk_sys_close(stk_sys_open_nolinks(file->ask.entry, O_RDONLY | O_CLOEXEC));
}

static void open_plainly(struct file *file)
{
    stk_sys_close(stk_sys_openat(AT_FDCWD, file->ask.entry, O_RDONLY | O_CLOEXEC, 0));
}

static const struct step {
    const char *name;
    void (*run)(struct file *file);
} steps[] = {
    {"match", match_root}, {"place", place},     {"look-up", look_up},    {"name", name_entry},
    {"ask", ask},          {"count", count_hit}, {"openat2", open_entry}, {"openat", open_plainly},
};
#define STEPS (sizeof steps / sizeof *steps)

/* ---- measuring ---- */

static void read_list(const char *path)
{
    char *line = NULL;
    size_t room = 0;
    FILE *list = fopen(path, "r");
    files = calloc(FILES, sizeof *files);
    if (list == NULL || files == NULL) {
        fail("cannot read", path);
    }
    for (ssize_t length; count < FILES && (length = getline(&line, &room, list)) > 0;) {
        line[strcspn(line, "\n")] = '\0';
        files[count++].path = strdup(line);
    }
    free(line);
    fclose(list);
}

static void prepare(struct file *file)
{
    if (!stk_cache_place(&cache, file->path, AT_FDCWD, file->path, &file->place) ||
        stk_cache_lookup(&cache, &file->place, &file->ask) != STK_ANSWER_HIT ||
        file->place.root->trees[cache.tier.index].path == NULL) {
        fail("not in the cache:", file->path);
    }
}

static double measure(const struct step *step)
{
    int64_t start_ns = stk_clock_boottime_ns(), end_ns;
    size_t passes = 0;
    do {
        for (size_t i = 0; i < count; i++) {
            step->run(&files[i]);
        }
        passes++;
        end_ns = stk_clock_boottime_ns();
    } while (end_ns - start_ns < SLICE_NS);
    return (double)(end_ns - start_ns) / (double)(passes * count);
}

int main(int argument_count, char **arguments)
{
    static struct stk_options options;
    static struct stk_roots spelling;
    static double slices[STEPS][SLICES];
    if (argument_count != 2) {
        fail("usage: breakdown", "LIST");
    }
    stk_options_read(&options);
    stk_roots_spell(&spelling, options.paths);
    stk_cache_open(&cache, &options, &spelling);
    read_list(arguments[1]);
    for (size_t i = 0; i < count; i++) {
        prepare(&files[i]);
    }
    for (int slice = 0; slice < SLICES; slice++) {
        for (size_t i = 0; i < STEPS; i++) {
            slices[i][slice] = measure(&steps[i]);
        }
    }
    for (size_t i = 0; i < STEPS; i++) {
        printf("%s", steps[i].name);
        for (int slice = 0; slice < SLICES; slice++) {
            printf(" %.1f", slices[i][slice]);
        }
        putchar('\n');
    }
    return 0;
}
