#include "cli/verbs/forms_ahead.h"

#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/path.h"
#include "cli/args/request_env.h"
#include "cli/fill/filler.h"
#include "cli/fill/tree_scan.h"
#include "cli/os/library.h"
#include "cli/os/python.h"
#include "cli/out/say.h"

#define MOST_WORKERS 256

extern char **environ;

static atomic_bool stop;

static bool is_jpeg(const char *name)
{
    static const char *const ends[] = {".jpg", ".jpeg", ".jpe", ".jfif"};
    const char *end = strrchr(name, '.');
    for (size_t i = 0; end != NULL && i < sizeof ends / sizeof *ends; i++) {
        if (strcasecmp(end, ends[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_wanted(const struct scanned_file *file)
{
    return is_jpeg(file->name) && filler_wants(file);
}

/* ---- the workers ---- */

struct workers {
    unsigned count;
    pid_t pids[MOST_WORKERS];
    int queue; /* where the Pythons take names from */
};

/* Sets up the cache, too: the Pythons identify files by their entries, as a job's Pythons will. */
void forms_prepare(const struct session *session)
{
    OWNED char *package = python_package_path();
    OWNED char *library = library_path(session->home), *preload = library_preload(library);
    python_set_isolated(package);
    must_set("LD_PRELOAD", preload);
    if (session->samples.setting != NULL) {
        request_set(STK_OPTION_SAMPLES, session->samples.setting);
    }
}

static bool start_worker(struct workers *workers, int names)
{
    static char python[] = "python3", option[] = "-c",
                program[] = PYTHON_ISOLATED "from stoker import _warm\n_warm.main()\n";
    static char *const command[] = {python, option, program, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, names, STDIN_FILENO);
    int error =
        posix_spawnp(&workers->pids[workers->count], python, &actions, NULL, command, environ);
    posix_spawn_file_actions_destroy(&actions);
    workers->count += error == 0;
    return error == 0;
}

/* Starts the Pythons. The queue is a socket of messages: each message goes to a Python that is
 * free. */
static bool start_workers(struct workers *workers)
{
    int ends[2];
    cpu_set_t processors;
    workers->count = 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return false;
    }
    int wanted =
        sched_getaffinity(0, sizeof processors, &processors) == 0 ? CPU_COUNT(&processors) : 1;
    for (int i = 0; i < wanted && i < MOST_WORKERS && start_worker(workers, ends[1]); i++) {
    }
    close(ends[1]); /* so that writing to a queue without readers is an error */
    workers->queue = ends[0];
    return workers->count > 0;
}

static unsigned end_workers(struct workers *workers)
{
    unsigned failed = 0;
    close(workers->queue);
    for (unsigned i = 0; i < workers->count; i++) {
        int status = -1;
        waitpid(workers->pids[i], &status, 0);
        failed += status != 0;
    }
    return failed;
}

/* ---- the files ---- */

static bool offer(const struct workers *workers, const struct scanned_file *file)
{
    char path[STK_PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s/%s", file->directory, file->name);
    return length >= (int)sizeof path ||
           send(workers->queue, path, (size_t)length, MSG_NOSIGNAL) == length;
}

/* Returns false if no Python takes names any more. */
static bool offer_batch(const struct workers *workers, const struct tree_scan *scan,
                        uint64_t *offered)
{
    for (size_t i = 0; i < scan->count && !atomic_load(&stop); i++) {
        if (!offer(workers, &scan->files[i])) {
            return false;
        }
        ++*offered;
    }
    return true;
}

static uint64_t offer_all(const struct workers *workers, const struct request *request)
{
    static struct tree_scan scan;
    uint64_t offered = 0;
    bool taken = true;
    tree_scan_begin(&scan, is_wanted, &stop);
    for (unsigned i = 0; i < request->part_count; i++) {
        tree_scan_add(&scan, request->parts[i]);
    }
    do {
        tree_scan_work(&scan);
        taken = offer_batch(workers, &scan, &offered);
        tree_scan_drop(&scan);
    } while (taken && tree_scan_has_more(&scan) && !atomic_load(&stop));
    return offered;
}

uint64_t forms_make(const struct request *request)
{
    struct workers workers;
    if (atomic_load(&stop)) {
        return 0;
    }
    if (!start_workers(&workers)) {
        say("no decoded copies are made: python3 cannot be started: put one on PATH");
        return 0;
    }
    uint64_t offered = offer_all(&workers, request);
    unsigned failed = end_workers(&workers);
    if (failed > 0) {
        say("%u of %u Pythons that make decoded copies have failed", failed, workers.count);
    }
    return offered;
}

void forms_stop(void)
{
    atomic_store(&stop, true);
}
