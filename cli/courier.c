/* The process that goes to a shared tier. See cli/courier.h. */
#include "cli/courier.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cache/errand.h"
#include "cli/courier_work.h"
#include "cli/json.h"
#include "cli/passing.h"
#include "cli/refusal.h"
#include "cli/say.h"

#define SETUP_MS 5000
#define STEP_NS  (STK_NS_PER_S / 100)
#define END_NS   (10 * STK_NS_PER_S) /* to publish what is left, while that gets on: */
#define STUCK_NS (2 * STK_NS_PER_S)

static struct {
    struct session *session;
    struct stk_errands *errands;
    struct shared shared;
    pid_t pid; /* 0: there is none */
    int error; /* why, if the user has asked for one */
} courier;

/* ---- beginning ---- */

/* What setting up came to, -ETIME: nobody knows. */
static int wait_for_setup(int in)
{
    struct pollfd answer = {.fd = in, .events = POLLIN};
    struct courier_told told = {.error = -ETIME};
    int ready = poll(&answer, 1, SETUP_MS);
    while (ready < 0 && errno == EINTR) {
        ready = poll(&answer, 1, SETUP_MS);
    }
    if (ready > 0 && read(in, &told, sizeof told) != (ssize_t)sizeof told) {
        told.error = -ECHILD;
    }
    memcpy(courier.shared.home, told.home, sizeof courier.shared.home);
    return told.error;
}

static int start(struct session *session)
{
    int ends[2];
    pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -errno;
    }
    pid_t pid = fork();
    if (pid == 0) {
        courier_work(session, &courier.shared, parent, ends[1]);
    }
    close(ends[1]);
    int error = pid > 0 ? wait_for_setup(ends[0]) : -EAGAIN;
    close(ends[0]);
    if (error != 0) {
        stk_errands_close(courier.errands, STK_ERRANDS_FAILED);
    }
    if (pid > 0 && error != 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, WNOHANG);
    }
    courier.pid = error == 0 ? pid : 0;
    return error;
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

/* Of volumes that are known by their mount only, a node's entries are found by that node alone. */
static void say_what_is_left_out(const struct request *request)
{
    static struct stk_roots roots;
    char *paths = request_paths(request);
    stk_roots_spell(&roots, paths);
    stk_roots_resolve(&roots);
    for (unsigned i = 0; i < roots.count; i++) {
        const struct stk_root *root = &roots.roots[i];
        if (root->usable && !root->linked && !root->lasting) {
            say("shared: not for %s, whose volume has no name that other nodes know it by",
                root->prefix);
        }
    }
    free(paths);
}

static void say_begun(const struct request *request)
{
    char size[STK_SIZE_TEXT];
    const struct shared *shared = &courier.shared;
    bool given = shared->budget_bytes >= 0;
    say("shared: %s%s%s; taken from there, and put there, is what is copied", shared->home,
        given ? ", at most " : "", given ? size_text(size, (uint64_t)shared->budget_bytes) : "");
    say_what_is_left_out(request);
}

void courier_begin(const struct request *request, struct session *session)
{
    courier.session = session;
    courier.errands = stk_run_errands(&session->run);
    if (request->shared.directory[0] == '\0' || courier.errands == NULL) {
        return;
    }
    atomic_store(&courier.errands->patient, request->warm_only);
    courier.shared.budget_bytes = request->shared.budget_bytes;
    strcpy(courier.shared.directory, request->shared.directory);
    courier.error = start(session);
    bool typed = refusal_class_of(courier.error) == REFUSAL_TYPED;
    if (courier.error != 0 && (typed || request->require_cache)) {
        session_undo(session);
        die("--tier %s, on a file system that may be shared: %s: name another",
            courier.shared.directory, reason_of(courier.error));
    }
}

void courier_announce(const struct request *request)
{
    if (courier.pid != 0) {
        say_begun(request);
    } else if (courier.error != 0) {
        say("shared: --tier %s: %s: going on without it", courier.shared.directory,
            reason_of(courier.error));
    }
}

/* ---- ending ---- */

static uint64_t progress(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < STK_ERRANDS_LAST_ERROR; i++) {
        sum += atomic_load(&courier.errands->counts[i]);
    }
    return sum;
}

static bool has_ended(void)
{
    return waitpid(courier.pid, NULL, WNOHANG) != 0;
}

/* As long as it gets on. Whether it has ended. */
static bool wait_for_end(void)
{
    int64_t began_ns = stk_clock_boottime_ns(), moved_ns = began_ns, now_ns = began_ns;
    uint64_t seen = progress();
    bool ended = has_ended();
    while (!ended && now_ns - began_ns < END_NS && now_ns - moved_ns < STUCK_NS) {
        nanosleep(&(struct timespec){0, STEP_NS}, NULL);
        now_ns = stk_clock_boottime_ns();
        moved_ns = progress() != seen ? now_ns : moved_ns;
        seen = progress();
        ended = has_ended();
    }
    return ended;
}

