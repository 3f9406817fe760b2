/* How much memory could still be used. See base/memory.h. */
#include "base/memory.h"

#include <string.h>

#include "base/proc.h"
#include "base/text.h"

#define GROUP_BYTES 1024

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The number behind `name` at the start of a line of `text`; `otherwise` when there is none. */
static int64_t number_after(const char *text, const char *name, int64_t otherwise)
{
    size_t length = strlen(name);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) == 0) {
            const char *at = line + length + strspn(line + length, " \t");
            uint64_t number;
            return stk_text_take_number(&at, &number) && number < INT64_MAX ? (int64_t)number
                                                                            : otherwise;
        }
    }
    return otherwise;
}

/* `name` is the start of a line of /proc/meminfo; in bytes. */
static int64_t meminfo(const char *name)
{
    char text[2048];
    if (stk_proc_read_text("/proc/meminfo", text, sizeof text) < 0) {
        return INT64_MAX;
    }
    int64_t kib = number_after(text, name, INT64_MAX);
    return kib < INT64_MAX / 1024 ? kib * 1024 : INT64_MAX;
}

static long read_group_file(const char *group, const char *leaf, char *text, size_t bytes)
{
    char path[GROUP_BYTES + 64];
    struct stk_text name = stk_text_in(path, sizeof path);
    stk_text_add(&name, group);
    stk_text_add(&name, leaf);
    return name.cut ? -1 : stk_proc_read_text(path, text, bytes);
}

static int64_t group_number(const char *group, const char *leaf)
{
    char text[64];
    const char *at = text;
    uint64_t number;
    if (read_group_file(group, leaf, text, sizeof text) <= 0 ||
        !stk_text_take_number(&at, &number) || number >= INT64_MAX / 2) {
        return INT64_MAX; /* "max", v1's huge number, or no such file */
    }
    return (int64_t)number;
}

/* What one group leaves: its limit, less what it uses and could not give back by dropping files;
 * without `usage_leaf` the limit itself. */
static int64_t group_headroom(const char *group, const char *limit_leaf, const char *usage_leaf)
{
    char stat[4096];
    int64_t limit = group_number(group, limit_leaf);
    if (usage_leaf == NULL) {
        return limit;
    }
    int64_t usage = group_number(group, usage_leaf);
    if (limit == INT64_MAX || usage == INT64_MAX) {
        return INT64_MAX;
    }
    if (read_group_file(group, "/memory.stat", stat, sizeof stat) > 0) {
        usage -= number_after(stat, "inactive_file", 0) + number_after(stat, "active_file", 0);
        usage = usage > 0 ? usage : 0;
    }
    return limit > usage ? limit - usage : 0;
}

/* The smallest headroom of a group and of all groups above it, up to the mount point. */
static int64_t chain_headroom(char *group, size_t mount_length, const char *limit_leaf,
                              const char *usage_leaf)
{
    int64_t least = INT64_MAX;
    for (;;) {
        least = smaller(least, group_headroom(group, limit_leaf, usage_leaf));
        char *slash = strrchr(group, '/');
        if (slash == NULL || (size_t)(slash - group) < mount_length) {
            return least;
        }
        *slash = '\0';
    }
}

/* `prefix` is how the wanted line of /proc/self/cgroup goes on behind its first colon. */
static int64_t hierarchy_headroom(const char *groups, const char *prefix, const char *mount,
                                  const char *limit_leaf, const char *usage_leaf)
{
    char group[GROUP_BYTES];
    const char *at = strstr(groups, prefix);
    if (at == NULL) {
        return INT64_MAX;
    }
    at += strlen(prefix);
    struct stk_text path = stk_text_in(group, sizeof group);
    stk_text_add(&path, mount);
    stk_text_add_bytes(&path, at, strcspn(at, "\n"));
    return path.cut ? INT64_MAX : chain_headroom(group, strlen(mount), limit_leaf, usage_leaf);
}

static int64_t smallest(int64_t machine, const char *v2_usage, const char *v1_usage)
{
    char groups[4096];
    if (stk_proc_read_text("/proc/self/cgroup", groups, sizeof groups) < 0) {
        return machine;
    }
    int64_t v2 = hierarchy_headroom(groups, "0::", "/sys/fs/cgroup", "/memory.max", v2_usage);
    int64_t v1 = hierarchy_headroom(groups, ":memory:", "/sys/fs/cgroup/memory",
                                    "/memory.limit_in_bytes", v1_usage);
    return smaller(machine, smaller(v1, v2));
}

int64_t stk_memory_available_bytes(void)
{
    return smallest(meminfo("MemAvailable:"), "/memory.current", "/memory.usage_in_bytes");
}

int64_t stk_memory_total_bytes(void)
{
    return smallest(meminfo("MemTotal:"), NULL, NULL);
}
