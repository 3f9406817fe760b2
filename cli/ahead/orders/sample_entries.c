#include "cli/ahead/orders/sample_entries.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 4096

static size_t taken_bytes; /* by all arrays */

/* ---- memory ---- */

size_t sample_entries_left(void)
{
    return SAMPLE_FILES_BYTES - taken_bytes;
}

static bool grow(void **array, size_t old_bytes, size_t new_bytes)
{
    size_t more = new_bytes - old_bytes;
    if (more > sample_entries_left()) {
        return false;
    }
    void *grown = realloc(*array, new_bytes);
    if (grown != NULL) {
        memset((char *)grown + old_bytes, 0, more);
        *array = grown;
        taken_bytes += more;
    }
    return grown != NULL;
}

/* Returns a size that is enough, and for large arrays not much more. */
static size_t enlarge(size_t old, size_t least)
{
    size_t larger = old + old / 4 + FIRST_ROOM;
    return larger > least ? larger : least;
}

static bool has_place(struct sample_entries *entries, uint64_t index)
{
    if (index < entries->samples) {
        return true;
    }
    if (index >= SAMPLE_FILES_BYTES / sizeof *entries->places) {
        return false;
    }
    size_t size = sizeof *entries->places, samples = enlarge(entries->samples, index + 1);
    void *places = entries->places;
    bool grown = grow(&places, entries->samples * size, samples * size);
    entries->places = places;
    entries->samples = grown ? samples : entries->samples;
    return grown;
}

static bool has_room(struct sample_entries *entries, size_t bytes)
{
    if (entries->texts != NULL && bytes <= entries->room - entries->used) {
        return true;
    }
    size_t room = enlarge(entries->room, entries->used + bytes);
    void *texts = entries->texts;
    bool grown = grow(&texts, entries->room, room);
    entries->texts = texts;
    entries->room = grown ? room : entries->room;
    return grown;
}

/* Returns a copy in memory that is counted, or NULL. */
static void *copy_of(const void *bytes, size_t count)
{
    void *copy = NULL;
    return grow(&copy, 0, count) ? memcpy(copy, bytes, count) : NULL;
}

void sample_entries_copy(struct sample_entries *entries, const struct sample_entries *found)
{
    entries->places = copy_of(found->places, found->samples * sizeof *found->places);
    entries->texts = copy_of(found->texts, found->used);
    if (entries->places != NULL && entries->texts != NULL) {
        entries->samples = found->samples;
        entries->used = entries->room = found->used;
        entries->width = found->width;
    }
}

/* ---- adding ---- */

static size_t count_shared(const char *one, const char *other)
{
    size_t count = 0;
    while (count < SAMPLE_MOST_SHARED && one[count] == other[count] && one[count] != '\0') {
        count++;
    }
    return count;
}

static void add_bytes(struct sample_entries *entries, const void *bytes, size_t count)
{
    memcpy(entries->texts + entries->used, bytes, count);
    entries->used += count;
}

static void add_byte(struct sample_entries *entries, size_t value)
{
    uint8_t byte = (uint8_t)value;
    add_bytes(entries, &byte, 1);
}

/* Adds the first path, which all others are compared with. */
static bool begin_texts(struct sample_entries *entries, const char *path)
{
    size_t bytes = strlen(path) + 1;
    if (entries->used > 0) {
        return true;
    }
    if (!has_room(entries, 1 + bytes)) {
        return false;
    }
    entries->used = 1;
    add_bytes(entries, path, bytes);
    return true;
}

static void note_width(struct sample_entries *entries, unsigned count)
{
    entries->width = count > entries->width ? count : entries->width;
}

void sample_entries_add(struct sample_entries *entries, uint64_t index,
                        const struct sample_paths *paths)
{
    size_t most = 1;
    for (unsigned i = 0; i < paths->count; i++) {
        most += strlen(paths->paths[i]) + 2;
    }
    if (!has_place(entries, index) || !begin_texts(entries, paths->paths[0]) ||
        !has_room(entries, most)) {
        return;
    }
    entries->places[index] = (uint32_t)entries->used;
    add_byte(entries, paths->count);
    for (unsigned i = 0; i < paths->count; i++) {
        size_t shared = count_shared(sample_entries_first(entries), paths->paths[i]);
        add_byte(entries, shared);
        add_bytes(entries, paths->paths[i] + shared, strlen(paths->paths[i] + shared) + 1);
    }
    note_width(entries, paths->count);
}

void sample_entries_forget(struct sample_entries *entries, size_t bytes)
{
    entries->width = 0;
    for (size_t i = 0; i < entries->samples; i++) {
        entries->places[i] = entries->places[i] < bytes ? 0 : entries->places[i];
        const char *entry = sample_entries_find(entries, i);
        note_width(entries, entry != NULL ? sample_entry_files(entry) : 0);
    }
}

/* ---- reading ---- */

const char *sample_entries_first(const struct sample_entries *entries)
{
    return entries->texts + 1;
}

const char *sample_entries_find(const struct sample_entries *entries, uint64_t index)
{
    bool is_known = index < entries->samples && entries->places[index] != 0;
    return is_known ? entries->texts + entries->places[index] : NULL;
}

size_t sample_entries_count(const struct sample_entries *entries)
{
    size_t count = entries->samples;
    while (count > 0 && entries->places[count - 1] == 0) {
        count--;
    }
    return count;
}

unsigned sample_entry_files(const char *entry)
{
    return (uint8_t)entry[0];
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

size_t sample_entry_bytes(const char *entry)
{
    return (size_t)(skip_paths(entry, sample_entry_files(entry)) - entry);
}

size_t sample_entry_path(const struct sample_entries *entries, const char *entry, unsigned number,
                         char path[STK_PATH_BYTES])
{
    if (number >= sample_entry_files(entry)) {
        return 0;
    }
    const char *at = skip_paths(entry, number);
    size_t shared = (uint8_t)at[0], rest = strlen(at + 1);
    memcpy(path, sample_entries_first(entries), shared);
    memcpy(path + shared, at + 1, rest + 1);
    return shared + rest;
}
