#include "cli/ahead/orders/sample_files.h"

#include <stdlib.h>
#include <string.h>

#include "cli/ahead/orders/kept_samples.h"

#define PROVEN     8 /* samples that opened the same file, or another one, until that is believed */
#define LAST       16  /* samples that count */
#define MOST_LIKE  255 /* bytes that a path shares with the data set's first one */
#define FIRST_ROOM 4096

/* The last samples that came again: a bit for each, the latest one is the lowest. */
struct trial {
    uint32_t same; /* set: the sample opened the same file */
    unsigned count;
};

/*
 * Behind the first byte, `texts` has the data set's first path, and then an entry for each sample.
 * An entry begins with the number of the sample's files. Each file has the number of bytes that its
 * path shares with the first path, and the rest of the path with its zero.
 */
struct sample_files {
    uint64_t dataset;
    uint32_t *places; /* in `texts`, of each sample's entry, by its index; 0: unknown */
    size_t samples;   /* that `places` has room for */
    char *texts;
    size_t used, room;
    size_t kept; /* of the used bytes: what an earlier run has kept */
    unsigned width, probes;
    struct trial trials[SAMPLE_FILES];
};

/* The distinct paths that a sample is reported to have opened, the first few. */
struct report {
    const char *paths[SAMPLE_FILES];
    unsigned count;
};

static struct {
    struct sample_files sets[SAMPLE_FILES_SETS];
    unsigned count;
    size_t bytes; /* of all arrays */
} known;

/* ---- memory ---- */

static bool grow(void **array, size_t old_bytes, size_t new_bytes)
{
    size_t more = new_bytes - old_bytes;
    if (more > SAMPLE_FILES_BYTES - known.bytes) {
        return false;
    }
    void *grown = realloc(*array, new_bytes);
    if (grown != NULL) {
        memset((char *)grown + old_bytes, 0, more);
        *array = grown;
        known.bytes += more;
    }
    return grown != NULL;
}

/* Returns a size that is enough, and for large arrays not much more. */
static size_t enlarge(size_t old, size_t least)
{
    size_t larger = old + old / 4 + FIRST_ROOM;
    return larger > least ? larger : least;
}

static bool has_place(struct sample_files *files, uint64_t index)
{
    if (index < files->samples) {
        return true;
    }
    if (index >= SAMPLE_FILES_BYTES / sizeof *files->places) {
        return false;
    }
    size_t size = sizeof *files->places, samples = enlarge(files->samples, index + 1);
    void *places = files->places;
    bool grown = grow(&places, files->samples * size, samples * size);
    files->places = places;
    files->samples = grown ? samples : files->samples;
    return grown;
}

static bool has_room(struct sample_files *files, size_t bytes)
{
    if (files->texts != NULL && bytes <= files->room - files->used) {
        return true;
    }
    size_t room = enlarge(files->room, files->used + bytes);
    void *texts = files->texts;
    bool grown = grow(&texts, files->room, room);
    files->texts = texts;
    files->room = grown ? room : files->room;
    return grown;
}

/* ---- entries ---- */

static const char *first_path(const struct sample_files *files)
{
    return files->texts + 1;
}

static size_t count_shared(const char *one, const char *other)
{
    size_t count = 0;
    while (count < MOST_LIKE && one[count] == other[count] && one[count] != '\0') {
        count++;
    }
    return count;
}

static void add_bytes(struct sample_files *files, const void *bytes, size_t count)
{
    memcpy(files->texts + files->used, bytes, count);
    files->used += count;
}

static void add_byte(struct sample_files *files, size_t value)
{
    uint8_t byte = (uint8_t)value;
    add_bytes(files, &byte, 1);
}

/* Adds the first path, which all others are compared with. */
static bool begin_texts(struct sample_files *files, const char *path)
{
    size_t bytes = strlen(path) + 1;
    if (files->used > 0) {
        return true;
    }
    if (!has_room(files, 1 + bytes)) {
        return false;
    }
    files->used = 1;
    add_bytes(files, path, bytes);
    return true;
}

