#include "cli/ahead/orders/sample_files.h"

#include <stdlib.h>
#include <string.h>

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
    if (bytes <= files->room - files->used) {
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

/* Writes the path of a sample's file. Returns its length, or 0 if the sample has no such file. */
static size_t read_path(const struct sample_files *files, const char *entry, unsigned number,
                        char path[STK_PATH_BYTES])
{
    if (number >= (uint8_t)entry[0]) {
        return 0;
    }
    const char *at = entry + 1;
    for (unsigned i = 0; i < number; i++) {
        at += 1 + strlen(at + 1) + 1;
    }
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

/* ---- reports ---- */

static void compare(struct sample_files *files, const char *entry, const struct report *report)
{
    char path[STK_PATH_BYTES];
    for (unsigned i = 0; i < (uint8_t)entry[0]; i++) {
        read_path(files, entry, i, path);
        bool same = i < report->count && strcmp(path, report->paths[i]) == 0;
        note_trial(&files->trials[i], same);
    }
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

static void add_sample(struct sample_files *files, uint64_t index, const char *paths, size_t bytes)
{
    const char *entry = entry_of(files, index);
    struct report report = read_report(paths, bytes);
    if (entry != NULL) {
        compare(files, entry, &report);
    } else if (report.count > 0) {
        remember(files, index, &report);
    }
}

struct sample_files *sample_files_of(uint64_t dataset)
{
    for (unsigned i = 0; i < known.count; i++) {
        if (known.sets[i].dataset == dataset) {
            return &known.sets[i];
        }
    }
    return NULL;
}

static struct sample_files *begin_set(uint64_t dataset)
{
    struct sample_files *files = sample_files_of(dataset);
    if (files == NULL && known.count < SAMPLE_FILES_SETS) {
        files = &known.sets[known.count++];
        files->dataset = dataset;
    }
    return files;
}

bool sample_files_add(uint64_t dataset, const char *message, size_t bytes)
{
    struct sample_head head;
    struct sample_files *files = begin_set(dataset);
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
