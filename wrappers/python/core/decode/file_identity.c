#include "wrappers/python/core/decode/file_identity.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/clock.h"
#include "base/local.h"
#include "base/options.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/volume.h"

#define VERSION    3 /* changes with what is hashed */
#define PATH_BYTES 4096

#ifndef AT_STATX_FORCE_SYNC
#define AT_STATX_FORCE_SYNC 0x2000
#endif

/* The hashed bytes, without gaps. */
struct label {
    uint64_t version;
    uint64_t volume; /* images take turns on one loop device */
    struct identity_state state;
    /* Some mounts make up inode numbers and give them to other files later, so the path counts. An
     * entry has no path here: its own inode, and the time when that changed, distinguish it from
     * all earlier files. */
    char path[PATH_BYTES];
};

_Static_assert(offsetof(struct label, path) == 9 * sizeof(uint64_t), "no gaps");

static int64_t min_age_ns;
static int64_t quiet_ns; /* after so long what was stored to a file is seen in its times */
static bool writes_out;

/* ---- how old ---- */

/* A setting of the kernel's, in hundredths of a second. */
static int64_t kernel_setting_ns(const char *path, int64_t otherwise)
{
    char text[32];
    const char *at = text;
    uint64_t number;
    bool known = stk_proc_read_text(path, text, sizeof text) > 0 &&
                 stk_text_take_number(&at, &number) && number <= UINT32_MAX;
    return known ? (int64_t)number * (STK_NS_PER_S / 100) : otherwise;
}

/* Returns how long a page may wait until it is written. Then it is also protected, so that the
 * kernel notes the next store to it. By default this is a minute. */
static int64_t longest_wait_ns(void)
{
    int64_t expiry = kernel_setting_ns("/proc/sys/vm/dirty_expire_centisecs", 30 * STK_NS_PER_S);
    int64_t round = kernel_setting_ns("/proc/sys/vm/dirty_writeback_centisecs", 5 * STK_NS_PER_S);
    return round == 0 ? INT64_MAX / 2 : expiry + 2 * round + 20 * STK_NS_PER_S;
}

void identity_begin(int64_t age_ns)
{
    int64_t usual = 0;
    stk_text_parse_seconds(stk_option_table[STK_OPTION_MIN_AGE].otherwise, &usual);
    min_age_ns = age_ns;
    quiet_ns = longest_wait_ns();
    writes_out = age_ns < usual;
}

/* Returns true if the file's times will show any change from now on. */
static bool is_quiet(int fd, const struct identity_state *state)
{
    int64_t latest = state->mtime_ns > state->ctime_ns ? state->mtime_ns : state->ctime_ns;
    int64_t now = stk_clock_realtime_ns();
    if (latest > now - min_age_ns) {
        return false;
    }
    /* The pages of a file that looks old may wait all the same: the clock may have been stepped. */
    return state->entry_ino != 0 ||
           ((latest <= now - quiet_ns || writes_out) && stk_sys_write_out(fd) == 0);
}

/* ---- which file ---- */

static int64_t to_ns(int64_t seconds, int64_t nanoseconds)
{
    /* A time that does not fit must not make a file look old, as 0 would. */
    return seconds < 0 || seconds > INT64_MAX / STK_NS_PER_S - 1
               ? INT64_MAX
               : seconds * STK_NS_PER_S + nanoseconds;
}

static void take_stat(struct identity_state *out, const struct stat *stat)
{
    out->dev = stat->st_dev;
    out->ino = stat->st_ino;
    out->size = (uint64_t)stat->st_size;
    out->mtime_ns = to_ns(stat->st_mtim.tv_sec, stat->st_mtim.tv_nsec);
    out->ctime_ns = to_ns(stat->st_ctim.tv_sec, stat->st_ctim.tv_nsec);
}

/* Calls libc's symbol, which the preload interposes: for an entry it gives the origin's state. */
static bool ask_kernel(int fd, struct identity_mark *out)
{
    struct stat stat, own;
    if (fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode) || stk_sys_fstat(fd, &own) != 0) {
        return false;
    }
    if (own.st_dev != stat.st_dev || own.st_ino != stat.st_ino) {
        out->own_dev = own.st_dev;
        out->state.entry_ino = own.st_ino;
        out->state.entry_ctime_ns = to_ns(own.st_ctim.tv_sec, own.st_ctim.tv_nsec);
    }
    take_stat(&out->state, &stat);
    return true;
}

static void take_statx(struct identity_state *out, const struct statx *stat)
{
    out->dev = (uint64_t)stat->stx_dev_major << 32 | stat->stx_dev_minor;
    out->ino = stat->stx_ino;
    out->size = stat->stx_size;
    out->mtime_ns = to_ns(stat->stx_mtime.tv_sec, stat->stx_mtime.tv_nsec);
    out->ctime_ns = to_ns(stat->stx_ctime.tv_sec, stat->stx_ctime.tv_nsec);
}

static bool ask_server(int fd, struct identity_state *out)
{
    struct statx stat;
    int error =
        stk_sys_statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &stat);
    if (error != 0 || !S_ISREG(stat.stx_mode)) {
        return false;
    }
    take_statx(out, &stat);
    return true;
}

/* Returns the length of the path, which is not terminated; 0 if it is not known. */
static size_t read_path(int fd, char *out)
{
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = stk_sys_readlinkat(AT_FDCWD, link, out, PATH_BYTES);
    return length > 0 && length < PATH_BYTES ? (size_t)length : 0;
}

