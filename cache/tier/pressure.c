#include "cache/tier/pressure.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/walk.h"
#include "cache/catalogue/shm_floor.h"
#include "cache/origin/entry_name.h"

#define MIB           (INT64_C(1) << 20)
#define MOST_BYTES    (2048 * MIB)
#define PAUSE_NS      (STK_NS_PER_S / 10)
#define PAUSE_BYTES   (16 * MIB)
#define JOB_LOOKS     512
#define TAKEN_BYTES   20000 /* by a thread of the job while an entry goes */
#define GROUP_HOLD_NS STK_NS_PER_S

static int64_t within(int64_t number, int64_t least, int64_t most)
{
    return number < least ? least : number < most ? number : most;
}

/* ---- verdicts ---- */

/* The group of this process, which is looked up once a second: it may be moved to another. */
static uint64_t own_group(void)
{
    static _Atomic uint64_t group;
    static _Atomic int64_t looked_ns;
    int64_t now = stk_clock_boottime_ns();
    int64_t looked = atomic_load(&looked_ns);
    if (looked == 0 || (uint64_t)now - (uint64_t)looked > GROUP_HOLD_NS) {
        atomic_store(&group, stk_memory_group_id());
        atomic_store(&looked_ns, now);
    }
    return atomic_load(&group);
}

/* The verdict of this process's group; when all places are taken it shares another's. */
static struct stk_pressure *find_verdict(const struct stk_tier *tier)
{
    uint64_t group = (own_group() << 1 | tier->guarded) + 2; /* not 0 */
    for (unsigned i = 0; i < STK_PRESSURES; i++) {
        struct stk_pressure *one = &tier->shared->pressures[i];
        uint64_t seen = 0;
        if (atomic_load(&one->group) == group ||
            atomic_compare_exchange_strong(&one->group, &seen, group) || seen == group) {
            return one;
        }
    }
    return &tier->shared->pressures[group % STK_PRESSURES];
}

static uint32_t mark_of(uint64_t group)
{
    return (uint32_t)(group >> 32 ^ group);
}

/* Returns what the job may take while so many entries are removed. */
static int64_t taken_during(int64_t entries)
{
    return within(entries, 0, MOST_BYTES / TAKEN_BYTES) * TAKEN_BYTES;
}

/* How much must be left for entries to be admitted, and how much for them to stay. */
struct needs {
    int64_t admits, stays;
};

static struct needs needs_of(int64_t little, int64_t entries)
{
    int64_t taken = taken_during(entries);
    return (struct needs){little + taken, little / 2 + taken};
}

static struct needs machine_needs(const struct stk_tier *tier, const struct stk_memory_view *view)
{
    return needs_of(stk_memory_little(view->machine.total),
                    atomic_load(&tier->shared->budget.used_inodes));
}

/* Returns the needs of this group, which made at most so many of the tier's entries. Where no
 * command watches, few entries are admitted, and they go early. */
static struct needs group_needs(const struct stk_tier *tier, const struct stk_memory_view *view)
{
    int64_t total = view->group.total;
    int64_t own = atomic_load(&find_verdict(tier)->entries);
    int64_t all = atomic_load(&tier->shared->budget.used_inodes);
    return tier->guarded ? needs_of(stk_memory_little(total), own < all ? own : all)
                         : (struct needs){total - total / 8, total / 4};
}

static bool is_short(const struct stk_tier *tier, const struct stk_memory_view *view)
{
    return view->machine.available < machine_needs(tier, view).admits ||
           (view->group_id != 0 && view->group.available < group_needs(tier, view).admits);
}

bool stk_pressure_is_on(const struct stk_tier *tier)
{
    struct stk_memory_view view;
    stk_memory_look(&view);
    return is_short(tier, &view);
}

/* Looks at the memory. Where no command watches and too little is left, removes a bounded number of
 * entries. */
static bool look(const struct stk_tier *tier, bool pressed_before)
{
    int sixteenths = pressed_before ? STK_SHM_ADMITS_AGAIN : STK_SHM_ADMITS;
    struct stk_memory_view view;
    struct stk_excess excess;
    stk_memory_look(&view);
    bool pressed = is_short(tier, &view) ||
                   (tier->shared->jobs != 0 && stk_shm_room(tier->home, sixteenths) < 0);
    if (pressed && !tier->guarded && stk_pressure_excess(tier, &excess)) {
        stk_pressure_give_back(tier, &excess, JOB_LOOKS);
    }
    return pressed;
}

static void press(const struct stk_tier *tier, struct stk_pressure *verdict, bool pressed)
{
    if (atomic_exchange(&verdict->pressed, pressed) != 0 && !pressed) {
        stk_budget_try_again(&tier->shared->budget);
    }
}

