#include "cli/ahead/trees/scan_order.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "cli/out/say.h"

#define FIRST   8   /* directories in each order, until it is known which is the scan's */
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
    for (unsigned order = 0; order < SCAN_ORDERS; order++) {
        names->in[order] = must_allocate(bytes + 1);
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
    for (unsigned order = 0; order < SCAN_ORDERS; order++) {
        free(names->in[order]);
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

static void take_range(struct scan *scan, unsigned order, unsigned from, unsigned count)
{
    unsigned most = count - from;
    scan->from[order] = from;
    scan->to[order] = from + (scan->window < most ? scan->window : most);
    scan->listed += scan->to[order] - scan->from[order];
}

/* Returns the order in which the scan has come to the end of its range, or SCAN_ORDERS. */
static unsigned followed_order(const struct scan *scan, const unsigned at[SCAN_ORDERS])
{
    unsigned order = 0;
    while (order < SCAN_ORDERS &&
           (scan->from[order] == scan->to[order] || at[order] != scan->to[order])) {
        order++;
    }
    return order;
}

static bool is_inside(const struct scan *scan, const unsigned at[SCAN_ORDERS])
{
    bool inside = false;
    for (unsigned order = 0; order < SCAN_ORDERS; order++) {
        inside = inside || (at[order] >= scan->from[order] && at[order] < scan->to[order]);
    }
    return inside;
}

static void begin_anew(struct scan *scan, const unsigned at[SCAN_ORDERS], unsigned count)
{
    scan->window = FIRST;
    for (unsigned order = 0; order < SCAN_ORDERS; order++) {
        take_range(scan, order, at[order] + 1, count);
    }
}

/* Lists further in the order that the scan follows, and empties the range of the other order. */
static void go_further(struct scan *scan, unsigned order, unsigned at, unsigned count)
{
    scan->followed += scan->window;
    scan->window = scan->window < MOST ? 2 * scan->window : MOST;
    scan->from[SCAN_ORDERS - 1 - order] = scan->to[SCAN_ORDERS - 1 - order] = 0;
    take_range(scan, order, at + 1, count);
}

bool scan_go_on(struct scan *scan, const struct scan_names *names, const char *leaf)
{
    unsigned at[SCAN_ORDERS];
    for (unsigned order = 0; order < SCAN_ORDERS; order++) {
        at[order] = find(names->in[order], names->count, leaf);
    }
    unsigned order = followed_order(scan, at);
    bool unknown = at[0] == names->count;
    if (unknown || is_inside(scan, at)) {
        return false;
    }
    if (order < SCAN_ORDERS) {
        go_further(scan, order, at[order], names->count);
        return true;
    }
    if (scan->listed >= scan->followed + IN_VAIN) {
        return false;
    }
    begin_anew(scan, at, names->count);
    return true;
}
