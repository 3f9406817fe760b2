/*
 * A session of chaos, as it is run under `stoker run`, with LD_PRELOAD alone, or without both:
 *
 *     player session ledger=FILE data=DIR behind=DIR volume=N run=N seconds=N seed=N
 *                    readers=N writers=N fresh=run|open|never hand=here|behind library=0|1
 * kills=0|1
 *
 * starts readers and writers, kills and stops readers at random, and starts others in their place.
 * It says what was wrong, a line for each, and that a process took too long for one operation, or
 * died. The other verbs take those of these words that they need:
 *
 *     player make         the files of a volume, for the first time
 *     player begin        a run begins in a volume
 *     player shake        the origin of a volume begins to be faulty, or has ceased to be
 *     player counts       prints what was done, as JSON
 */
#include "player.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "content.h"

#define MOST_CHILDREN 64
#define HUNG_S        40  /* for one operation, on a machine that others load */
#define MOST_SAID     200 /* violations */
#define LOOK_NS       50000000
#define SECOND_NS     INT64_C(1000000000)

struct orders orders;
struct desk *desk;

static struct desk *desks, nobody;
static struct child {
    pid_t pid;
    int64_t stopped_until_ns; /* 0: it runs */
    unsigned generation;
} children[MOST_CHILDREN];
static uint64_t dice_state;
static int64_t end_ns;

/* ---- what all roles use ---- */

void desk_take(const char *operation)
{
    strncpy(desk->operation, operation, sizeof desk->operation - 1);
    atomic_store(&desk->since_ns, now_ns());
}

void desk_leave(void)
{
    atomic_store(&desk->since_ns, 0);
}

/* In one write, so that lines of several processes do not mix. */
void violation(const char *format, ...)
{
    char line[6000];
    uint64_t before = atomic_fetch_add(&ledger->counts[COUNT_VIOLATIONS], 1);
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (before < MOST_SAID && length > 0) {
        size_t used = (size_t)length < sizeof line - 2 ? (size_t)length : sizeof line - 2;
        line[used++] = '\n';
        if (write(STDOUT_FILENO, line, used) < 0) {
            _exit(3);
        }
    }
}

void dice_start(uint64_t seed)
{
    dice_state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

uint32_t dice(uint32_t end)
{
    dice_state = dice_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return end > 0 ? (uint32_t)(dice_state >> 33) % end : 0;
}

const char *place_name(enum place place)
{
    static const char *const names[PLACES] = {"a", "b", "latest"};
    return names[place];
}

void path_name(char out[4096], const char *top, unsigned unit, enum place place, unsigned file)
{
    snprintf(out, 4096, "%s/u%u/%s/f%u", top, unit, place_name(place), file);
}

/* ---- a child ---- */

static bool is_reader(unsigned number)
{
    return number < orders.readers;
}

static _Noreturn void live(unsigned number)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a stopped process would wait for ever */
    desk = &desks[number];
    dice_start(orders.seed * 1000 + number * 37 + children[number].generation * 7919);
    if (is_reader(number)) {
        reader_begin();
        while (now_ns() < end_ns) {
            reader_act();
        }
        reader_end();
    }
    while (now_ns() < end_ns) {
        writer_act();
    }
    _exit(0);
}

static void start(unsigned number)
{
    struct child *child = &children[number];
    atomic_store(&desks[number].since_ns, 0);
    child->stopped_until_ns = 0;
    child->generation++;
    child->pid = fork();
    if (child->pid == 0) {
        live(number);
    }
}

/* ---- the parent ---- */

static void bury(unsigned number, int status)
{
    children[number].pid = 0;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
        ledger_count(COUNT_KILLED);
    } else if (WIFSIGNALED(status)) {
        violation("run %u: died by %s in %s", orders.run, strsignal(WTERMSIG(status)),
                  desks[number].operation);
    } else if (WEXITSTATUS(status) != 0) {
        violation("run %u: ended with %d", orders.run, WEXITSTATUS(status));
    }
}

/* Buries ended processes: before the time is over, others take their places. */
static unsigned bury_all(void)
{
    unsigned alive = 0;
    for (unsigned number = 0; number < orders.readers + orders.writers; number++) {
        int status;
        if (children[number].pid > 0 && waitpid(children[number].pid, &status, WNOHANG) > 0) {
            bury(number, status);
            if (now_ns() < end_ns) {
                start(number);
            }
        }
        alive += children[number].pid > 0;
    }
    return alive;
}

static void read_line_of(char *out, size_t bytes, pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    FILE *file = fopen(path, "re");
    size_t got = file != NULL ? fread(out, 1, bytes - 1, file) : 0;
    out[got] = '\0';
    if (file != NULL) {
        fclose(file);
    }
}