static void remember(struct sample_files *files, uint64_t index, const struct report *report)
{
    size_t most = 1;
    for (unsigned i = 0; i < report->count; i++) {
        most += strlen(report->paths[i]) + 2;
    }
    if (!has_place(files, index) || !begin_texts(files, report->paths[0]) ||
        !has_room(files, most)) {
        return;
    }
    files->places[index] = (uint32_t)files->used;
    add_byte(files, report->count);
    for (unsigned i = 0; i < report->count; i++) {
        size_t shared = count_shared(first_path(files), report->paths[i]);
        add_byte(files, shared);
        add_bytes(files, report->paths[i] + shared, strlen(report->paths[i] + shared) + 1);
    }
    files->width = report->count > files->width ? report->count : files->width;
}

/* Returns the entry of a sample, or NULL. */
static const char *entry_of(const struct sample_files *files, uint64_t index)
{
    bool is_known = files != NULL && index < files->samples && files->places[index] != 0;
    return is_known ? files->texts + files->places[index] : NULL;
}

/* Returns the place behind the first paths of an entry. */
static const char *skip_paths(const char *entry, unsigned count)
{
    const char *at = entry + 1;
    for (unsigned i = 0; i < count; i++) {
        at += 1 + strlen(at + 1) + 1;
    }
    return at;
}

/* Writes the path of a sample's file. Returns its length, or 0 if the sample has no such file. */
static size_t read_path(const struct sample_files *files, const char *entry, unsigned number,
                        char path[STK_PATH_BYTES])
{
    if (number >= (uint8_t)entry[0]) {
        return 0;
    }
    const char *at = skip_paths(entry, number);
    size_t shared = (uint8_t)at[0], rest = strlen(at + 1);
    memcpy(path, first_path(files), shared);
    memcpy(path + shared, at + 1, rest + 1);
    return shared + rest;
}

/* ---- trials ---- */

static void note_trial(struct trial *trial, bool same)
{
    trial->same = (trial->same << 1 | same) & ((1u << LAST) - 1);
    trial->count += trial->count < LAST;
}

static bool is_proven(const struct trial *trial)
{
    unsigned same = (unsigned)__builtin_popcount(trial->same);
    return same >= PROVEN && same > trial->count - same;
}

static bool is_refuted(const struct trial *trial)
{
    unsigned same = (unsigned)__builtin_popcount(trial->same), other = trial->count - same;
    return other >= PROVEN && other >= same;
}

/* Returns true if none of the files that were tried comes again. */
static bool is_wrong(const struct sample_files *files)
{
    unsigned refuted = 0, tried = 0;
    for (unsigned i = 0; i < SAMPLE_FILES; i++) {
        refuted += is_refuted(&files->trials[i]);
        tried += files->trials[i].count > 0;
    }
    return refuted > 0 && refuted == tried;
}

/* ---- reports ---- */

/* Returns true if the sample has opened all that is known of it. */
static bool compare(struct sample_files *files, const char *entry, const struct report *report)
{
    char path[STK_PATH_BYTES];
    bool all = true;
    for (unsigned i = 0; i < (uint8_t)entry[0]; i++) {
        read_path(files, entry, i, path);
        bool same = i < report->count && strcmp(path, report->paths[i]) == 0;
        note_trial(&files->trials[i], same);
        all = all && same;
    }
    return all;
}

static bool is_reported(const struct report *report, const char *path)
{
    bool is = false;
    for (unsigned i = 0; i < report->count && !is; i++) {
        is = strcmp(report->paths[i], path) == 0;
    }
    return is;
}

static struct report read_report(const char *paths, size_t bytes)
{
    struct report report = {.count = 0};
    const char *end = paths + bytes;
    while (paths < end && report.count < SAMPLE_FILES) {
        size_t length = strlen(paths);
        if (length > 0 && length < STK_PATH_BYTES && !is_reported(&report, paths)) {
            report.paths[report.count++] = paths;
        }
        paths += length + 1;
    }
    return report;
}

