/* What a verification found. See cli/found.h. */
#include "cli/found.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json.h"
#include "cli/say.h"

/* ---- noting ---- */

void found_note_difference(struct found *found, const struct compared *compared, const char *home)
{
    if (found->count == found->room) {
        found->room = 2 * found->room + 16;
        found->names = realloc(found->names, found->room * sizeof *found->names);
        found->whats = realloc(found->whats, found->room * sizeof *found->whats);
        if (found->names == NULL || found->whats == NULL) {
            die("out of memory");
        }
    }
    char *what = compared->what != NULL ? must_copy(compared->what)
                                        : must_format("differs at byte %" PRIu64, compared->at);
    found->names[found->count] = must_copy(compared->origin);
    found->whats[found->count++] =
        compared->others ? must_format("in %s %s", home, what) : must_copy(what);
    free(what);
}

void found_note(struct found *found, enum found_kind kind, const struct compared *compared,
                const char *home)
{
    found->ends[kind][compared->end]++;
    found->bytes += compared->bytes;
    if (compared->end == COMPARE_DIFFERS) {
        found->failed += !compared->dropped && !compared->others;
        found->others += compared->others;
        found_note_difference(found, compared, home);
    }
}

uint64_t found_count(const struct found *found, enum compare_end end)
{
    uint64_t count = 0;
    for (int kind = 0; kind < FOUND_KINDS; kind++) {
        count += found->ends[kind][end];
    }
    return count;
}

uint64_t found_done(const struct found *found)
{
    uint64_t done = 0;
    for (int end = 0; end < COMPARE_ENDS; end++) {
        done += found_count(found, (enum compare_end)end);
    }
    return done;
}

/* ---- telling ---- */

int found_status(const struct found *found)
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

static void say_trouble(const struct found *found)
{
    if (found->failed > 0) {
        say("%" PRIu64 " could not be dropped: `stoker clear` removes the cache", found->failed);
    }
    if (found->others > 0) {
        say("%" PRIu64
            " differed in homes of other members, who alone can drop them: tell them, or "
            "do without --share",
            found->others);
    }
    if (found->closed > 0) {
        say("%" PRIu64 " directories of the cache could not be looked into", found->closed);
    }
}

void found_print(const struct found *found)
{
    char size[STK_SIZE_TEXT];
    for (unsigned i = 0; i < found->count; i++) {
        say_line(stdout, "%s: the copy %s", found->names[i], found->whats[i]);
    }
    printf("%" PRIu64 " copies right (%s), %" PRIu64 " differed%s\n",
           found_count(found, COMPARE_RIGHT), size_text(size, found->bytes),
           found_count(found, COMPARE_DIFFERS),
           found_count(found, COMPARE_DIFFERS) == 0 ? ""
           : found->failed + found->others == 0     ? ": dropped"
                                                    : "");
    if (found->forms.right > 0 || found->forms.differ > 0) {
        printf("%" PRIu64 " samples of images right (%s of JPEGs), %" PRIu64 " differed\n",
               found->forms.right, size_text(size, found->forms.bytes), found->forms.differ);
    }
    print_line(found_count(found, COMPARE_CHANGED),
               "of versions that are not the origin's any more");
    print_line(found_count(found, COMPARE_GONE), "of files that are gone, or not mounted here");
    print_line(found_count(found, COMPARE_UNREADABLE), "whose origin could not be read");
    print_line(found->passed_over, "copies were not looked at (--sample)");
    if (found->none && found->forms.right + found->forms.differ == 0) {
        puts("  nothing is cached there: `stoker ls` shows what is, and where");
    }
    fflush(stdout);
    say_trouble(found);
}

static void write_kind(FILE *out, const char *name, const uint64_t ends[COMPARE_ENDS])
{
    fprintf(out,
            "  \"%s\": {\"right\": %" PRIu64 ", \"differ\": %" PRIu64 ", \"changed\": %" PRIu64
            ", \"gone\": %" PRIu64 ", \"unreadable\": %" PRIu64 "},\n",
            name, ends[COMPARE_RIGHT], ends[COMPARE_DIFFERS], ends[COMPARE_CHANGED],
            ends[COMPARE_GONE], ends[COMPARE_UNREADABLE]);
}

void found_write_json(const struct found *found, const char *path)
{
    FILE *out = fopen(path, "we");
    if (out == NULL) {
        die("--json %s: %s", path, strerror(errno));
    }
    fprintf(out, "{\n");
    write_kind(out, "entries", found->ends[FOUND_ENTRY]);
    write_kind(out, "listings", found->ends[FOUND_LISTING]);
    write_kind(out, "blocks", found->ends[FOUND_BLOCKS]);
    fprintf(out, "  \"samples\": {\"right\": %" PRIu64 ", \"differ\": %" PRIu64 "},\n",
            found->forms.right, found->forms.differ);
    fprintf(out,
            "  \"bytes\": %" PRIu64 ", \"not_looked_at\": %" PRIu64 ", \"not_dropped\": %" PRIu64
            ",\n  \"differing\": ",
            found->bytes, found->passed_over, found->failed + found->others);
    json_strings(out, found->names, found->count);
    fprintf(out, "\n}\n");
    if (fclose(out) != 0) {
        die("--json %s: %s", path, strerror(errno));
    }
}