/* It may wait for a server, and then may not even be killed: nobody waits for that. */
void courier_end(bool in_haste)
{
    if (courier.pid == 0) {
        return;
    }
    stk_errands_close(courier.errands, STK_ERRANDS_OVER);
    bool waits = !in_haste && atomic_load(&courier.errands->state) != STK_ERRANDS_LATE;
    if (!waits || !wait_for_end()) {
        kill(courier.pid, SIGKILL);
        has_ended();
    }
    passing_drop_all(&courier.session->catalogue, &courier.session->run);
}

/* ---- what it came to ---- */

static uint64_t counted(enum stk_errands_count what)
{
    return atomic_load(&courier.errands->counts[what]);
}

static void print_losses(FILE *out)
{
    char *state = NULL;
    switch (atomic_load(&courier.errands->state)) {
    case STK_ERRANDS_LATE:
        state = must_copy("it did not answer in time, and was left alone from then on");
        break;
    case STK_ERRANDS_FAILED:
        state = must_format("it failed %d times in a row (%s), and was left alone from then on",
                            COURIER_MOST_ERRORS, strerror((int)counted(STK_ERRANDS_LAST_ERROR)));
        break;
    default:
        break;
    }
    if (state != NULL) {
        fprintf(out, "  shared: %s\n", state);
        free(state);
    }
    if (counted(STK_ERRANDS_FULL) > 0) {
        fprintf(out, "  shared: no room for %" PRIu64 " files\n", counted(STK_ERRANDS_FULL));
    }
    if (counted(STK_ERRANDS_LEFT) > 0) {
        fprintf(out, "  shared: no time to put %" PRIu64 " files there\n",
                counted(STK_ERRANDS_LEFT));
    }
    if (counted(STK_ERRANDS_DAMAGED) > 0) {
        fprintf(out, "  shared: %" PRIu64 " damaged files were read from the originals\n",
                counted(STK_ERRANDS_DAMAGED));
    }
}

void courier_print(FILE *out)
{
    char fetched[STK_SIZE_TEXT], published[STK_SIZE_TEXT];
    if (courier.pid == 0) {
        return;
    }
    say_line(out, "  shared: %" PRIu64 " files (%s) came from %s, %" PRIu64 " (%s) were put there",
             counted(STK_ERRANDS_FETCHED), size_text(fetched, counted(STK_ERRANDS_FETCHED_BYTES)),
             courier.shared.home, counted(STK_ERRANDS_PUBLISHED),
             size_text(published, counted(STK_ERRANDS_PUBLISHED_BYTES)));
    if (counted(STK_ERRANDS_PASSED) > 0) {
        fprintf(out, "  shared: of these %" PRIu64 " (%s) were not kept here, for want of room\n",
                counted(STK_ERRANDS_PASSED), size_text(fetched, counted(STK_ERRANDS_PASSED_BYTES)));
    }
    print_losses(out);
}

void courier_write_json(FILE *out)
{
    static const char *const states[] = {"none", "well", "late", "failed", "well"};
    if (courier.pid == 0) {
        fprintf(out, "  \"shared\": null,\n");
        return;
    }
    uint32_t state = atomic_load(&courier.errands->state);
    fprintf(out, "  \"shared\": {\"path\": ");
    json_string(out, courier.shared.home);
    fprintf(out,
            ", \"state\": \"%s\", \"fetched\": %" PRIu64 ", \"fetched_bytes\": %" PRIu64
            ", \"passed\": %" PRIu64 ", \"passed_bytes\": %" PRIu64 ", \"published\": %" PRIu64
            ", \"published_bytes\": %" PRIu64 ", \"damaged\": %" PRIu64 ", \"full\": %" PRIu64
            ", \"left\": %" PRIu64 ", \"errors\": %" PRIu64 "},\n",
            state < sizeof states / sizeof *states ? states[state] : "none",
            counted(STK_ERRANDS_FETCHED), counted(STK_ERRANDS_FETCHED_BYTES),
            counted(STK_ERRANDS_PASSED), counted(STK_ERRANDS_PASSED_BYTES),
            counted(STK_ERRANDS_PUBLISHED), counted(STK_ERRANDS_PUBLISHED_BYTES),
            counted(STK_ERRANDS_DAMAGED), counted(STK_ERRANDS_FULL), counted(STK_ERRANDS_LEFT),
            counted(STK_ERRANDS_ERRORS));
}
