/* Counters of decoded images. See base/tally.h. */
#include "base/tally.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/sys.h"
#include "base/text.h"

#define MAGIC UINT64_C(0x32796c6c61746b73) /* changes with the layout */
#define BYTES 4096                         /* of the file */

struct stk_tally {
    uint64_t magic;
    _Atomic uint64_t slots[STK_TALLY_SLOTS];
};

_Static_assert(sizeof(struct stk_tally) <= BYTES, "the slots have their room");

static const struct {
    const char *name, *meaning;
} texts[STK_TALLY_SLOTS] = {
    [STK_TALLY_IMAGES] = {"images", "decoded here"},
    [STK_TALLY_MODE] = {"mode", "not of three colours"},
    [STK_TALLY_SCANS] = {"scans", "progressive"},
    [STK_TALLY_DRAFT] = {"draft", "a smaller version was asked for"},
    [STK_TALLY_LENIENT] = {"lenient", "LOAD_TRUNCATED_IMAGES is on"},
    [STK_TALLY_STREAM] = {"stream", "not read from a plain file"},
    [STK_TALLY_DAMAGED] = {"damaged", "damaged or cut short"},
    [STK_TALLY_UNPROVEN] = {"unproven", "not proven to be the same with this Pillow"},
    [STK_TALLY_CUSTOMISED] = {"customised", "the program changed how images are loaded"},
    [STK_TALLY_RESIZED] = {"resized", "other images, resized here"},
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

const char *stk_tally_name(enum stk_tally_slot slot)
{
    return texts[slot].name;
}

const char *stk_tally_meaning(enum stk_tally_slot slot)
{
    return texts[slot].meaning;
}