/* Forgets what an earlier run has kept. This run's entries are a guess of their own then. */
static void forget_kept(struct sample_files *files)
{
    files->width = 0;
    for (size_t i = 0; i < files->samples; i++) {
        files->places[i] = files->places[i] < files->kept ? 0 : files->places[i];
        const char *entry = entry_of(files, i);
        unsigned count = entry != NULL ? (uint8_t)entry[0] : 0;
        files->width = count > files->width ? count : files->width;
    }
    files->kept = 0;
    memset(files->trials, 0, sizeof files->trials);
}

/* Notes what a sample has opened. It takes the place of what an earlier run has kept. */
static void add_sample(struct sample_files *files, uint64_t index, const char *paths, size_t bytes)
{
    const char *entry = entry_of(files, index);
    struct report report = read_report(paths, bytes);
    bool same = entry != NULL && compare(files, entry, &report);
    if (files->kept > 0 && is_wrong(files)) {
        forget_kept(files);
    }
    bool is_new = entry_of(files, index) == NULL || files->places[index] < files->kept;
    if (!same && is_new && report.count > 0) {
        remember(files, index, &report);
    }
}

/* ---- from run to run ---- */

/* Returns a copy in memory that is counted, or NULL. */
static void *copy_of(const void *bytes, size_t count)
{
    void *copy = NULL;
    return grow(&copy, 0, count) ? memcpy(copy, bytes, count) : NULL;
}

static void take_over(struct sample_files *files, const struct sample_files *found)
{
    files->places = copy_of(found->places, found->samples * sizeof *found->places);
    files->texts = copy_of(found->texts, found->used);
    if (files->places != NULL && files->texts != NULL) {
        files->samples = found->samples;
        files->used = files->room = files->kept = found->used;
        files->width = found->width;
    }
}

/* Returns the place behind the entry that is at a place, or 0 if there is none. */
static size_t check_entry(const struct sample_files *files, size_t at)
{
    size_t most_shared = strnlen(first_path(files), MOST_LIKE);
    unsigned count = at < files->used ? (uint8_t)files->texts[at] : 0;
    bool is = count > 0 && count <= files->width;
    at++;
    for (unsigned i = 0; i < count && is; i++) {
        const char *path = files->texts + at;
        size_t left = files->used - at, length = left > 0 ? strnlen(path + 1, left - 1) : 0;
        is = left > 1 + length && (uint8_t)path[0] <= most_shared &&
             (uint8_t)path[0] + length < STK_PATH_BYTES;
        at += 1 + length + 1;
    }
    return is ? at : 0;
}

/* Returns true if the texts are as copy_texts() leaves them: nothing lies between the entries, and
 * each is where its place says. */
static bool are_sound(const struct sample_files *files)
{
    const char *end = files->used > 1 ? memchr(first_path(files), '\0', files->used - 1) : NULL;
    size_t at = end != NULL ? (size_t)(end + 1 - files->texts) : 0;
    for (size_t i = 0; i < files->samples && at > 0; i++) {
        if (files->places[i] != 0) {
            at = files->places[i] == at ? check_entry(files, at) : 0;
        }
    }
    return at > 0 && at == files->used;
}

/* Takes over what an earlier run has kept, if it is sound. It is a guess like what this run has
 * seen. */
static void recall(struct sample_files *files)
{
    struct kept_samples *kept = kept_samples_read(files->dataset, SAMPLE_FILES_BYTES - known.bytes);
    if (kept == NULL) {
        return;
    }
    uint32_t *places = (uint32_t *)(kept + 1);
    struct sample_files found = {.places = places,
                                 .samples = kept->samples,
                                 .texts = (char *)(places + kept->samples),
                                 .used = kept->text_bytes,
                                 .width = (unsigned)kept->width};
    if (kept->width <= SAMPLE_FILES && are_sound(&found)) {
        take_over(files, &found);
    }
    free(kept);
}