/* Reads the file's present state, and its file system. */
static bool ask(int fd, struct statfs *fs, struct identity_mark *out)
{
    *out = (struct identity_mark){.own_dev = 0};
    if (stk_sys_fstatfs(fd, fs) != 0) {
        return false;
    }
    out->is_local = stk_local_is(fs);
    return out->is_local ? ask_kernel(fd, out) : ask_server(fd, &out->state);
}

/* By what the file says of itself. */
static bool is_by_itself(int fd, struct identity *out)
{
    struct statfs fs;
    struct label label;
    struct identity_mark *mark = &out->mark;
    out->is_sure = true;
    if (!ask(fd, &fs, mark) || (stk_local_is_memory(&fs) && mark->state.entry_ino == 0) ||
        !is_quiet(fd, &mark->state)) {
        return false;
    }
    bool is_entry = mark->state.entry_ino != 0;
    size_t length = is_entry ? 0 : read_path(fd, label.path);
    label.version = VERSION;
    label.volume = stk_volume_of_fd(fd, &fs);
    label.state = mark->state;
    out->link = stk_hash_128(&label, offsetof(struct label, path) + length, 0);
    return is_entry || length > 0;
}

#pragma weak stoker_identity_api

/* The preload, if it is there, and speaks as we do. */
static const struct stk_identity_api *preload(void)
{
    const struct stk_identity_api *api = &stoker_identity_api;
    return api != NULL && api->version == STK_IDENTITY_API_VERSION ? api : NULL;
}

/* As the kernel knows the descriptor's own file; no server is asked. */
static bool look(int fd, struct identity_state *out)
{
    struct statx stat;
    int error = stk_sys_statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &stat);
    if (error != 0) {
        return false;
    }
    take_statx(out, &stat);
    out->dev = makedev(stat.stx_dev_major, stat.stx_dev_minor);
    return true;
}

int64_t identity_file_bytes(int fd)
{
    struct statx stat;
    int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
    bool known = stk_sys_statx(fd, "", flags, STATX_TYPE | STATX_SIZE, &stat) == 0 &&
                 S_ISREG(stat.stx_mode) && stat.stx_size <= INT64_MAX;
    return known ? (int64_t)stat.stx_size : -1;
}

static void take_answer(const struct stk_identity_answer *answer, struct identity *out)
{
    struct identity_mark *mark = &out->mark;
    out->link = answer->link;
    out->is_sure = answer->is_sure;
    if (answer->is_entry) {
        mark->own_dev = mark->state.dev;
        mark->state.entry_ino = mark->state.ino;
        mark->state.entry_ctime_ns = mark->state.ctime_ns;
    }
}

static bool is_answered(int fd, enum stk_identity_ask how, struct identity *out)
{
    struct stk_identity_answer answer;
    const struct stk_identity_api *api = preload();
    *out = (struct identity){.mark = {.is_local = 1}};
    if (api == NULL || !api->link(fd, how, &answer) || !look(fd, &out->mark.state)) {
        return false;
    }
    take_answer(&answer, out);
    return true;
}

/* Asks the preload first: it knows more of a covered file than the file's own attributes say. */
bool identity_of(int fd, enum stk_identity_ask how, struct identity *out)
{
    if (!is_answered(fd, how, out)) {
        return is_by_itself(fd, out);
    }
    return out->mark.own_dev != 0 || is_quiet(fd, &out->mark.state);
}

bool identity_of_path(const char *path, enum stk_identity_ask how, struct identity *out)
{
    struct stk_identity_answer answer;
    const struct stk_identity_api *api = preload();
    *out = (struct identity){.is_sure = false};
    bool known = api != NULL && api->link_path(path, how, &answer);
    if (known) {
        take_answer(&answer, out);
    }
    return known;
}

void identity_tell_served(const char *path)
{
    const struct stk_identity_api *api = preload();
    if (api != NULL) {
        api->served(path);
    }
}

void identity_tell_decoded(int fd, bool kept, char *entry, size_t room)
{
    const struct stk_identity_api *api = preload();
    if (api != NULL) {
        api->decoded(fd, kept, entry, room);
    } else if (room > 0) {
        *entry = '\0';
    }
}

void identity_tell_kept(const char *entry)
{
    const struct stk_identity_api *api = preload();
    if (api != NULL) {
        api->kept(entry);
    }
}

bool identity_note_opens(struct stk_opened *opened)
{
    const struct stk_identity_api *api = preload();
    if (api != NULL) {
        api->note_opens(opened);
    }
    return api != NULL;
}

/* The descriptor's own file. */
static bool is_same_file(int fd, const struct identity_mark *mark)
{
    struct identity_state own = {.entry_ino = 0};
    const struct identity_state *known = &mark->state;
    if (!look(fd, &own)) {
        return false;
    }
    return known->entry_ino != 0 ? own.dev == mark->own_dev && own.ino == known->entry_ino &&
                                       own.ctime_ns == known->entry_ctime_ns
                                 : memcmp(&own, known, sizeof own) == 0;
}

bool identity_holds(int fd, const struct identity_mark *mark)
{
    struct identity_state now = {.entry_ino = 0};
    return mark->is_local ? is_same_file(fd, mark)
                          : ask_server(fd, &now) && memcmp(&now, &mark->state, sizeof now) == 0;
}
