/* Asks the cache at an open, counts the answer, and swaps entries into place. */
#include "preload/serve/open.h"

#include <fcntl.h>

#include "base/clock.h"
#include "base/sys.h"
#include "preload/change/restore.h"
#include "preload/coverage/entryfd.h"
#include "preload/interpose/guard.h"
#include "preload/serve/big_read.h"
#include "preload/serve/opened.h"

enum stk_open_kind stk_open_kind_of(int flags)
{
    const int changing = O_TRUNC | (O_TMPFILE & ~O_DIRECTORY);
    const int foreign = O_PATH | O_DIRECTORY | O_DIRECT | O_ASYNC | O_NOATIME;
    if ((flags & O_PATH) != 0) {
        return STK_OPEN_OTHER; /* the kernel ignores the other flags then */
    }
    if ((flags & O_ACCMODE) != O_RDONLY || (flags & changing) != 0) {
        return STK_OPEN_WRITE;
    }
    if ((flags & O_CREAT) != 0) {
        return STK_OPEN_MAKE;
    }
    return (flags & foreign) != 0 ? STK_OPEN_OTHER : STK_OPEN_READ;
}

static void begin_waiting(struct stk_serve *serve)
{
    if (serve->ask.began_ns == 0) {
        serve->ask.began_ns = stk_clock_boottime_ns();
    }
}

static int64_t waited_ns(const struct stk_serve *serve)
{
    return serve->ask.began_ns != 0 ? stk_clock_boottime_ns() - serve->ask.began_ns : 0;
}

/* Has the shared tier give the entry, without an open of the origin. */
static void fetch(struct stk_serve *serve)
{
    begin_waiting(serve);
    if (stk_cache_fetch(serve->cache, serve->place, serve->ask.entry, &serve->fetched)) {
        serve->answer = STK_ANSWER_HIT;
        serve->ask.record = serve->fetched.record;
        serve->ask.size = serve->fetched.size;
        serve->ask.tier = serve->fetched.tier;
        serve->ask.awaited = serve->fetched.awaited;
    }
}

enum stk_answer stk_serve_begin(struct stk_serve *serve, struct stk_cache *cache,
                                const struct stk_place *place, bool nofollow)
{
    serve->cache = cache;
    serve->place = place;
    serve->stream = false;
    stk_opened_note(place);
    serve->writings = stk_cache_writings(cache);
    serve->fetched.kind = STK_COUNT_HITS;
    serve->answer = stk_cache_lookup(cache, place, &serve->ask);
    if (serve->answer == STK_ANSWER_FILL && !nofollow) {
        fetch(serve);
    }
    if (serve->answer == STK_ANSWER_HIT && nofollow && !serve->ask.plain_leaf) {
        serve->answer = STK_ANSWER_ORIGIN;
        serve->ask.why = STK_BYPASS_FLAGS;
    }
    if (serve->answer == STK_ANSWER_HIT) {
        stk_entryfd_note(cache, serve->ask.record);
    } else {
        begin_waiting(serve);
    }
    return serve->answer;
}

/* Looks again whether the file is written. A writer may open the file between our look-up and the
 * entry's open. Either the writer sees that an entry may be open (preload/change/restore.h), or
 * this thread sees its mark here. */
static void look_again(const struct stk_serve *serve)
{
    struct stat stat;
    const struct stk_place *place = serve->place;
    if (stk_cache_writings(serve->cache) != serve->writings &&
        stk_sys_fstatat(place->dirfd, place->path, &stat, 0) == 0 && S_ISREG(stat.st_mode) &&
        stk_cache_is_written(serve->cache, place, &stat)) {
        stk_restore_origin(serve->cache, place->dirfd, place->path);
    }
}

/* Lets a transient entry go: it is open, or will not be opened. */
static void let_pass(struct stk_serve *serve, const struct stk_outcome *outcome)
{
    if (outcome->transient != NULL) {
        stk_transient_opened(outcome->transient);
    }
    if (outcome->transient != NULL && outcome->fetched) {
        stk_shared_requests_count(stk_run_shared_requests(&serve->cache->run),
                                  STK_SHARED_REQUESTS_PASSED, 1);
        stk_shared_requests_count(stk_run_shared_requests(&serve->cache->run),
                                  STK_SHARED_REQUESTS_PASSED_BYTES, outcome->size);
    }
}

void stk_serve_hit(struct stk_serve *serve)
{
    struct stk_outcome outcome = {.kind = STK_COUNT_HITS,
                                  .tier = serve->ask.tier,
                                  .record = serve->ask.record,
                                  .size = serve->ask.size,
                                  .wait_ns = waited_ns(serve),
                                  .awaited = serve->ask.awaited};
    if (serve->fetched.kind == STK_COUNT_FILLS) {
        outcome = serve->fetched;
        outcome.wait_ns = waited_ns(serve);
        let_pass(serve, &outcome);
    }
    look_again(serve);
    stk_cache_count(serve->cache, &outcome);
    if (serve->fetched.kind == STK_COUNT_FILLS) {
        stk_cache_note_fetched(serve->cache, serve->place);
    }
}

