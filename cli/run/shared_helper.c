#include "cli/run/shared_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cache/run/shared_request.h"
#include "cli/args/request_env.h"
#include "cli/os/thread.h"
#include "cli/out/say.h"
#include "cli/run/shared_helper_work.h"
#include "cli/run/transient_entries.h"

#define SETUP_MS 5000
#define STEP_NS  (STK_NS_PER_S / 100)
#define END_NS   (10 * STK_NS_PER_S) /* to publish the rest, with progress within: */
#define STUCK_NS (2 * STK_NS_PER_S)

static struct {
    struct session *session;
    struct stk_shared_requests *requests;
    struct stk_roots roots;
    struct shared_tier shared;
    pid_t pid; /* 0: there is no helper */
    int error; /* why there is none, or why it waits for the server, at the start */
    enum stk_shared_requests_state ended; /* the state before the end */
} helper;

/* ---- beginning ---- */

/* Returns the outcome of setting up; -ETIME: it has not answered. */
static int wait_for_setup(int in, int patience_ms)
{
    struct pollfd answer = {.fd = in, .events = POLLIN};
    struct shared_helper_setup setup = {.error = -ETIME, .gid = helper.shared.gid};
    strcpy(setup.home, helper.shared.directory); /* the home's name is the server's to say */
    int ready = poll(&answer, 1, patience_ms);
    while (ready < 0 && errno == EINTR) {
        ready = poll(&answer, 1, patience_ms);
    }
    if (ready > 0 && read(in, &setup, sizeof setup) != (ssize_t)sizeof setup) {
        setup.error = -ECHILD;
    }
    memcpy(helper.shared.home, setup.home, sizeof helper.shared.home);
    helper.shared.gid = setup.gid;
    return setup.error;
}

static void leave(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, WNOHANG);
}

/* A helper whose server fails stays, and tries again. */
static int start(struct session *session, int patience_ms)
{
    int ends[2];
    pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -errno;
    }
    pid_t pid = fork();
    if (pid == 0) {
        shared_helper_work(&session->catalogue, &session->run, &helper.roots, &helper.shared,
                           parent, ends[1]);
    }
    close(ends[1]);
    int error = pid > 0 ? wait_for_setup(ends[0], patience_ms) : -EAGAIN;
    close(ends[0]);
    if (pid > 0 && (error == 0 || shared_helper_tries_again(error))) {
        helper.pid = pid;
    } else if (pid > 0) {
        leave(pid);
    }
    return error;
}

/* Without an answer the requests are paused: the helper opens them when the server serves. */
static void settle_start(void)
{
    if (helper.pid == 0) {
        stk_shared_requests_close(helper.requests);
    } else if (helper.error == -ETIME) {
        stk_shared_requests_pause(helper.requests, STK_SHARED_REQUESTS_LATE);
    } else if (helper.error != 0) {
        atomic_store(&helper.requests->counts[STK_SHARED_REQUESTS_LAST_ERROR],
                     (uint64_t)-helper.error);
        stk_shared_requests_pause(helper.requests, STK_SHARED_REQUESTS_FAILED);
    }
}

static const char *reason_of(int error)
{
    switch (-error) {
    case ETIME:
        return "it does not answer";
    case EPERM:
        return "it belongs to another user";
    case ENOTUNIQ:
        return "it is writable by others";
    case EACCES:
        return "permission denied";
    case EROFS:
        return "read-only file system";
    default:
        return strerror(-error);
    }
}

/* Returns true if the user named the wrong directory. All other errors are of this user's home in
 * it, whose names another user may have taken. */
static bool is_typed(int error)
{
    return error == -ENOENT || error == -ENAMETOOLONG;
}

/* Says which roots the shared tier leaves out. If a volume is known by its mount only, other nodes
 * cannot find this node's entries. */
static void say_what_is_left_out(void)
{
    bool on_node = atomic_load(&helper.requests->on_node) != 0;
    for (unsigned i = 0; i < helper.roots.count; i++) {
        const struct stk_root *root = &helper.roots.roots[i];
        if (root->usable && !root->linked && !root->lasting && !on_node) {
            say("shared: files of %s are not exchanged: other nodes cannot name its volume",
                root->prefix);
        }
    }
}

static void say_begun(const struct request *request)
{
    char size[STK_SIZE_TEXT];
    const struct shared_tier *shared = &helper.shared;
    bool given = shared->budget_bytes >= 0;
    OWNED char *with = shared->gid != 0
                           ? must_format(" with group %s", request->share_name)
                           : must_copy(request->shared_by_group ? " with no group" : "");
    say("shared%s: %s%s%s; taken from there, and put there, is what is copied", with, shared->home,
        given ? ", at most " : "", given ? size_text(size, (uint64_t)shared->budget_bytes) : "");
    say_what_is_left_out();
}

