#include "cache/run/notice.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/sys.h"
#include "base/text.h"

#define PATIENCE_NS       (2 * STK_NS_PER_S)
#define SHORT_PATIENCE_NS (STK_NS_PER_S / 50)
#define NAME_SEED         1
#define TOKEN_SEED        2

void stk_notice_address(struct stk_notice_address *out, const char *run)
{
    struct stk_hash128 name = stk_hash_128(run, strlen(run), NAME_SEED);
    struct stk_hash128 token = stk_hash_128(run, strlen(run), TOKEN_SEED);
    stk_text_print(out->name, sizeof out->name, "stoker-%016lx%016lx", name.high, name.low);
    out->token[0] = token.low;
    out->token[1] = token.high;
}

/* Waits for the answer to this notice. Signal handlers may run meanwhile. */
static int hear(int fd, const struct stk_notice *notice, int64_t until_ns)
{
    int result;
    struct stk_notice answer = {0};
    do {
        result = (int)stk_sys_receive(fd, &answer, sizeof answer);
    } while ((result >= 0 ? memcmp(&answer, notice, sizeof answer) != 0 : result == -EINTR) &&
             stk_clock_boottime_ns() < until_ns);
    return result >= 0 && memcmp(&answer, notice, sizeof answer) != 0 ? -EAGAIN : result;
}

/* Sends the notice and waits for its answer. Returns 0 or more, -ECONNREFUSED if nothing listens,
 * or another -errno. */
static int exchange(const struct stk_notice_address *to, const struct stk_notice *notice,
                    int64_t patience_ns)
{
    int64_t until_ns = stk_clock_boottime_ns() + patience_ns;
    STK_OWNED_FD int fd = stk_sys_datagram_socket(patience_ns);
    if (fd < 0) {
        return fd;
    }
    int result = stk_sys_connect_abstract(fd, to->name);
    while (result == 0 && (result = (int)stk_sys_send(fd, notice, sizeof *notice)) == -EINTR &&
           stk_clock_boottime_ns() < until_ns) {
        result = 0;
    }
    return result > 0 ? hear(fd, notice, until_ns) : result;
}

static int send_notice(struct stk_notice_run *run, uint64_t hash, uint32_t kind)
{
    static _Atomic uint32_t numbers;
    struct stk_notice notice = {.magic = STK_NOTICE_MAGIC, .hash = hash, .kind = kind};
    memcpy(notice.token, run->address.token, sizeof notice.token);
    notice.number = atomic_fetch_add(&numbers, 1);
    return exchange(&run->address, &notice,
                    atomic_load(&run->missed) ? SHORT_PATIENCE_NS : PATIENCE_NS);
}

bool stk_notices_reach(struct stk_notices *notices, const char *run)
{
    if (notices->count == STK_NOTICE_RUNS) {
        return false;
    }
    struct stk_notice_run *added = &notices->runs[notices->count];
    stk_notice_address(&added->address, run);
    int result = send_notice(added, 0, STK_NOTICE_GREETING);
    if (result == -ECONNREFUSED) {
        return false;
    }
    atomic_store(&added->missed, result < 0);
    notices->count++;
    return true;
}

/* Sends a change to a run. A notice that the run missed may have been of any file, so the next one
 * says first that everything was written. */
static void tell(struct stk_notice_run *run, uint64_t hash, enum stk_changes_kind kind)
{
    if (atomic_load(&run->missed) && send_notice(run, STK_CHANGES_EVERYTHING, STK_WRITTEN) >= 0) {
        atomic_store(&run->missed, false);
    }
    if (!atomic_load(&run->missed) && send_notice(run, hash, kind) < 0) {
        atomic_store(&run->missed, true);
    }
}

void stk_notices_tell(struct stk_notices *notices, uint64_t hash, enum stk_changes_kind kind)
{
    for (unsigned i = 0; i < notices->count; i++) {
        tell(&notices->runs[i], hash, kind);
    }
}
