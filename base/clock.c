/* Reads the clocks, and the offset of the process's time namespace in /proc. */
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"

#define OFFSETS_BYTES 256

enum { NOT_ASKED, UNKNOWN, KNOWN, MOVING };

/* The offset of the time namespace that the process was in when it first asked for it. */
static _Atomic int64_t kept_ns;
static _Atomic int stage;

/* Reads a namespace's link in /proc. Returns its length, 0 if there is no such link, or -errno. */
static ssize_t read_namespace(const char *path, char out[64])
{
    memset(out, 0, 64);
    ssize_t length = stk_sys_readlinkat(AT_FDCWD, path, out, 63);
    return length == -ENOENT ? 0 : length;
}

/* Returns true if the process is in the namespace that its children get. The kernel gives only the
 * offset of the children's namespace. */
static bool is_in_that_of_children(void)
{
    char own[64], of_children[64];
    ssize_t length = read_namespace("/proc/self/ns/time", own);
    return length >= 0 &&
           length == read_namespace("/proc/self/ns/time_for_children", of_children) &&
           memcmp(own, of_children, sizeof own) == 0;
}

static bool take_part(const char **at, int64_t *out)
{
    uint64_t number;
    while (**at == ' ' || **at == '\t') {
        (*at)++;
    }
    bool negative = **at == '-';
    *at += negative;
    bool is_number = stk_text_take_number(at, &number);
    *out = is_number ? (negative ? -(int64_t)number : (int64_t)number) : 0;
    return is_number;
}

/* Parses the line "boottime  SECONDS  NANOSECONDS". The seconds may be negative. */
static bool parse_offset(const char *text, int64_t *out_ns)
{
    static const char name[] = "\nboottime";
    int64_t seconds, ns;
    const char *at = strstr(text, name);
    at = at != NULL ? at + strlen(name) : "";
    if (!take_part(&at, &seconds) || !take_part(&at, &ns)) {
        return false;
    }
    *out_ns = seconds * STK_NS_PER_S + ns;
    return true;
}

/* Reads the offset of the process's time namespace. Kernels before 5.6 have no such file and no
 * such namespaces: the offset is 0. */
static bool ask_offset(int64_t *out_ns)
{
    char text[OFFSETS_BYTES];
    *out_ns = 0;
    if (!is_in_that_of_children()) {
        return false;
    }
    STK_OWNED_FD int fd =
        stk_sys_openat(AT_FDCWD, "/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) {
        return fd == -ENOENT;
    }
    ssize_t length = stk_sys_read(fd, text, sizeof text - 1);
    text[length > 0 ? length : 0] = '\0';
    return parse_offset(text, out_ns);
}

static int settle(void)
{
    int64_t offset_ns;
    int now = ask_offset(&offset_ns) ? KNOWN : UNKNOWN, before = NOT_ASKED;
    if (now == KNOWN) {
        atomic_store(&kept_ns, offset_ns);
    }
    atomic_compare_exchange_strong(&stage, &before, now);
    return before == NOT_ASKED ? now : before;
}

/* Returns the namespace's offset. A process that has asked for another namespace mostly stays in
 * its own, and only its children get the other one. */
static int64_t offset(void)
{
    int64_t offset_ns;
    int at = atomic_load_explicit(&stage, memory_order_acquire);
    at = at == NOT_ASKED ? settle() : at;
    return at == MOVING && ask_offset(&offset_ns) ? offset_ns : atomic_load(&kept_ns);
}

int64_t stk_clock_of_machine_ns(int64_t told_ns)
{
    return told_ns - offset();
}

int64_t stk_clock_boottime_ns(void)
{
    return stk_clock_of_machine_ns(stk_sys_clock_ns(CLOCK_BOOTTIME));
}

bool stk_clock_is_known(void)
{
    offset();
    return atomic_load(&stage) != UNKNOWN;
}

void stk_clock_will_move(void)
{
    offset();
}

void stk_clock_has_moved(void)
{
    atomic_store(&stage, MOVING);
}