static void resolve_roots(const struct request *request)
{
    OWNED char *paths = request_paths(request);
    stk_roots_spell(&helper.roots, paths);
    stk_roots_resolve(&helper.roots);
}

void shared_helper_begin(const struct request *request, struct session *session)
{
    helper.session = session;
    helper.requests = stk_run_shared_requests(&session->run);
    if (request->shared.directory[0] == '\0' || helper.requests == NULL) {
        return;
    }
    atomic_store(&helper.requests->patient, request->warm_only);
    helper.shared.gid = request->shared_by_group ? request->share_gid : 0;
    helper.shared.budget_bytes = request->shared.budget_bytes;
    strcpy(helper.shared.directory, request->shared.directory);
    resolve_roots(request);
    helper.error = start(session, request->shared_error == -ETIMEDOUT ? 0 : SETUP_MS);
    settle_start();
    if (helper.error != 0 && (is_typed(helper.error) || request->require_cache)) {
        session_undo(session);
        die("--tier %s, %s: %s: name another", helper.shared.directory,
            request->shared_by_group ? "which a group shares"
                                     : "on a file system that may be shared",
            reason_of(helper.error));
    }
}

void shared_helper_announce(const struct request *request)
{
    if (helper.error != 0) {
        say("shared: --tier %s: %s: going on without it%s", helper.shared.directory,
            reason_of(helper.error), helper.pid != 0 ? ", and trying again" : "");
    } else if (helper.pid != 0) {
        say_begun(request);
    }
}

/* ---- ending ---- */

static uint64_t progress(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < STK_SHARED_REQUESTS_LAST_ERROR; i++) {
        sum += atomic_load(&helper.requests->counts[i]);
    }
    return sum;
}

static bool has_ended(void)
{
    return waitpid(helper.pid, NULL, WNOHANG) != 0;
}

/* Waits as long as the helper makes progress; beside a job that ends, END_NS at most. Returns true
 * if it has ended. Notes a server that did not answer. */
static bool wait_for_end(void)
{
    int64_t began_ns = stk_clock_boottime_ns(), moved_ns = began_ns, now_ns = began_ns;
    uint64_t seen = progress();
    bool ended = has_ended();
    bool patient = atomic_load(&helper.requests->patient) != 0;
    while (!ended && (patient || now_ns - began_ns < END_NS) && now_ns - moved_ns < STUCK_NS) {
        thread_pause_since(began_ns);
        now_ns = stk_clock_boottime_ns();
        moved_ns = progress() != seen ? now_ns : moved_ns;
        seen = progress();
        ended = has_ended();
    }
    helper.ended = ended || now_ns - moved_ns < STUCK_NS ? helper.ended : STK_SHARED_REQUESTS_LATE;
    return ended;
}

/* Has a server that is left alone tried at once, and waits a moment for it: much may be left to put
 * there. */
static void wait_for_try(void)
{
    int64_t until_ns = stk_clock_boottime_ns() + STUCK_NS;
    stk_shared_requests_hurry(helper.requests);
    while (stk_shared_requests_are_paused(helper.requests) && stk_clock_boottime_ns() < until_ns) {
        nanosleep(&(struct timespec){0, STEP_NS}, NULL);
    }
}

/* Does not wait long for the helper: it may wait for a server, and then it may not even be
 * killed. */
void shared_helper_end(bool in_haste)
{
    if (helper.pid == 0) {
        return;
    }
    if (!in_haste) {
        wait_for_try();
    }
    helper.ended = stk_shared_requests_close(helper.requests);
    bool waits = !in_haste && helper.ended == STK_SHARED_REQUESTS_OPEN;
    if (!waits || !wait_for_end()) {
        leave(helper.pid);
        stk_shared_requests_count_left(helper.requests);
    }
    transient_drop_all(&helper.session->catalogue, &helper.session->run);
}

/* ---- what it came to ---- */

static uint64_t counted(enum stk_shared_requests_count what)
{
    return atomic_load(&helper.requests->counts[what]);
}

const char *shared_helper_fate_of_left(const struct session *session)
{
    bool memory = false, disk = false;
    for (unsigned i = 0; i < session->tier_count; i++) {
        *(session->tiers[i].shared->memory != 0 ? &memory : &disk) = true;
    }
    return !memory || session_is_kept(session) ? "the next run does"
           : disk ? "the next run does so with what is on a disk; the rest goes with the cache in "
                    "memory, unless --keep keeps it"
                  : "they go with the cache, unless --keep keeps it: then the next run does";
}

