#include "cli/ahead/orders/sample_files.h"

#include <string.h>

#include "cli/ahead/orders/kept_entries.h"
#include "cli/ahead/orders/kept_samples.h"
#include "cli/ahead/orders/range_ahead.h"

#define PROVEN 8  /* samples that opened the same file, or another one, until that is believed */
#define LAST   16 /* samples that count */

/* The last samples that came again: a bit for each, the latest one is the lowest. */
struct trial {
    uint32_t same; /* set: the sample opened the same file */
    unsigned count;
};

struct sample_files {
    uint64_t dataset;
    struct sample_entries entries;
    size_t kept; /* of the texts' bytes: what an earlier run has kept */
    unsigned probes;
    struct trial trials[SAMPLE_FILES];
};

static struct {
    struct sample_files sets[SAMPLE_FILES_SETS];
    unsigned count;
} known;

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
static bool compare(struct sample_files *files, const char *entry,
                    const struct sample_paths *report)
{
    char path[STK_PATH_BYTES];
    bool all = true;
    for (unsigned i = 0; i < sample_entry_files(entry); i++) {
        sample_entry_path(&files->entries, entry, i, path);
        bool same = i < report->count && strcmp(path, report->paths[i]) == 0;
        note_trial(&files->trials[i], same);
        all = all && same;
    }
    return all;
}

static bool is_reported(const struct sample_paths *report, const char *path)
{
    bool is = false;
    for (unsigned i = 0; i < report->count && !is; i++) {
        is = strcmp(report->paths[i], path) == 0;
    }
    return is;
}

static struct sample_paths read_report(const char *paths, size_t bytes)
{
    struct sample_paths report = {.count = 0};
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
    sample_entries_forget(&files->entries, files->kept);
    files->kept = 0;
    memset(files->trials, 0, sizeof files->trials);
}

/* Returns true if the sample has not come in this run. */
static bool is_unseen(const struct sample_files *files, uint64_t index)
{
    const char *entry = sample_entries_find(&files->entries, index);
    return entry == NULL || (size_t)(entry - files->entries.texts) < files->kept;
}

/* Notes what a sample has opened. It takes the place of what an earlier run has kept. */
static void add_sample(struct sample_files *files, uint64_t index, const char *paths, size_t bytes)
{
    const char *entry = sample_entries_find(&files->entries, index);
    struct sample_paths report = read_report(paths, bytes);
    bool same = entry != NULL && compare(files, entry, &report);
    if (report.count > 0) {
        range_ahead_expect(report.paths[0]);
    }
    if (files->kept > 0 && is_wrong(files)) {
        forget_kept(files);
    }
    if (!same && is_unseen(files, index) && report.count > 0) {
        sample_entries_add(&files->entries, index, &report);
    }
}

/* ---- from run to run ---- */

/* Takes over what an earlier run has kept. It is a guess like what this run has seen. */
static void recall(struct sample_files *files)
{
    kept_entries_recall(files->dataset, &files->entries);
    files->kept = files->entries.used;
}

void sample_files_keep(void)
{
    for (unsigned i = 0; i < known.count; i++) {
        const struct sample_files *files = &known.sets[i];
        const struct sample_entries *entries = &files->entries;
        bool is_empty = entries->used > 0 && sample_entries_count(entries) == 0;
        if (is_wrong(files) || is_empty) {
            kept_samples_drop(files->dataset);
        } else if (entries->used > files->kept) {
            kept_entries_keep(files->dataset, entries);
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
    return files != NULL && files->entries.width > 0 ? files->entries.width : 1;
}

size_t sample_files_path(const struct sample_files *files, uint64_t index, unsigned number,
                         char path[STK_PATH_BYTES])
{
    path[0] = '\0';
    const char *entry = files != NULL ? sample_entries_find(&files->entries, index) : NULL;
    if (entry == NULL || is_refuted(&files->trials[number])) {
        return 1;
    }
    return sample_entry_path(&files->entries, entry, number, path) + 1;
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
