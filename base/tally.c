/* Maps the file of counters, and adds to it by atomic operations. */
#include "base/tally.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"

#define MAGIC UINT64_C(0x3a796c6c61746b73) /* changes with the layout */
#define BYTES 16384                        /* of the file */

/* As struct stk_tally_pass; but begun_ns has one added, and 0 means that no process has begun the
 * pass. */
struct pass {
    _Atomic uint64_t begun_ns, ended_ns, lasted_ns, waited_ns, samples, batches, expected, begins,
        workers;
};

/* As struct stk_tally_rank. */
struct rank_counts {
    _Atomic uint64_t lasted_ns, waited_ns, samples, batches;
};

/* As struct stk_tally_call. The process that sets the hash writes the name, and then that the name
 * is there. */
struct call {
    _Atomic uint64_t hash, is_named, ns;
    char name[STK_TALLY_CALL_NAME];
};

struct stk_tally {
    uint64_t magic;
    _Atomic uint64_t refused_python; /* at this very place: sitecustomize.py writes it */
    _Atomic uint64_t slots[STK_TALLY_SLOTS];
    _Atomic uint64_t granted_to; /* a hash of STOKER_DECODED and the pid namespace; 0: no grant */
    _Atomic uint64_t granted_bytes;
    _Atomic uint64_t asked;
    struct pass passes[STK_TALLY_LOADERS][STK_TALLY_PASSES];
    struct call calls[STK_TALLY_CALLS];
    struct stk_ranks ranks;
    struct rank_counts rank_rows[STK_RANKS];
};

_Static_assert(offsetof(struct stk_tally, refused_python) == 8, "where sitecustomize.py writes");

_Static_assert(sizeof(struct stk_tally) <= BYTES, "the slots have their room");

static const struct {
    const char *name, *meaning;
} texts[STK_TALLY_SLOTS] = {
#define COUNTER(slot, name, meaning) [STK_TALLY_##slot] = {name, meaning},
#include "base/tally.def"
#undef COUNTER
};

/* Writes the tally's path. A dot in front keeps the file out of the list of runs. */
bool stk_tally_path(char *out, size_t bytes, const char *run)
{
    const char *leaf = stk_path_leaf(run);
    struct stk_text path = stk_text_in(out, bytes);
    stk_text_add_bytes(&path, run, (size_t)(leaf - run));
    stk_text_add_char(&path, '.');
    stk_text_add(&path, leaf);
    stk_text_add(&path, ".decode");
    return !path.cut;
}