/* Says that the server was left alone, at the end or before. */
static void print_pauses(FILE *out)
{
    uint64_t pauses = counted(STK_SHARED_REQUESTS_PAUSES);
    if (helper.ended == STK_SHARED_REQUESTS_LATE) {
        fprintf(out, "  shared: it did not answer in time, and was left alone from then on\n");
    } else if (helper.ended == STK_SHARED_REQUESTS_FAILED) {
        fprintf(out, "  shared: it failed (%s), and was left alone from then on\n",
                strerror((int)counted(STK_SHARED_REQUESTS_LAST_ERROR)));
    } else if (pauses > 0) {
        fprintf(out,
                "  shared: it failed, or did not answer in time, and came back: %" PRIu64
                " time%s\n",
                pauses, pauses == 1 ? "" : "s");
    }
}

static void print_losses(FILE *out)
{
    print_pauses(out);
    if (counted(STK_SHARED_REQUESTS_FULL) > 0) {
        fprintf(out, "  shared: no room for " COUNTED ", or no right to write\n",
                COUNT_OF(counted(STK_SHARED_REQUESTS_FULL), "file", "files"));
    }
    if (counted(STK_SHARED_REQUESTS_DROPPED) > 0) {
        fprintf(out, "  shared: no time to put " COUNTED " there; %s\n",
                COUNT_OF(counted(STK_SHARED_REQUESTS_DROPPED), "file", "files"),
                shared_helper_fate_of_left(helper.session));
    }
    if (counted(STK_SHARED_REQUESTS_DAMAGED) > 0) {
        fprintf(out, "  shared: %" PRIu64 " damaged %s read from the originals\n",
                counted(STK_SHARED_REQUESTS_DAMAGED),
                plural(counted(STK_SHARED_REQUESTS_DAMAGED), "file was", "files were"));
    }
}

void shared_helper_print(FILE *out)
{
    char fetched[STK_SIZE_TEXT], published[STK_SIZE_TEXT];
    if (helper.pid == 0) {
        return;
    }
    say_line(out, "  shared: " COUNTED " (%s) came from %s, %" PRIu64 " (%s) %s put there",
             COUNT_OF(counted(STK_SHARED_REQUESTS_FETCHED), "file", "files"),
             size_text(fetched, counted(STK_SHARED_REQUESTS_FETCHED_BYTES)), helper.shared.home,
             counted(STK_SHARED_REQUESTS_PUBLISHED),
             size_text(published, counted(STK_SHARED_REQUESTS_PUBLISHED_BYTES)),
             plural(counted(STK_SHARED_REQUESTS_PUBLISHED), "was", "were"));
    if (counted(STK_SHARED_REQUESTS_PASSED) > 0) {
        fprintf(out, "  shared: of these %" PRIu64 " (%s) %s not kept here, for want of room\n",
                counted(STK_SHARED_REQUESTS_PASSED),
                size_text(fetched, counted(STK_SHARED_REQUESTS_PASSED_BYTES)),
                plural(counted(STK_SHARED_REQUESTS_PASSED), "was", "were"));
    }
    print_losses(out);
}

void shared_helper_write_json(struct json *json)
{
    static const char *const states[] = {"none", "well", "late", "failed", "well"};
    static const struct {
        const char *name;
        enum stk_shared_requests_count what;
    } counts[] = {{"fetched", STK_SHARED_REQUESTS_FETCHED},
                  {"fetched_bytes", STK_SHARED_REQUESTS_FETCHED_BYTES},
                  {"passed", STK_SHARED_REQUESTS_PASSED},
                  {"passed_bytes", STK_SHARED_REQUESTS_PASSED_BYTES},
                  {"published", STK_SHARED_REQUESTS_PUBLISHED},
                  {"published_bytes", STK_SHARED_REQUESTS_PUBLISHED_BYTES},
                  {"damaged", STK_SHARED_REQUESTS_DAMAGED},
                  {"full", STK_SHARED_REQUESTS_FULL},
                  {"unpublished", STK_SHARED_REQUESTS_DROPPED},
                  {"pauses", STK_SHARED_REQUESTS_PAUSES},
                  {"errors", STK_SHARED_REQUESTS_ERRORS}};
    if (helper.pid == 0) {
        json_text(json, "shared", NULL);
        return;
    }
    uint32_t state = helper.ended;
    json_object(json, "shared");
    json_text(json, "path", helper.shared.home);
    json_text(json, "state", states[state < sizeof states / sizeof *states ? state : 0]);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        json_count(json, counts[i].name, counted(counts[i].what));
    }
    json_end(json);
}
