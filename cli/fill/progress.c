#include "cli/fill/progress.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sys.h"
#include "cli/fill/fill_figures.h"
#include "cli/os/thread.h"
#include "cli/out/say.h"

#define TICK_NS   (STK_NS_PER_S / 4)
#define BESIDE_NS STK_NS_PER_S
#define BAR       20
#define WIDE      100 /* columns from which on there is room for the bar */
#define LINE_ROOM 256

static void (*read_figures)(struct fill_figures *out);
static pthread_t writer;
static bool writing, beside;
static bool brief;           /* the work may end at once, and then needs no line */
static const char *counting; /* what is done to files that are only counted */
static uint64_t (*count_files)(void);
static _Atomic uint32_t over;

/* How fast it goes. The latest seconds count most. */
struct pace {
    int64_t at_ns;
    uint64_t done, bytes, batches; /* the figures at that time */
    double files_per_s, bytes_per_s, batches_per_s;
};

/* Returns the bytes of finished files, filled or present. */
static uint64_t there_bytes(const struct fill_figures *now)
{
    return now->filled_bytes + now->present_bytes;
}

/* Returns the bytes to come. Those of big files are known; small files are taken to be like the
 * finished ones. */
static uint64_t coming_bytes(const struct fill_figures *now)
{
    uint64_t small = now->done - (now->bigs < now->done ? now->bigs : now->done);
    uint64_t there = there_bytes(now);
    uint64_t small_bytes = there - (now->big_bytes < there ? now->big_bytes : there);
    uint64_t past = now->done + now->at_work;
    double each = small > 0 ? (double)small_bytes / (double)small : 0;
    double rest = now->found > past ? each * (double)(now->found - past) : 0;
    return now->left_bytes + (uint64_t)rest;
}

static double smoothed(double before, double now)
{
    return before > 0 ? 0.8 * before + 0.2 * now : now;
}

static void measure(struct pace *pace, const struct fill_figures *now)
{
    int64_t now_ns = stk_clock_boottime_ns();
    double seconds = (double)(now_ns - pace->at_ns) / 1e9;
    if (pace->at_ns != 0 && seconds > 0) {
        pace->files_per_s = smoothed(pace->files_per_s, (double)(now->done - pace->done) / seconds);
        pace->bytes_per_s =
            smoothed(pace->bytes_per_s, (double)(there_bytes(now) - pace->bytes) / seconds);
        pace->batches_per_s =
            smoothed(pace->batches_per_s, (double)(now->batches - pace->batches) / seconds);
    }
    pace->at_ns = now_ns;
    pace->done = now->done;
    pace->bytes = there_bytes(now);
    pace->batches = now->batches;
}

/* Writes "[===== ] " if there is room. */
static void write_bar(char bar[BAR + 4], unsigned columns, const struct fill_figures *now)
{
    uint64_t there = there_bytes(now), all = there + coming_bytes(now);
    uint64_t full = all > 0 ? (uint64_t)(BAR * (double)there / (double)all) : 0;
    char *to = bar;
    if (columns >= WIDE) {
        *to++ = '[';
        for (unsigned i = 0; i < BAR; i++) {
            *to++ = i < full ? '=' : ' ';
        }
        *to++ = ']';
        *to++ = ' ';
    }
    *to = '\0';
}

/* Estimates by bytes if there are any. */
static double seconds_left(const struct pace *pace, const struct fill_figures *now)
{
    uint64_t bytes = coming_bytes(now);
    if (bytes > 0 && pace->bytes_per_s > 0) {
        return (double)bytes / pace->bytes_per_s;
    }
    return pace->files_per_s > 0 ? (double)(now->found - now->done) / pace->files_per_s : 0;
}

static void write_left(char *rest, size_t room, double seconds)
{
    if (seconds <= 0 || seconds > 1e6) {
        rest[0] = '\0';
        return;
    }
    unsigned long left = (unsigned long)(seconds + 0.5);
    snprintf(rest, room, ", %lu:%02lu:%02lu left", left / 3600, left / 60 % 60, left % 60);
}

/* Writes the rest of the line. The total is unknown while directories are still to be listed. */
static void write_rest(char *rest, size_t room, const struct pace *pace,
                       const struct fill_figures *now)
{
    if (now->whole) {
        write_left(rest, room, seconds_left(pace, now));
    } else {
        snprintf(rest, room, ", listing goes on");
    }
}

/* Writes the bytes. For big files, the bytes to come are worth showing. */
static void write_bytes(char *bytes, size_t room, const struct fill_figures *now)
{
    char there[STK_SIZE_TEXT], all[STK_SIZE_TEXT];
    size_text(there, there_bytes(now));
    size_text(all, there_bytes(now) + coming_bytes(now));
    snprintf(bytes, room, now->at_work > 0 ? "%s of %s" : "%s", there, all);
}

