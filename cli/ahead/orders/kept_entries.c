#include "cli/ahead/orders/kept_entries.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ahead/orders/kept_samples.h"

/* ---- recalling ---- */

/* Returns the place behind the entry that is at a place, or 0 if there is none. */
static size_t check_entry(const struct sample_entries *entries, size_t at)
{
    size_t most_shared = strnlen(sample_entries_first(entries), SAMPLE_MOST_SHARED);
    unsigned count = at < entries->used ? sample_entry_files(entries->texts + at) : 0;
    bool is = count > 0 && count <= entries->width;
    at++;
    for (unsigned i = 0; i < count && is; i++) {
        const char *path = entries->texts + at;
        size_t left = entries->used - at, length = left > 0 ? strnlen(path + 1, left - 1) : 0;
        is = left > 1 + length && (uint8_t)path[0] <= most_shared &&
             (uint8_t)path[0] + length < STK_PATH_BYTES;
        at += 1 + length + 1;
    }
    return is ? at : 0;
}

/* Returns true if the texts are as copy_texts() leaves them: nothing lies between the entries, and
 * each is where its place says. */
static bool are_sound(const struct sample_entries *entries)
{
    const char *first = sample_entries_first(entries);
    const char *end = entries->used > 1 ? memchr(first, '\0', entries->used - 1) : NULL;
    size_t at = end != NULL ? (size_t)(end + 1 - entries->texts) : 0;
    for (size_t i = 0; i < entries->samples && at > 0; i++) {
        if (entries->places[i] != 0) {
            at = entries->places[i] == at ? check_entry(entries, at) : 0;
        }
    }
    return at > 0 && at == entries->used;
}

void kept_entries_recall(uint64_t dataset, struct sample_entries *entries)
{
    struct kept_samples *kept = kept_samples_read(dataset, sample_entries_left());
    if (kept == NULL) {
        return;
    }
    uint32_t *places = (uint32_t *)(kept + 1);
    struct sample_entries found = {.places = places,
                                   .samples = kept->samples,
                                   .texts = (char *)(places + kept->samples),
                                   .used = kept->text_bytes,
                                   .width = (unsigned)kept->width};
    if (kept->width <= SAMPLE_FILES && are_sound(&found)) {
        sample_entries_copy(entries, &found);
    }
    free(kept);
}

/* ---- keeping ---- */

/* Copies the texts without entries that others have replaced. Returns their bytes. */
static size_t copy_texts(const struct sample_entries *entries, size_t samples, uint32_t *places,
                         char *texts)
{
    size_t used = 1 + strlen(sample_entries_first(entries)) + 1;
    memcpy(texts, entries->texts, used);
    for (size_t i = 0; i < samples; i++) {
        const char *entry = sample_entries_find(entries, i);
        places[i] = entry != NULL ? (uint32_t)used : 0;
        if (entry != NULL) {
            size_t bytes = sample_entry_bytes(entry);
            memcpy(texts + used, entry, bytes);
            used += bytes;
        }
    }
    return used;
}

void kept_entries_keep(uint64_t dataset, const struct sample_entries *entries)
{
    size_t samples = sample_entries_count(entries);
    struct kept_samples *kept =
        malloc(sizeof *kept + samples * sizeof *entries->places + entries->used);
    if (kept != NULL) {
        uint32_t *places = (uint32_t *)(kept + 1);
        *kept =
            (struct kept_samples){.dataset = dataset, .samples = samples, .width = entries->width};
        kept->text_bytes = copy_texts(entries, samples, places, (char *)(places + samples));
        kept_samples_write(kept);
        free(kept);
    }
}
