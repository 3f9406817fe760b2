#include "cli/ahead/trees/scan_window.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "cli/out/say.h"

#define FIRST   8   /* directories by each sorting, until it is known which is the scan's */
#define MOST    512 /* directories listed ahead */
#define IN_VAIN 64  /* directories that a scan may get and not use */

bool scan_is_directory(const struct stk_listing_name *name)
{
    return name->type == DT_DIR && strcmp(name->name, ".") != 0 && strcmp(name->name, "..") != 0;
}

static int compare(const void *one, const void *other)
{
    return strcmp(*(const char *const *)one, *(const char *const *)other);
}

static unsigned count_directories(const struct stk_listing *listing)
{
    size_t at = 0;
    unsigned count = 0;
    const struct stk_listing_name *name;
    while ((name = stk_listing_at(listing, &at)) != NULL) {
        count += scan_is_directory(name);
    }
    return count;
}

void scan_names_take(struct scan_names *names, const struct stk_listing *listing)
{
    size_t at = 0, bytes = count_directories(listing) * sizeof(char *);
    const struct stk_listing_name *name;
    names->count = 0;
    for (unsigned sorting = 0; sorting < SCAN_SORTINGS; sorting++) {
        names->in[sorting] = must_allocate(bytes + 1);
    }
    while ((name = stk_listing_at(listing, &at)) != NULL) {
        if (scan_is_directory(name)) {
            names->in[SCAN_AS_LISTED][names->count++] = name->name;
        }
    }
    memcpy(names->in[SCAN_BY_NAME], names->in[SCAN_AS_LISTED], bytes);
    qsort(names->in[SCAN_BY_NAME], names->count, sizeof(char *), compare);
}

void scan_names_free(struct scan_names *names)
{
    for (unsigned sorting = 0; sorting < SCAN_SORTINGS; sorting++) {
        free(names->in[sorting]);
    }
}

static unsigned find(const char *const *names, unsigned count, const char *leaf)
{
    unsigned at = 0;
    while (at < count && strcmp(names[at], leaf) != 0) {
        at++;
    }
    return at;
}

static void take_range(struct scan *scan, unsigned sorting, unsigned from, unsigned count)
{
    unsigned most = count - from;
    scan->from[sorting] = from;
    scan->to[sorting] = from + (scan->window < most ? scan->window : most);
    scan->listed += scan->to[sorting] - scan->from[sorting];
}

/* Returns the sorting by which the scan has come to the end of its range, or SCAN_SORTINGS. */
static unsigned followed_sorting(const struct scan *scan, const unsigned at[SCAN_SORTINGS])
{
    unsigned sorting = 0;
    while (sorting < SCAN_SORTINGS &&
           (scan->from[sorting] == scan->to[sorting] || at[sorting] != scan->to[sorting])) {
        sorting++;
    }
    return sorting;
}

static bool is_inside(const struct scan *scan, const unsigned at[SCAN_SORTINGS])
{
    bool inside = false;
    for (unsigned sorting = 0; sorting < SCAN_SORTINGS; sorting++) {
        inside = inside || (at[sorting] >= scan->from[sorting] && at[sorting] < scan->to[sorting]);
    }
    return inside;
}

static void begin_anew(struct scan *scan, const unsigned at[SCAN_SORTINGS], unsigned count)
{
    scan->window = FIRST;
    for (unsigned sorting = 0; sorting < SCAN_SORTINGS; sorting++) {
        take_range(scan, sorting, at[sorting] + 1, count);
    }
}

/* Lists further by the sorting that the scan follows, and empties the range of the other one. */
static void go_further(struct scan *scan, unsigned sorting, unsigned at, unsigned count)
{
    scan->followed += scan->window;
    scan->window = scan->window < MOST ? 2 * scan->window : MOST;
    scan->from[SCAN_SORTINGS - 1 - sorting] = scan->to[SCAN_SORTINGS - 1 - sorting] = 0;
    take_range(scan, sorting, at + 1, count);
}

bool scan_go_on(struct scan *scan, const struct scan_names *names, const char *leaf)
{
    unsigned at[SCAN_SORTINGS];
    for (unsigned sorting = 0; sorting < SCAN_SORTINGS; sorting++) {
        at[sorting] = find(names->in[sorting], names->count, leaf);
    }
    unsigned sorting = followed_sorting(scan, at);
    bool unknown = at[0] == names->count;
    if (unknown || is_inside(scan, at)) {
        return false;
    }
    if (sorting < SCAN_SORTINGS) {
        go_further(scan, sorting, at[sorting], names->count);
        return true;
    }
    if (scan->listed >= scan->followed + IN_VAIN) {
        return false;
    }
    begin_anew(scan, at, names->count);
    return true;
}