static bool are_batches_known(const struct fill_figures *now)
{
    return now->batches > 0 && now->batches <= now->all_batches;
}

/* Writes a job's batches, if they are known, else the opens. */
static void write_epoch(char *line, const struct pace *pace, const struct fill_figures *now)
{
    char done[64], rate[STK_SIZE_TEXT], rest[64] = "", bytes[STK_SIZE_TEXT];
    if (are_batches_known(now)) {
        double left = (double)(now->all_batches - now->batches);
        snprintf(done, sizeof done, "epoch 1: %" PRIu64 "/%" PRIu64 " batches", now->batches,
                 now->all_batches);
        write_left(rest, sizeof rest, pace->batches_per_s > 0 ? left / pace->batches_per_s : 0);
    } else {
        snprintf(done, sizeof done, "first opens: %" PRIu64 " files, %s", now->done,
                 size_text(bytes, there_bytes(now)));
    }
    snprintf(line, LINE_ROOM, "stoker: %s, %.0f files/s, %s/s%s", done, pace->files_per_s,
             size_text(rate, (uint64_t)pace->bytes_per_s), rest);
}

static void write_line(char *line, unsigned columns, const struct pace *pace,
                       const struct fill_figures *now)
{
    char bar[BAR + 4], bytes[2 * STK_SIZE_TEXT + 8], rate[STK_SIZE_TEXT], rest[64];
    if (now->seconds_ns == 0) {
        snprintf(line, LINE_ROOM, "stoker: %s, %" PRIu64 " files so far", counting, now->found);
        return;
    }
    if (beside) {
        write_epoch(line, pace, now);
        return;
    }
    write_bar(bar, columns, now);
    write_bytes(bytes, sizeof bytes, now);
    write_rest(rest, sizeof rest, pace, now);
    snprintf(line, LINE_ROOM, "stoker: %s%" PRIu64 "/%" PRIu64 " files, %s, %.0f files/s, %s/s%s",
             bar, now->done, now->found, bytes, pace->files_per_s,
             size_text(rate, (uint64_t)pace->bytes_per_s), rest);
}

static unsigned terminal_columns(void)
{
    struct winsize size;
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    return known ? size.ws_col : 80;
}

/* Writes the line, cut at the terminal's width: else each rewrite would begin a new line. */
static void show(unsigned columns, const char *line)
{
    fprintf(stderr, "\r%.*s\033[K%s", (int)columns - 1, line, beside ? "\r" : "");
    fflush(stderr);
}

static void *keep_writing(void *context)
{
    char line[LINE_ROOM];
    struct pace pace = {.at_ns = 0};
    struct fill_figures now;
    if (brief) {
        stk_sys_futex_wait(&over, 0, TICK_NS);
    }
    if (brief && atomic_load(&over) != 0) {
        return context;
    }
    while (atomic_load(&over) == 0) {
        read_figures(&now);
        measure(&pace, &now);
        unsigned columns = terminal_columns();
        write_line(line, columns, &pace, &now);
        show(columns, line);
        stk_sys_futex_wait(&over, 0, beside ? BESIDE_NS : TICK_NS);
    }
    fputs("\r\033[K", stderr);
    return context;
}

/* Returns true if the terminal can rewrite a line. Others, as in an editor, would show a new line
 * each time. */
static bool is_redrawn(void)
{
    const char *kind = getenv("TERM");
    return isatty(STDERR_FILENO) && (kind == NULL || strcmp(kind, "dumb") != 0);
}

static void begin(void (*figures)(struct fill_figures *out))
{
    read_figures = figures;
    atomic_store(&over, 0);
    writing = is_redrawn() && thread_start(&writer, keep_writing, NULL);
}

static void read_count(struct fill_figures *out)
{
    *out = (struct fill_figures){.found = count_files()};
}

void progress_begin_counting(const char *doing, uint64_t (*count)(void))
{
    beside = false;
    brief = true;
    counting = doing;
    count_files = count;
    begin(read_count);
}

void progress_begin(void (*figures)(struct fill_figures *out))
{
    beside = brief = false;
    counting = "listing";
    begin(figures);
}

void progress_begin_beside(void (*figures)(struct fill_figures *out))
{
    beside = true;
    brief = false;
    counting = "listing";
    begin(figures);
}

void progress_end(void)
{
    if (writing) {
        atomic_store(&over, 1);
        stk_sys_futex_wake_all(&over);
        pthread_join(writer, NULL);
        writing = false;
    }
}