void stk_serve_hit_failed(struct stk_serve *serve, int error)
{
    serve->answer = STK_ANSWER_ORIGIN;
    serve->ask.why = STK_BYPASS_TIER;
    if (serve->fetched.kind == STK_COUNT_FILLS) {
        let_pass(serve, &serve->fetched);
    }
    if (error == ENOENT) {
        stk_cache_lost(serve->cache, &serve->ask);
        serve->answer = STK_ANSWER_FILL;
    }
    begin_waiting(serve);
}

/* The file that a number is. Finding it asks no server. */
struct file {
    bool known;
    uint64_t ino;
    uint32_t major, minor;
};

static struct file file_of(int fd)
{
    struct statx answer;
    if (stk_sys_statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &answer) != 0) {
        return (struct file){.known = false};
    }
    return (struct file){true, answer.stx_ino, answer.stx_dev_major, answer.stx_dev_minor};
}

/* Returns true if the number still is this file. Another thread may have closed it, and opened
 * another file, which dup3 would close. It still may in the moment between this look and dup3: the
 * kernel has no call that does both. */
static bool still_is(int fd, const struct file *file)
{
    struct file now = file_of(fd);
    return now.known && file->known && now.ino == file->ino && now.major == file->major &&
           now.minor == file->minor;
}

/* Puts the entry on the number that the origin's descriptor has. So the program gets the lowest
 * free number, as POSIX says, and other preloads see one open. */
static bool swap(const char *entry, int origin_fd, const struct file *origin, int flags)
{
    /* Close-on-exec until it has its number: another thread may be starting a program. */
    STK_OWNED_FD int fd = stk_sys_open_own(entry, flags | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    return still_is(origin_fd, origin) && stk_sys_dup3(fd, origin_fd, flags & O_CLOEXEC) >= 0;
}

static void fill(struct stk_serve *serve, int origin_fd, int flags, struct stk_outcome *outcome)
{
    char *entry = serve->ask.entry; /* the room for a hit's name, which this open was not */
    const struct file origin = file_of(origin_fd);
    if (!stk_cache_fill(serve->cache, serve->place, origin_fd, serve->ask.began_ns, entry,
                        outcome)) {
        return;
    }
    stk_entryfd_note(serve->cache, outcome->record);
    bool swapped = swap(entry, origin_fd, &origin, flags);
    let_pass(serve, outcome);
    if (swapped) {
        look_again(serve);
    } else if (outcome->kind == STK_COUNT_HITS) {
        outcome->kind = STK_COUNT_OPENS;
        outcome->why = STK_BYPASS_TIER;
    }
}

/* Completes a file for a stream, to which blocks are no use: it gets the entry, if the file is not
 * too large for that. */
static void finish_large(struct stk_serve *serve, int origin_fd, int flags,
                         struct stk_outcome *outcome)
{
    const struct file origin = file_of(origin_fd);
    struct stk_big *big = stk_big_hold(serve->cache, origin_fd);
    if (big == NULL) {
        return;
    }
    if (stk_big_finish(serve->cache, big, origin_fd)) {
        stk_entryfd_note(serve->cache, outcome->record);
        if (swap(big->entry, origin_fd, &origin, flags)) {
            outcome->kind = STK_COUNT_FILLS;
            outcome->why = STK_BYPASS_NONE;
            look_again(serve);
        }
    }
    stk_big_let_go(big);
}

/* Returns true if the file counts as too young. cache/file/fill.c checks the size first, of a
 * version that may not be remembered yet. Without blocks, size stays the reason. */
static bool is_young(const struct stk_serve *serve, const struct stk_outcome *outcome)
{
    return outcome->why == STK_BYPASS_LARGE &&
           stk_big_may_be(serve->cache, stk_path_leaf(serve->place->below)) &&
           stk_catalogue_record(&serve->cache->catalogue, outcome->record) == NULL;
}

static void open_large(struct stk_serve *serve, int origin_fd, int flags,
                       struct stk_outcome *outcome)
{
    bool blocks =
        stk_big_note(serve->cache, serve->place, outcome->record, origin_fd, serve->ask.began_ns);
    stk_big_expect(origin_fd);
    if (!blocks && stk_big_is_entry(serve->cache, outcome->record)) { /* since the look-up */
        fill(serve, origin_fd, flags, outcome);
    } else if (stk_big_await(serve->cache, origin_fd)) {
        fill(serve, origin_fd, flags, outcome);
        outcome->awaited = true;
    } else if (serve->stream) {
        finish_large(serve, origin_fd, flags, outcome);
    }
    if (blocks && outcome->why == STK_BYPASS_LARGE) {
        outcome->size = 0; /* its blocks are counted as they come */
    } else if (is_young(serve, outcome)) {
        outcome->why = STK_BYPASS_YOUNG;
    }
}

void stk_serve_end(struct stk_serve *serve, int origin_fd, int flags)
{
    struct stk_guard guard;
    struct stk_outcome outcome = {.kind = STK_COUNT_OPENS,
                                  .why = serve->ask.why,
                                  .record = serve->ask.record,
                                  .size = serve->ask.size};
    if (!stk_guard_enter(&guard)) {
        return;
    }
    if (serve->answer == STK_ANSWER_FILL) {
        fill(serve, origin_fd, flags, &outcome);
    }
    if (outcome.why == STK_BYPASS_LARGE) {
        open_large(serve, origin_fd, flags, &outcome);
    }
    outcome.wait_ns = waited_ns(serve);
    stk_cache_count(serve->cache, &outcome);
    stk_guard_leave(&guard);
}