bool stk_pressure_admits(const struct stk_tier *tier, int64_t bytes)
{
    if (tier->shared->memory == 0) {
        return true;
    }
    struct stk_pressure *verdict = find_verdict(tier);
    int64_t admitted = bytes + atomic_fetch_add(&verdict->admitted_bytes, bytes);
    int64_t now = stk_clock_boottime_ns();
    int64_t looked = atomic_load(&verdict->looked_ns);
    bool long_ago = (uint64_t)now - (uint64_t)looked > PAUSE_NS; /* or it is to come */
    if ((long_ago || (uint64_t)admitted > PAUSE_BYTES) &&
        atomic_compare_exchange_strong(&verdict->looked_ns, &looked, now)) {
        atomic_store(&verdict->admitted_bytes, 0);
        press(tier, verdict, look(tier, atomic_load(&verdict->pressed) != 0));
    }
    if (bytes > 0 && tier->shared->jobs != 0 && stk_shm_room(tier->home, STK_SHM_ADMITS) < bytes) {
        press(tier, verdict, true); /* there may be so little that it is looked at each time */
    }
    return atomic_load(&verdict->pressed) == 0;
}

uint32_t stk_pressure_mark(const struct stk_tier *tier)
{
    uint32_t mark = mark_of(own_group() << 1 | tier->guarded);
    return mark != 0 ? mark : 1;
}

/* ---- giving back ---- */

/* Writes the mark into the entry's times, which have no other use: a stat shows the origin's. A
 * directory or record could not hold it: entries outlive them, and other records adopt them. */
void stk_pressure_sign(const struct stk_tier *tier, const char *path)
{
    if (tier->shared->memory != 0) {
        stk_sys_set_mtime(path, (struct timespec){.tv_sec = mark_of(own_group())});
        atomic_fetch_add(&find_verdict(tier)->entries, 1);
    }
}

/* Returns how much has to be removed so that enough is left. Lowers `left` to what the job may take
 * until then. */
static int64_t excess_of(int64_t available, int64_t stays, int64_t wanted, int64_t *left)
{
    *left = available - stays < *left ? available - stays : *left;
    return available < stays ? wanted - available : 0;
}

static void add_shared_room(const struct stk_tier *tier, struct stk_excess *out)
{
    int64_t room = tier->shared->jobs != 0 ? stk_shm_room(tier->home, STK_SHM_STAYS) : 0;
    if (room < 0) {
        room = stk_shm_room(tier->home, STK_SHM_ADMITS);
    }
    if (-room > out->any) {
        out->any = -room;
        out->each = 0;
    }
}

bool stk_pressure_excess(const struct stk_tier *tier, struct stk_excess *out)
{
    struct stk_memory_view view;
    stk_memory_look(&view);
    struct needs needs = machine_needs(tier, &view);
    *out = (struct stk_excess){.left = INT64_MAX, .mark = mark_of(view.group_id)};
    out->any = excess_of(view.machine.available, needs.stays, needs.admits, &out->left);
    if (view.group_id != 0) {
        needs = group_needs(tier, &view);
        int64_t wanted = tier->guarded ? needs.admits : needs.stays;
        out->own = excess_of(view.group.available, needs.stays, wanted, &out->left);
    }
    out->each = tier->guarded ? TAKEN_BYTES : 0;
    add_shared_room(tier, out);
    return out->any > 0 || out->own > 0;
}

struct giving {
    const struct stk_tier *tier;
    struct stk_excess wanted;
    uint64_t bytes, looks_left;
    int64_t own;
};

static int give_one(void *context, int dirfd, const char *name, const struct stat *stat)
{
    struct giving *giving = context;
    struct stk_excess *wanted = &giving->wanted;
    bool own = (uint32_t)stat->st_mtime == wanted->mark && wanted->mark != 0;
    if (stk_entry_looks_like(name, stat) && (wanted->any > 0 || (own && wanted->own > 0)) &&
        stk_sys_unlinkat(dirfd, name, 0) == 0) {
        int64_t bytes = stat->st_blocks * STK_BLOCK_BYTES;
        giving->bytes += (uint64_t)bytes;
        wanted->any -= bytes + wanted->each;
        wanted->own -= own ? bytes + wanted->each : 0;
        giving->own += own;
        stk_tier_free(giving->tier->shared, stat->st_blocks, 1);
    }
    return (wanted->any <= 0 && wanted->own <= 0) || --giving->looks_left == 0;
}

static void give_of(const struct stk_tier *tier, const char *directory, struct giving *giving)
{
    char path[STK_HOME_BYTES + 8];
    if (stk_text_print(path, sizeof path, "%s%s", tier->home, directory) &&
        giving->looks_left > 0 && (giving->wanted.any > 0 || giving->wanted.own > 0)) {
        stk_walk(path, give_one, giving);
    }
}

/* So many of the group's entries have gone. */
static void forget(struct stk_pressure *verdict, int64_t gone)
{
    int64_t entries = atomic_load(&verdict->entries);
    while (!atomic_compare_exchange_weak(&verdict->entries, &entries,
                                         entries > gone ? entries - gone : 0)) {
    }
}

/* Entries first, then blocks of files that are not whole yet, which have names like theirs. */
uint64_t stk_pressure_give_back(const struct stk_tier *tier, const struct stk_excess *excess,
                                uint64_t most_looks)
{
    struct giving giving = {.tier = tier, .wanted = *excess, .looks_left = most_looks};
    give_of(tier, "/tree", &giving);
    give_of(tier, "/fill", &giving);
    bool all_gone = giving.wanted.own > 0 && giving.looks_left > 0;
    forget(find_verdict(tier), all_gone ? INT64_MAX : giving.own);
    return giving.bytes;
}
