#include "cli/ahead/orders/order.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/ahead/orders/sample_files.h"

#define PROVEN    8    /* probes that the job has opened: then the order is believed */
#define DISTANCE  1024 /* files between two probes, later on */
#define MOST_VAIN 32   /* files without room, one after the other */

/* Files of trees. */
#define TREE_DISTANCE 64 /* files between two probes, later on */
#define TREE_SHARE    16 /* one in so many files that were read must have been opened */
#define SHARDS_FIRST  2  /* files that are read until one was opened, */
#define SHARDS_EACH   8  /* further ones for each that was opened, */
#define SHARDS_AHEAD  16 /* and the most that are ahead of the job */

struct order_chunk {
    struct order_chunk *next;
    size_t bytes;
    char paths[];
};

void order_begin(struct order *order, int fd)
{
    *order = (struct order){.fd = fd, .began_ns = stk_clock_boottime_ns(), .least_opens = UINT_MAX};
}

static void drop_first(struct order *order)
{
    struct order_chunk *first = order->first;
    order->first = first->next;
    order->last = first->next == NULL ? NULL : order->last;
    order->at = 0;
    free(first);
}

void order_end(struct order *order)
{
    close(order->fd);
    while (order->first != NULL) {
        drop_first(order);
    }
    *order = (struct order){.fd = -1};
}

static uint64_t count_paths(const char *paths, size_t bytes)
{
    uint64_t count = 0;
    for (size_t i = 0; i < bytes; i++) {
        count += paths[i] == '\0';
    }
    return count;
}

static bool append(struct order *order, const char *paths, size_t bytes)
{
    struct order_chunk *chunk = malloc(sizeof *chunk + bytes);
    if (chunk == NULL) {
        return false;
    }
    chunk->next = NULL;
    chunk->bytes = bytes;
    memcpy(chunk->paths, paths, bytes);
    *(order->last == NULL ? &order->first : &order->last->next) = chunk;
    order->last = chunk;
    order->received += count_paths(paths, bytes);
    return true;
}

/* ---- samples of a data set ---- */

/* Paths for a message. */
struct paths {
    size_t used;
    uint64_t known;
    char text[ORDER_MESSAGE_BYTES];
};

/* Adds the paths of a sample, empty ones in the place of those that are unknown. */
static void add_paths(const struct order *order, uint64_t index, struct paths *paths)
{
    const struct sample_files *files = sample_files_of(order->dataset);
    for (unsigned i = 0; i < order->width; i++) {
        size_t bytes = sample_files_path(files, index, i, paths->text + paths->used);
        paths->known += bytes > 1;
        paths->used += bytes;
    }
}

/* Counts unknown files as taken. If other files are to be taken first, their empty paths wait. */
static bool append_paths(struct order *order, struct paths *paths)
{
    bool added = true;
    if (paths->known == 0 && order->first == NULL) {
        uint64_t count = count_paths(paths->text, paths->used);
        order->received += count;
        order->taken += count;
        order->skipped += count;
    } else if (paths->used > 0) {
        added = append(order, paths->text, paths->used);
    }
    paths->used = paths->known = 0;
    return added;
}

static bool append_samples(struct order *order, const char *indices, size_t bytes)
{
    static struct paths paths;
    bool added = true;
    for (size_t at = 0; at < bytes && added; at += sizeof(uint64_t)) {
        uint64_t index;
        memcpy(&index, indices + at, sizeof index);
        add_paths(order, index, &paths);
        if (sizeof paths.text - paths.used < SAMPLE_FILES * STK_PATH_BYTES) {
            added = append_paths(order, &paths);
        }
    }
    return append_paths(order, &paths) && added;
}

static void begin_samples(struct order *order, uint64_t dataset)
{
    if (order->width == 0) {
        order->dataset = dataset;
        order->width = sample_files_width(sample_files_begin(dataset));
    }
}

/* ---- messages ---- */

static bool take_body(struct order *order, uint64_t dataset, const char *body, size_t bytes)
{
    if (dataset != 0) {
        return bytes % sizeof(uint64_t) == 0 && append_samples(order, body, bytes);
    }
    return bytes == 0 || (body[bytes - 1] == '\0' && append(order, body, bytes));
}

static unsigned files_of_sample(const struct order *order)
{
    return order->width > 0 ? order->width : 1;
}

