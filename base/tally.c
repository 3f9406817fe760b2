/* Counters of decoded images. See base/tally.h. */
#include "base/tally.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/path.h"
#include "base/samples.h"
#include "base/sys.h"
#include "base/text.h"

#define MAGIC UINT64_C(0x34796c6c61746b73) /* changes with the layout */
#define BYTES 4096                         /* of the file */

struct stk_tally {
    uint64_t magic;
    _Atomic uint64_t slots[STK_TALLY_SLOTS];
    _Atomic uint64_t granted_to; /* a hash of STOKER_SAMPLES and the pid namespace; 0: to nobody */
    _Atomic uint64_t granted_bytes; /* the lowest bit: at the first touch */
    _Atomic uint64_t asked;
};

_Static_assert(sizeof(struct stk_tally) <= BYTES, "the slots have their room");

static const struct {
    const char *name, *meaning;
} texts[STK_TALLY_SLOTS] = {
    [STK_TALLY_IMAGES] = {"images", "decoded here"},
    [STK_TALLY_MODE] = {"mode", "not of three colours"},
    [STK_TALLY_SCANS] = {"scans", "progressive"},
    [STK_TALLY_DRAFT] = {"draft", "a smaller version was asked for"},
    [STK_TALLY_LENIENT] = {"lenient", "damaged or cut short, with LOAD_TRUNCATED_IMAGES"},
    [STK_TALLY_STREAM] = {"stream", "not read from a plain file"},
    [STK_TALLY_DAMAGED] = {"damaged", "damaged or cut short"},
    [STK_TALLY_UNPROVEN] = {"unproven", "not proven to be the same with this Pillow"},
    [STK_TALLY_CUSTOMISED] = {"customised", "the program changed how images are loaded"},
    [STK_TALLY_RESIZED] = {"resized", "other images, resized here"},
    [STK_TALLY_FORMS] = {"forms", "forms made and kept"},
    [STK_TALLY_FORM_BYTES] = {"form_bytes", "bytes of these"},
    [STK_TALLY_FROM_FORMS] = {"from_forms", "decoded from a form"},
    [STK_TALLY_UNREAD] = {"unread", "decoded without reading the file"},
    [STK_TALLY_UNREAD_BYTES] = {"unread_bytes", "bytes of files that were not read"},
    [STK_TALLY_JPEG_NS] = {"jpeg_ns", "nanoseconds of decoding JPEGs"},
    [STK_TALLY_JPEG_BYTES] = {"jpeg_bytes", "bytes of these"},
    [STK_TALLY_FORM_NS] = {"form_ns", "nanoseconds of decoding forms"},
    [STK_TALLY_FORM_JPEG_BYTES] = {"form_jpeg_bytes", "bytes of the JPEGs they stand for"},
    [STK_TALLY_BATCHES] = {"batches", "batches through slots"},
    [STK_TALLY_ROWS] = {"rows", "samples made in their batch's slot"},
    [STK_TALLY_COPIED] = {"copied", "tensors put into a slot when they were sent"},
    [STK_TALLY_BATCH_KIND] = {"kind", "not just values in ordinary memory"},
    [STK_TALLY_BATCH_SHARED] = {"shared", "in shared memory already"},
    [STK_TALLY_BATCH_PART] = {"part", "a small part of something larger"},
    [STK_TALLY_BATCH_ROOM] = {"room", "no slot could be had"},
};

/* A dot in front keeps it out of the list of runs. */
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

/* Allocated before it is touched: a full tmpfs must not become a SIGBUS. */
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
    int fd =
        stk_sys_openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return fd;
    }
    int error = initialise(fd);
    stk_sys_close(fd);
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

struct stk_tally *stk_tally_open(const char *path)
{
    int fd = stk_sys_openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
    if (fd < 0) {
        return NULL;
    }
    struct stk_tally *tally = is_ours(fd) ? map(fd) : NULL;
    stk_sys_close(fd);
    if (tally != NULL && tally->magic != MAGIC) {
        stk_sys_munmap(tally, BYTES);
        return NULL;
    }
    return tally;
}

void stk_tally_add(struct stk_tally *tally, enum stk_tally_slot slot, uint64_t count)
{
    atomic_fetch_add_explicit(&tally->slots[slot], count, memory_order_relaxed);
}

uint64_t stk_tally_read(const struct stk_tally *tally, enum stk_tally_slot slot)
{
    return atomic_load_explicit(&tally->slots[slot], memory_order_relaxed);
}

/* Never 0. */
static uint64_t name_of_store(const char *samples)
{
    return stk_hash_64(samples, strlen(samples), stk_samples_namespace()) | 1;
}

void stk_tally_grant(struct stk_tally *tally, const char *samples,
                     const struct stk_tally_grant *grant)
{
    uint64_t bytes = grant->budget_bytes & ~UINT64_C(1);
    atomic_store(&tally->granted_bytes, bytes | grant->at_first_touch);
    atomic_store(&tally->granted_to, name_of_store(samples));
}

bool stk_tally_read_grant(const struct stk_tally *tally, const char *samples,
                          struct stk_tally_grant *out)
{
    if (atomic_load(&tally->granted_to) != name_of_store(samples)) {
        return false;
    }
    uint64_t bytes = atomic_load(&tally->granted_bytes);
    *out = (struct stk_tally_grant){bytes & ~UINT64_C(1), bytes & 1};
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
