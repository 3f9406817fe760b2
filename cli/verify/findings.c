#include "cli/verify/findings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/out/json.h"
#include "cli/out/say.h"

/* ---- noting ---- */

void findings_note_difference(struct findings *found, const struct compared *compared)
{
    if (found->count == found->room) {
        found->room = 2 * found->room + 16;
        found->names = must_resize(found->names, found->room * sizeof *found->names);
        found->whats = must_resize(found->whats, found->room * sizeof *found->whats);
    }
    found->names[found->count] = must_copy(compared->origin);
    found->whats[found->count++] = compared->what != NULL
                                       ? must_copy(compared->what)
                                       : must_format("differs at byte %" PRIu64, compared->at);
}

void findings_note(struct findings *found, enum findings_kind kind, const struct compared *compared)
{
    found->ends[kind][compared->end]++;
    found->bytes += compared->bytes;
    if (compared->end == COMPARE_DIFFERS) {
        found->failed += !compared->dropped;
        findings_note_difference(found, compared);
    }
}

/* Returns the number of copies with this result. */
static uint64_t count_of(const struct findings *found, enum compare_end end)
{
    uint64_t count = 0;
    for (int kind = 0; kind < FINDINGS_KINDS; kind++) {
        count += found->ends[kind][end];
    }
    return count;
}

uint64_t findings_done(const struct findings *found)
{
    uint64_t done = 0;
    for (int end = 0; end < COMPARE_ENDS; end++) {
        done += count_of(found, (enum compare_end)end);
    }
    return done;
}

/* ---- telling ---- */

int findings_status(const struct findings *found)
{
    bool failed =
        found->failed > 0 || found->forms.kept > 0 || found->closed > 0 || found->unchecked;
    return failed ? STK_EXIT_USAGE : found->count > 0;
}

static void print_line(uint64_t count, const char *text)
{
    if (count > 0) {
        printf("  %" PRIu64 " %s\n", count, text);
    }
}

static void say_trouble(const struct findings *found)
{
    if (found->failed > 0) {
        say("%" PRIu64 " could not be dropped: `stoker clear` removes the cache", found->failed);
    }
    if (found->closed > 0) {
        say(COUNTED " of the cache could not be looked into",
            COUNT_OF(found->closed, "directory", "directories"));
    }
}

void findings_print(const struct findings *found)
{
    char size[STK_SIZE_TEXT];
    for (unsigned i = 0; i < found->count; i++) {
        say_line(stdout, "%s: the copy %s", found->names[i], found->whats[i]);
    }
    printf(COUNTED " right (%s), %" PRIu64 " differed%s\n",
           COUNT_OF(count_of(found, COMPARE_RIGHT), "copy", "copies"),
           size_text(size, found->bytes), count_of(found, COMPARE_DIFFERS),
           count_of(found, COMPARE_DIFFERS) == 0 ? ""
           : found->failed == 0                  ? ": dropped"
                                                 : "");
    if (found->forms.right > 0 || found->forms.differ > 0) {
        printf("%" PRIu64 " decoded %s right (%s of JPEGs), %" PRIu64 " differed\n",
               found->forms.right, plural(found->forms.right, "copy", "copies"),
               size_text(size, found->forms.bytes), found->forms.differ);
    }
    print_line(count_of(found, COMPARE_CHANGED), "of versions that storage has no more");
    print_line(count_of(found, COMPARE_GONE), "of files that are gone, or not mounted here");
    print_line(count_of(found, COMPARE_UNREADABLE), "whose original could not be read");
    print_line(found->passed_over, "copies were not looked at (--sample)");
    if (found->none && found->forms.right + found->forms.differ == 0) {
        puts("  nothing is cached there: `stoker ls` shows what is, and where");
    }
    fflush(stdout);
    say_trouble(found);
}

static void write_kind(struct json *json, const char *name, const uint64_t ends[COMPARE_ENDS])
{
    json_object(json, name);
    json_count(json, "right", ends[COMPARE_RIGHT]);
    json_count(json, "differ", ends[COMPARE_DIFFERS]);
    json_count(json, "changed", ends[COMPARE_CHANGED]);
    json_count(json, "gone", ends[COMPARE_GONE]);
    json_count(json, "unreadable", ends[COMPARE_UNREADABLE]);
    json_end(json);
}

void findings_write_json(const struct findings *found, const char *path)
{
    FILE *out = fopen(path, "we");
    if (out == NULL) {
        die("--json %s: %s", path, strerror(errno));
    }
    struct json json = json_begin(out);
    write_kind(&json, "cached_files", found->ends[FINDINGS_ENTRY]);
    write_kind(&json, "listings", found->ends[FINDINGS_LISTING]);
    write_kind(&json, "blocks", found->ends[FINDINGS_BLOCKS]);
    json_object(&json, "decoded_copies");
    json_count(&json, "right", found->forms.right);
    json_count(&json, "differ", found->forms.differ);
    json_end(&json);
    json_count(&json, "bytes", found->bytes);
    json_count(&json, "not_looked_at", found->passed_over);
    json_count(&json, "not_dropped", found->failed);
    json_texts(&json, "differing", found->names, found->count);
    json_finish(&json);
    if (fclose(out) != 0) {
        die("--json %s: %s", path, strerror(errno));
    }
}
