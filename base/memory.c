/* Reads /proc/meminfo, and the limits and usage of control groups. */
#include "base/memory.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "base/least.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"

#define GROUP_BYTES 1024

#define MIB                (INT64_C(1) << 20)
#define LITTLE_SHARE       20
#define LEAST_LITTLE_BYTES (64 * MIB)
#define MOST_LITTLE_BYTES  (2048 * MIB)

/* Returns a value of /proc/meminfo in bytes. `name` is the start of its line. */
static int64_t meminfo(const char *name)
{
    char text[2048];
    if (stk_proc_read_text("/proc/meminfo", text, sizeof text) < 0) {
        return INT64_MAX;
    }
    int64_t kib = stk_text_number_after(text, name, INT64_MAX);
    return kib < INT64_MAX / 1024 ? kib * 1024 : INT64_MAX;
}

static long read_group_file(const char *group, const char *leaf, char *text, size_t bytes)
{
    char path[GROUP_BYTES + 64];
    return stk_text_print(path, sizeof path, "%s%s", group, leaf)
               ? stk_proc_read_text(path, text, bytes)
               : -1;
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

/* The files of one version of control groups. */
struct hierarchy {
    const char
        *prefix; /* how the wanted line of /proc/self/cgroup goes on behind its first colon */
    const char *mount, *limit_leaf, *usage_leaf;
};
static const struct hierarchy hierarchies[] = {
    {"0::", "/sys/fs/cgroup", "/memory.max", "/memory.current"},
    {":memory:", "/sys/fs/cgroup/memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes"},
};

/* Returns the room that one group leaves below its limit. Its usage counts, less what it could give
 * back by dropping files. */
static int64_t headroom(const struct hierarchy *hierarchy, const char *group, int64_t limit)
{
    char stat[4096];
    int64_t usage = group_number(group, hierarchy->usage_leaf);
    if (usage == INT64_MAX) {
        return INT64_MAX;
    }
    if (read_group_file(group, "/memory.stat", stat, sizeof stat) > 0) {
        usage -= stk_text_number_after(stat, "inactive_file", 0) +
                 stk_text_number_after(stat, "active_file", 0);
        usage = usage > 0 ? usage : 0;
    }
    return limit > usage ? limit - usage : 0;
}

static uint64_t id_of(const char *group)
{
    struct stat stat;
    if (stk_sys_fstatat(AT_FDCWD, group, &stat, 0) != 0) {
        return 0;
    }
    const uint64_t identity[2] = {stat.st_dev, stat.st_ino};
    return stk_hash_64(identity, sizeof identity, 0) | 1;
}

/* Looks at a group and all above it, up to the mount point. Without `room` only the name is
 * wanted. */
static void look_at_chain(const struct hierarchy *hierarchy, char *group,
                          struct stk_memory_view *out, bool room)
{
    for (;;) {
        int64_t limit = group_number(group, hierarchy->limit_leaf);
        if (limit != INT64_MAX && out->group_id == 0) {
            out->group_id = id_of(group);
        }
        if (limit != INT64_MAX && room) {
            out->group.total = stk_least_signed(out->group.total, limit);
            out->group.available =
                stk_least_signed(out->group.available, headroom(hierarchy, group, limit));
        }
        char *slash = strrchr(group, '/');
        bool named = out->group_id != 0 && !room;
        if (named || slash == NULL || (size_t)(slash - group) < strlen(hierarchy->mount)) {
            return;
        }
        *slash = '\0';
    }
}

static void look_at_groups(struct stk_memory_view *out, bool room)
{
    char groups[4096], group[GROUP_BYTES];
    out->group = (struct stk_memory){INT64_MAX, INT64_MAX};
    out->group_id = 0;
    if (stk_proc_read_text("/proc/self/cgroup", groups, sizeof groups) < 0) {
        return;
    }
    for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; i++) {
        const struct hierarchy *hierarchy = &hierarchies[i];
        const char *at = strstr(groups, hierarchy->prefix);
        struct stk_text path = stk_text_in(group, sizeof group);
        stk_text_add(&path, hierarchy->mount);
        if (at != NULL) {
            at += strlen(hierarchy->prefix);
            stk_text_add_bytes(&path, at, strcspn(at, "\n"));
        }
        if (at != NULL && !path.cut) {
            look_at_chain(hierarchy, group, out, room);
        }
    }
}

void stk_memory_look(struct stk_memory_view *out)
{
    out->machine = (struct stk_memory){meminfo("MemTotal:"), meminfo("MemAvailable:")};
    look_at_groups(out, true);
}

uint64_t stk_memory_group_id(void)
{
    struct stk_memory_view view;
    look_at_groups(&view, false);
    return view.group_id;
}

int64_t stk_memory_available_bytes(void)
{
    struct stk_memory_view view;
    stk_memory_look(&view);
    return stk_least_signed(view.machine.available, view.group.available);
}

int64_t stk_memory_total_bytes(void)
{
    struct stk_memory_view view;
    stk_memory_look(&view);
    return stk_least_signed(view.machine.total, view.group.total);
}

int64_t stk_memory_little(int64_t total_bytes)
{
    int64_t share = total_bytes / LITTLE_SHARE;
    return share < LEAST_LITTLE_BYTES ? LEAST_LITTLE_BYTES
                                      : stk_least_signed(share, MOST_LITTLE_BYTES);
}