static size_t count_samples(const struct sample_files *files)
{
    size_t count = files->samples;
    while (count > 0 && files->places[count - 1] == 0) {
        count--;
    }
    return count;
}

/* Copies the texts without entries that others have replaced. Returns their bytes. */
static size_t copy_texts(const struct sample_files *files, size_t samples, uint32_t *places,
                         char *texts)
{
    size_t used = 1 + strlen(first_path(files)) + 1;
    memcpy(texts, files->texts, used);
    for (size_t i = 0; i < samples; i++) {
        const char *entry = entry_of(files, i);
        places[i] = entry != NULL ? (uint32_t)used : 0;
        if (entry != NULL) {
            size_t bytes = (size_t)(skip_paths(entry, (uint8_t)entry[0]) - entry);
            memcpy(texts + used, entry, bytes);
            used += bytes;
        }
    }
    return used;
}

static void keep(const struct sample_files *files)
{
    size_t samples = count_samples(files);
    struct kept_samples *kept =
        malloc(sizeof *kept + samples * sizeof *files->places + files->used);
    if (kept != NULL) {
        uint32_t *places = (uint32_t *)(kept + 1);
        *kept = (struct kept_samples){
            .dataset = files->dataset, .samples = samples, .width = files->width};
        kept->text_bytes = copy_texts(files, samples, places, (char *)(places + samples));
        kept_samples_write(kept);
        free(kept);
    }
}

void sample_files_keep(void)
{
    for (unsigned i = 0; i < known.count; i++) {
        const struct sample_files *files = &known.sets[i];
        bool is_empty = files->used > 0 && count_samples(files) == 0;
        if (is_wrong(files) || is_empty) {
            kept_samples_drop(files->dataset);
        } else if (files->used > files->kept) {
            keep(files);
        }
    }
}

/* ---- data sets ---- */

struct sample_files *sample_files_of(uint64_t dataset)
{
    for (unsigned i = 0; i < known.count; i++) {
        if (known.sets[i].dataset == dataset) {
            return &known.sets[i];
        }
    }
    return NULL;
}

struct sample_files *sample_files_begin(uint64_t dataset)
{
    struct sample_files *files = sample_files_of(dataset);
    if (files == NULL && known.count < SAMPLE_FILES_SETS) {
        files = &known.sets[known.count++];
        files->dataset = dataset;
        recall(files);
    }
    return files;
}

bool sample_files_add(uint64_t dataset, const char *message, size_t bytes)
{
    struct sample_head head;
    struct sample_files *files = sample_files_begin(dataset);
    while (files != NULL && bytes > 0) {
        if (bytes < sizeof head) {
            return false;
        }
        memcpy(&head, message, sizeof head);
        message += sizeof head;
        bytes -= sizeof head;
        if (head.bytes > bytes || (head.bytes > 0 && message[head.bytes - 1] != '\0')) {
            return false;
        }
        add_sample(files, head.index, message, head.bytes);
        message += head.bytes;
        bytes -= head.bytes;
    }
    return true;
}

/* ---- what is asked ---- */

unsigned sample_files_width(const struct sample_files *files)
{
    return files != NULL && files->width > 0 ? files->width : 1;
}

size_t sample_files_path(const struct sample_files *files, uint64_t index, unsigned number,
                         char path[STK_PATH_BYTES])
{
    path[0] = '\0';
    const char *entry = entry_of(files, index);
    if (entry == NULL || is_refuted(&files->trials[number])) {
        return 1;
    }
    return read_path(files, entry, number, path) + 1;
}

bool sample_files_hold(const struct sample_files *files)
{
    bool hold = false;
    for (unsigned i = 0; files != NULL && i < SAMPLE_FILES; i++) {
        hold = hold || is_proven(&files->trials[i]);
    }
    return hold;
}

void sample_files_note_probe(struct sample_files *files)
{
    files->probes++;
}

unsigned sample_files_probes(const struct sample_files *files)
{
    return files != NULL ? files->probes : 0;
}