bool order_add(struct order *order, const void *message, size_t bytes)
{
    struct order_message head;
    const char *body = (const char *)message + sizeof head;
    if (bytes < sizeof head) {
        return false;
    }
    memcpy(&head, message, sizeof head);
    bytes -= sizeof head;
    if (head.magic != ORDER_MAGIC) {
        return false;
    }
    if (head.done == ORDER_OPENED) {
        return sample_files_add(head.dataset, body, bytes);
    }
    if (head.dataset != 0) {
        begin_samples(order, head.dataset);
    }
    unsigned each = head.done < ORDER_OPENED ? files_of_sample(order) : 1;
    order->done = head.done * each;
    order->asked = head.asked * each;
    return take_body(order, head.dataset, body, bytes);
}

/* ---- taking files ---- */

static bool is_in_no_order(const struct order *order)
{
    return order->done >= ORDER_SHARDS;
}

bool order_is_of_tree(const struct order *order)
{
    return order->done == ORDER_TREE || order->done == ORDER_SHARDS;
}

static bool may_go_on(const struct order *order)
{
    uint64_t read = order->taken - order->skipped;
    if (order->done == ORDER_TREE) {
        unsigned probing = order->probing > ORDER_PROBES ? order->probing : ORDER_PROBES;
        return read < ORDER_PROBES || TREE_SHARE * order->opened >= probing;
    }
    if (order->done == ORDER_SHARDS) {
        return read < SHARDS_FIRST + SHARDS_EACH * order->opened &&
               read < SHARDS_AHEAD + order->opened;
    }
    uint64_t probes =
        order->dataset != 0 ? sample_files_probes(sample_files_of(order->dataset)) : order->taken;
    return order->believed || probes < ORDER_PROBES;
}

bool order_has_next(const struct order *order)
{
    return order->fd >= 0 && !order->failed && order->first != NULL && may_go_on(order);
}

uint64_t order_take(struct order *order, char path[STK_PATH_BYTES])
{
    const char *next = order->first->paths + order->at;
    if (!stk_text_copy(path, STK_PATH_BYTES, next)) {
        path[0] = '\0';
    }
    order->at += strlen(next) + 1;
    if (order->dataset != 0 && !order->believed && path[0] != '\0') {
        sample_files_note_probe(sample_files_of(order->dataset));
    }
    if (order->at == order->first->bytes) {
        drop_first(order);
    }
    return order->taken++;
}

void order_probe(struct order *order, uint64_t number, uint32_t record)
{
    bool of_tree = order_is_of_tree(order);
    bool is_turn = number < ORDER_PROBES || number % (of_tree ? TREE_DISTANCE : DISTANCE) == 0 ||
                   (of_tree && order->probing < ORDER_PROBES);
    order->skipped += record == 0;
    if (order->dataset == 0 && is_turn && record != 0) {
        order->probes[order->probing++ % ORDER_PROBES] = (struct order_probe){number, record};
    }
}

void order_note_room(struct order *order, bool room)
{
    order->in_vain = room ? 0 : order->in_vain + 1;
    order->failed = order->failed || order->in_vain >= MOST_VAIN;
}

uint64_t order_lead(const struct order *order, uint64_t number)
{
    return !is_in_no_order(order) && number > order->asked ? number - order->asked : 0;
}

bool order_was_opened(struct order *order, uint64_t number, unsigned opens)
{
    uint64_t asked = order->asked + (uint64_t)ORDER_UNHEARD * files_of_sample(order);
    bool opened = !is_in_no_order(order) && number < asked && opens > order->least_opens;
    order->least_opens = opens < order->least_opens ? opens : order->least_opens;
    return opened;
}

static void judge(struct order *order, struct order_probe *probe, struct stk_run *run)
{
    if (stk_run_opens(run, probe->record) > 0) {
        order->opened++;
        probe->record = 0;
    } else if (!is_in_no_order(order) && probe->number + ORDER_SLACK < order->done) {
        order->missed++;
        probe->record = 0;
    }
}

static void believe(struct order *order)
{
    static const char word = ORDER_BELIEVED;
    order->believed = true;
    (void)!send(order->fd, &word, sizeof word, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void judge_samples(struct order *order)
{
    if (!order->believed && sample_files_hold(sample_files_of(order->dataset))) {
        believe(order);
    }
}

void order_judge(struct order *order, struct stk_run *run)
{
    if (order->dataset != 0) {
        judge_samples(order);
        return;
    }
    for (unsigned i = 0; i < ORDER_PROBES; i++) {
        if (order->probes[i].record != 0) {
            judge(order, &order->probes[i], run);
        }
    }
    if (!order->believed && order->opened >= PROVEN) {
        believe(order);
    }
    order->failed = order->failed || (order->missed >= PROVEN && order->missed > order->opened);
}