static struct stk_tally *map(int fd)
{
    return stk_sys_mmap(BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

/* Writes an empty tally. The file is allocated before it is touched: otherwise a full tmpfs would
 * mean a SIGBUS. */
static int initialise(int fd)
{
    int error = stk_sys_fallocate(fd, 0, BYTES);
    struct stk_tally *tally = error == 0 ? map(fd) : NULL;
    if (tally == NULL) {
        return error != 0 ? error : -ENOMEM;
    }
    tally->magic = MAGIC;
    stk_sys_munmap(tally, BYTES);
    return 0;
}

int stk_tally_create(const char *path)
{
    STK_OWNED_FD int fd = stk_sys_create(path, O_RDWR | O_EXCL, 0600);
    if (fd < 0) {
        return fd;
    }
    int error = initialise(fd);
    if (error != 0) {
        stk_sys_unlinkat(AT_FDCWD, path, 0);
    }
    return error;
}

static bool is_ours(int fd)
{
    struct stat stat;
    return stk_sys_fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) &&
           stat.st_uid == stk_sys_geteuid() && (stat.st_mode & 077) == 0 && stat.st_size == BYTES;
}

static struct stk_tally *map_known(int fd)
{
    struct stk_tally *tally = map(fd);
    if (tally != NULL && tally->magic != MAGIC) {
        stk_sys_munmap(tally, BYTES);
        return NULL;
    }
    return tally;
}

/* Copies the file into memory of its own. */
static struct stk_tally *copy(int fd)
{
    struct stk_tally *tally = stk_sys_memory(BYTES);
    if (tally != NULL && (stk_sys_pread(fd, tally, BYTES, 0) != BYTES || tally->magic != MAGIC)) {
        stk_sys_munmap(tally, BYTES);
        return NULL;
    }
    return tally;
}

/* Opens the file, and returns the result of `take`, or NULL if owner, mode or size are wrong. */
static struct stk_tally *open_by(const char *path, int flags, struct stk_tally *(*take)(int fd))
{
    STK_OWNED_FD int fd = stk_sys_openat(AT_FDCWD, path, flags | O_CLOEXEC | O_NOFOLLOW, 0);
    if (fd < 0) {
        return NULL;
    }
    return is_ours(fd) ? take(fd) : NULL;
}

struct stk_tally *stk_tally_open(const char *path)
{
    return open_by(path, O_RDWR, map_known);
}

struct stk_tally *stk_tally_look(const char *path)
{
    return open_by(path, O_RDONLY, copy);
}

static void add(_Atomic uint64_t *counter, uint64_t amount)
{
    atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}

void stk_tally_add(struct stk_tally *tally, enum stk_tally_slot slot, uint64_t count)
{
    add(&tally->slots[slot], count);
}

uint64_t stk_tally_read(const struct stk_tally *tally, enum stk_tally_slot slot)
{
    return atomic_load_explicit(&tally->slots[slot], memory_order_relaxed);
}

/* ---- passes ---- */

static struct pass *pass_at(const struct stk_tally *tally, unsigned loader, unsigned number)
{
    loader = loader < STK_TALLY_LOADERS ? loader : STK_TALLY_LOADERS - 1;
    number = number < STK_TALLY_PASSES ? number : STK_TALLY_PASSES - 1;
    return (struct pass *)(uintptr_t)&tally->passes[loader][number];
}

void stk_tally_begin_pass(struct stk_tally *tally, unsigned loader, unsigned number,
                          const struct stk_tally_pass *begin)
{
    struct pass *pass = pass_at(tally, loader, number);
    uint64_t at = atomic_load(&pass->begun_ns), begun = begin->begun_ns + 1;
    while ((at == 0 || at > begun) && !atomic_compare_exchange_weak(&pass->begun_ns, &at, begun)) {
    }
    add(&pass->begins, 1);
    add(&pass->expected, begin->expected);
    add(&pass->workers, begin->workers);
}

static void add_rank(struct stk_tally *tally, int rank, const struct stk_tally_pass *step)
{
    int row = stk_ranks_row(&tally->ranks, rank);
    if (row != STK_RANK_NONE) {
        struct rank_counts *sums = &tally->rank_rows[row];
        add(&sums->lasted_ns, step->lasted_ns);
        add(&sums->waited_ns, step->waited_ns);
        add(&sums->samples, step->samples);
        add(&sums->batches, step->batches);
    }
}

void stk_tally_add_pass(struct stk_tally *tally, unsigned loader, unsigned number, int rank,
                        const struct stk_tally_pass *step)
{
    struct pass *pass = pass_at(tally, loader, number);
    uint64_t at = atomic_load(&pass->ended_ns), ended = step->ended_ns;
    while (at < ended && !atomic_compare_exchange_weak(&pass->ended_ns, &at, ended)) {
    }
    add(&pass->lasted_ns, step->lasted_ns);
    add(&pass->waited_ns, step->waited_ns);
    add(&pass->samples, step->samples);
    add(&pass->batches, step->batches);
    add_rank(tally, rank, step);
}

void stk_tally_read_pass(const struct stk_tally *tally, unsigned loader, unsigned number,
                         struct stk_tally_pass *out)
{
    const struct pass *pass = pass_at(tally, loader, number);
    uint64_t begun = atomic_load(&pass->begun_ns);
    *out = (struct stk_tally_pass){
        .begun_ns = begun > 0 ? begun - 1 : 0,
        .ended_ns = atomic_load(&pass->ended_ns),
        .lasted_ns = atomic_load(&pass->lasted_ns),
        .waited_ns = atomic_load(&pass->waited_ns),
        .samples = atomic_load(&pass->samples),
        .batches = atomic_load(&pass->batches),
        .expected = atomic_load(&pass->expected),
        .begins = atomic_load(&pass->begins),
        .workers = atomic_load(&pass->workers),
    };
}

void stk_tally_read_all_passes(const struct stk_tally *tally, struct stk_tally_pass *out)
{
    *out = (struct stk_tally_pass){.batches = 0};
    for (unsigned loader = 0; tally != NULL && loader < STK_TALLY_LOADERS; loader++) {
        for (unsigned number = 0; number < STK_TALLY_PASSES; number++) {
            struct stk_tally_pass pass;
            stk_tally_read_pass(tally, loader, number, &pass);
            out->lasted_ns += pass.lasted_ns;
            out->waited_ns += pass.waited_ns;
            out->samples += pass.samples;
            out->batches += pass.batches;
        }
    }
}

int stk_tally_read_rank(const struct stk_tally *tally, unsigned row, struct stk_tally_rank *out)
{
    int rank = tally != NULL ? stk_ranks_at(&tally->ranks, row) : STK_RANK_NONE;
    *out = (struct stk_tally_rank){.samples = 0};
    if (rank != STK_RANK_NONE) {
        const struct rank_counts *sums = &tally->rank_rows[row];
        *out = (struct stk_tally_rank){.lasted_ns = atomic_load(&sums->lasted_ns),
                                       .waited_ns = atomic_load(&sums->waited_ns),
                                       .samples = atomic_load(&sums->samples),
                                       .batches = atomic_load(&sums->batches)};
    }
    return rank;
}

/* ---- calls ---- */

/* Returns true if the call has this hash, or had none and has it now. */
static bool is_of(struct call *call, uint64_t hash, const char *name)
{
    uint64_t seen = 0;
    if (atomic_compare_exchange_strong(&call->hash, &seen, hash)) {
        size_t length = strlen(name), most = sizeof call->name - 1; /* the rest is 0 already */
        memcpy(call->name, name, length < most ? length : most);
        atomic_store(&call->is_named, 1);
        return true;
    }
    return seen == hash;
}

void stk_tally_add_call(struct stk_tally *tally, const char *name, uint64_t ns)
{
    uint64_t hash = stk_hash_64(name, strlen(name), 0) | 1; /* never 0 */
    for (unsigned i = 0; i < STK_TALLY_CALLS; i++) {
        if (is_of(&tally->calls[i], hash, name)) {
            add(&tally->calls[i].ns, ns);
            return;
        }
    }
}

bool stk_tally_read_call(const struct stk_tally *tally, unsigned number, struct stk_tally_call *out)
{
    if (tally == NULL || number >= STK_TALLY_CALLS ||
        atomic_load(&tally->calls[number].is_named) == 0) {
        return false;
    }
    memcpy(out->name, tally->calls[number].name, sizeof out->name);
    out->name[sizeof out->name - 1] = '\0';
    out->ns = atomic_load(&tally->calls[number].ns);
    return true;
}

unsigned stk_tally_refused_python(const struct stk_tally *tally)
{
    return (unsigned)atomic_load(&tally->refused_python);
}

/* ---- the grant ---- */

/* Returns a hash of the store's name and the namespace, never 0. */
static uint64_t name_of_store(const char *samples)
{
    return stk_hash_64(samples, strlen(samples), stk_proc_pid_namespace()) | 1;
}

void stk_tally_grant(struct stk_tally *tally, const char *samples, uint64_t budget_bytes)
{
    atomic_store(&tally->granted_bytes, budget_bytes);
    atomic_store(&tally->granted_to, name_of_store(samples));
}

bool stk_tally_read_grant(const struct stk_tally *tally, const char *samples, uint64_t *out)
{
    if (atomic_load(&tally->granted_to) != name_of_store(samples)) {
        return false;
    }
    *out = atomic_load(&tally->granted_bytes);
    return true;
}

void stk_tally_revoke(struct stk_tally *tally)
{
    atomic_store(&tally->granted_bytes, 0);
}

void stk_tally_close(struct stk_tally *tally)
{
    stk_sys_munmap(tally, BYTES);
}

void stk_tally_ask(struct stk_tally *tally)
{
    if (atomic_load(&tally->asked) == 0 && atomic_exchange(&tally->asked, 1) == 0) {
        stk_sys_futex_wake_all(&tally->asked);
    }
}

bool stk_tally_wait(struct stk_tally *tally, int64_t limit_ns)
{
    if (atomic_load(&tally->asked) == 0) {
        stk_sys_futex_wait(&tally->asked, 0, limit_ns);
    }
    return atomic_exchange(&tally->asked, 0) != 0;
}

const char *stk_tally_name(enum stk_tally_slot slot)
{
    return texts[slot].name;
}

const char *stk_tally_meaning(enum stk_tally_slot slot)
{
    return texts[slot].meaning;
}