static void watch(unsigned number, int64_t now)
{
    char wait[80], call[120], stack[600];
    struct child *child = &children[number];
    int64_t since = atomic_load(&desks[number].since_ns);
    if (child->pid > 0 && child->stopped_until_ns == 0 && since != 0 &&
        now - since > HUNG_S * SECOND_NS) {
        read_line_of(wait, sizeof wait, child->pid, "wchan");
        read_line_of(call, sizeof call, child->pid, "syscall");
        read_line_of(stack, sizeof stack, child->pid, "stack");
        violation("run %u: hung for %lld s in %s: %s %s %s", orders.run,
                  (long long)((now - since) / SECOND_NS), desks[number].operation, wait, call,
                  stack);
        kill(child->pid, SIGKILL);
    }
    if (child->pid > 0 && child->stopped_until_ns != 0 && now > child->stopped_until_ns) {
        child->stopped_until_ns = 0;
        if (since != 0) {
            atomic_store(&desks[number].since_ns, now);
        }
        kill(child->pid, SIGCONT);
    }
}

/* Kills or stops a reader, most often in the middle of a look. */
static void trouble(int64_t now)
{
    unsigned number = dice(orders.readers);
    struct child *child = &children[number];
    if (orders.readers == 0 || child->pid <= 0 || dice(6) != 0) {
        return;
    }
    if (dice(4) != 0) {
        kill(child->pid, SIGKILL);
    } else if (child->stopped_until_ns == 0) {
        ledger_count(COUNT_STOPPED);
        child->stopped_until_ns = now + (int64_t)dice(4000) * 1000000;
        kill(child->pid, SIGSTOP);
    }
}

static int session(void)
{
    dice_start(orders.seed);
    end_ns = now_ns() + orders.seconds * SECOND_NS;
    desks = mmap(NULL, MOST_CHILDREN * sizeof *desks, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (desks == MAP_FAILED || orders.readers + orders.writers > MOST_CHILDREN) {
        return 2;
    }
    for (unsigned number = 0; number < orders.readers + orders.writers; number++) {
        start(number);
    }
    while (bury_all() > 0) {
        int64_t now = now_ns();
        for (unsigned number = 0; number < orders.readers + orders.writers; number++) {
            watch(number, now);
        }
        if (orders.kills && now < end_ns) {
            trouble(now);
        }
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
    return 0;
}

/* ---- the other verbs ---- */

static int make(void)
{
    dice_start(orders.seed);
    writer_make_all();
    return 0;
}

static int begin(void)
{
    run_begins(orders.run, orders.volume);
    return 0;
}

static int shake(void)
{
    atomic_fetch_add(&ledger->quake[orders.volume], 1);
    return 0;
}

static int counts(void)
{
    static const char *const names[COUNTS] = {"operations", "judged",  "unjudged",  "changes",
                                              "killed",     "stopped", "violations"};
    for (unsigned i = 0; i < COUNTS; i++) {
        printf("%s\"%s\": %llu", i == 0 ? "{" : ", ", names[i],
               (unsigned long long)atomic_load(&ledger->counts[i]));
    }
    puts("}");
    return 0;
}

/* ---- the command line ---- */

static void take_number(const char *name, uint64_t value)
{
    struct {
        const char *name;
        unsigned *to;
    } numbers[] = {{"volume", &orders.volume},
                   {"run", &orders.run},
                   {"readers", &orders.readers},
                   {"writers", &orders.writers},
                   {"seconds", &orders.seconds}};
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (strcmp(name, numbers[i].name) == 0) {
            *numbers[i].to = (unsigned)value;
        }
    }
    if (strcmp(name, "seed") == 0) {
        orders.seed = value;
    } else if (strcmp(name, "library") == 0) {
        orders.library = value != 0;
    } else if (strcmp(name, "kills") == 0) {
        orders.kills = value != 0;
    }
}

static void take_word(char *word)
{
    char *value = strchr(word, '=');
    if (value == NULL) {
        return;
    }
    *value++ = '\0';
    if (strcmp(word, "ledger") == 0) {
        ledger_open(value);
    } else if (strcmp(word, "data") == 0) {
        orders.data = value;
    } else if (strcmp(word, "behind") == 0) {
        orders.behind = value;
    } else if (strcmp(word, "fresh") == 0) {
        orders.fresh = value[0] == 'r' ? FRESH_RUN : value[0] == 'o' ? FRESH_OPEN : FRESH_NEVER;
    } else if (strcmp(word, "hand") == 0) {
        orders.hand = value[0] == 'b' ? HAND_BEHIND : HAND_HERE;
    } else {
        take_number(word, strtoull(value, NULL, 10));
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } verbs[] = {{"session", session},
                 {"make", make},
                 {"begin", begin},
                 {"shake", shake},
                 {"counts", counts}};
    desk = &nobody;
    for (int i = 2; i < argc; i++) {
        take_word(argv[i]);
    }
    for (unsigned i = 0; argc > 2 && ledger != NULL && i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(argv[1], verbs[i].name) == 0 && orders.run < RUNS && orders.volume < VOLUMES) {
            return verbs[i].run();
        }
    }
    fprintf(stderr, "usage: %s session|make|begin|shake|counts ledger=FILE NAME=VALUE...\n",
            argv[0]);
    return 2;
}
