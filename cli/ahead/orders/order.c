#include "cli/ahead/orders/order.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/ahead/orders/beside.h"
#include "cli/ahead/orders/range_name.h"
#include "cli/ahead/orders/sample_files.h"

#define PROVEN    8    /* probes that the job has opened: then the order is believed */
#define DISTANCE  1024 /* files between two probes, later on */
#define MOST_VAIN 32   /* files without room, one after the other */

/* Files beside those of a list. */
#define BESIDE_DISTANCE 64     /* files between two probes, later on: all that is ahead has some */
#define SHOWN           512    /* samples that show a rule, unless there is none */
#define BESIDE_SLACK    128    /* files that the loader is done with until a probe has failed */
#define BESIDE_RECENT   0xffff /* the last probes that count: half of them must be opened */

/* Files of trees. */
#define TREE_DISTANCE 64 /* files between two probes, later on */
#define TREE_SHARE    16 /* one in so many files that were read must have been opened */
#define SHARDS_FIRST  2  /* files that are read until one was opened, */
#define SHARDS_EACH   8  /* further ones for each that was opened, */
#define SHARDS_AHEAD  16 /* and the most that are ahead of the job */

struct order_chunk {
    struct order_chunk *next;
    uint64_t end; /* the number behind its last path's */
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
    free(first);
}

/* Drops what was taken, of a list only what the loader is done with. */
static void drop_taken(struct order *order)
{
    while (order->first != order->next &&
           (order->list_of == 0 || order->first->end <= order->done)) {
        drop_first(order);
    }
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
    order->received += count_paths(paths, bytes);
    *chunk = (struct order_chunk){.end = order->received, .bytes = bytes};
    memcpy(chunk->paths, paths, bytes);
    *(order->last == NULL ? &order->first : &order->last->next) = chunk;
    order->last = chunk;
    if (order->has_ids) {
        order->taken = order->skipped = order->received;
    } else if (order->next == NULL) {
        order->next = chunk;
    }
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
    if (paths->known == 0 && order->next == NULL) {
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

/* ---- beside a leader ---- */

bool order_is_useless(const struct order *order)
{
    return order->has_ids && order->done >= SHOWN && !beside_is_known(order->list_of);
}

bool order_has_rule(const struct order *order)
{
    return order->leader == NULL && order->followed < beside_rules(order->list_of);
}

void order_begin_beside(struct order *order, struct order *leader, int fd)
{
    const struct order_chunk *first = leader->first;
    uint64_t begin =
        first != NULL ? first->end - count_paths(first->paths, first->bytes) : leader->received;
    order_begin(order, fd);
    order->leader = leader;
    order->rule = leader->followed++;
    order->received = order->taken = order->skipped = begin;
}

static bool append_beside(struct order *order, const struct order_chunk *chunk)
{
    static struct paths paths;
    const char *end = chunk->paths + chunk->bytes;
    bool added = true;
    paths.used = paths.known = 0;
    for (const char *path = chunk->paths; path < end && added; path += strlen(path) + 1) {
        size_t bytes =
            beside_path(order->leader->list_of, order->rule, path, paths.text + paths.used);
        paths.known += bytes > 1;
        paths.used += bytes;
        if (sizeof paths.text - paths.used < STK_PATH_BYTES) {
            added = append_paths(order, &paths);
        }
    }
    return append_paths(order, &paths) && added;
}

/* Skips the files that the loader is done with: the job has opened them. */
static void skip_done(struct order *order)
{
    while (order->next != NULL && order->next->end <= order->done) {
        order->skipped += order->next->end - order->taken;
        order->taken = order->next->end;
        order->next = order->next->next;
        order->at = 0;
    }
    drop_taken(order);
}

bool order_follow(struct order *order)
{
    const struct order *leader = order->leader;
    bool added = true;
    order->done = leader->done;
    order->asked = leader->asked;
    for (const struct order_chunk *chunk = leader->first; chunk != NULL && added;
         chunk = chunk->next) {
        added = chunk->end <= order->received || append_beside(order, chunk);
    }
    skip_done(order);
    return added;
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
    if (head.done == ORDER_BESIDE) {
        return beside_add(head.dataset, body, bytes);
    }
    if (head.done == ORDER_LIST || head.done == ORDER_IDS) {
        order->list_of = head.dataset;
        order->has_ids = head.done == ORDER_IDS;
        return true;
    }
    if (head.dataset != 0) {
        begin_samples(order, head.dataset);
    }
    unsigned each = head.done < ORDER_OPENED ? files_of_sample(order) : 1;
    order->done = head.done * each;
    order->asked = head.asked * each;
    drop_taken(order);
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

bool order_begins_amid(const struct order *order)
{
    return order_is_of_tree(order) || order->leader != NULL;
}

static uint64_t count_probes(const struct order *order)
{
    if (order->dataset != 0) {
        return sample_files_probes(sample_files_of(order->dataset));
    }
    if (order->leader == NULL) {
        return order->taken;
    }
    return order->taken - order->skipped + beside_vain(order->leader->list_of, order->rule);
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
    if (order->believed && order->leader != NULL) {
        return count_probes(order) < ORDER_PROBES + 2 * order->confirmed;
    }
    return order->believed || count_probes(order) < ORDER_PROBES;
}

/* Returns true if the next file is a range of a big file that may not be read yet. Workers open the
 * file before they return their first batch, and on FUSE each open drops what the kernel has. */
static bool is_far(const struct order *order)
{
    struct range_name range;
    if (order->dataset == 0 || !range_name_parse(order->next->paths + order->at, &range)) {
        return false;
    }
    uint64_t done = order->done, files = order->taken > done ? order->taken - done : 0;
    return done == 0 || files / files_of_sample(order) > range_window_bytes() / range.bytes;
}

bool order_is_empty(const struct order *order)
{
    return order->next == NULL;
}

bool order_has_next(const struct order *order)
{
    return order->fd >= 0 && !order->failed && !order_is_empty(order) && may_go_on(order) &&
           !is_far(order);
}

uint64_t order_take(struct order *order, char path[STK_PATH_BYTES])
{
    const char *next = order->next->paths + order->at;
    if (!stk_text_copy(path, STK_PATH_BYTES, next)) {
        path[0] = '\0';
    }
    order->at += strlen(next) + 1;
    if (order->dataset != 0 && !order->believed && path[0] != '\0') {
        sample_files_note_probe(sample_files_of(order->dataset));
    }
    if (order->at == order->next->bytes) {
        order->next = order->next->next;
        order->at = 0;
        drop_taken(order);
    }
    return order->taken++;
}

static unsigned distance_of(const struct order *order)
{
    return order->leader != NULL     ? BESIDE_DISTANCE
           : order_is_of_tree(order) ? TREE_DISTANCE
                                     : DISTANCE;
}

/* The loader hears of its own orders alone, and whether names follow from its ids. */
static void answer(const struct order *order, char word)
{
    if (order->leader == NULL || order->leader->has_ids) {
        (void)!send(order->fd, &word, sizeof word, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

void order_probe(struct order *order, uint64_t number, uint32_t record)
{
    unsigned distance = distance_of(order);
    bool is_first =
        number < ORDER_PROBES || (order_begins_amid(order) && order->probing < ORDER_PROBES);
    order->skipped += record == 0;
    if (order->dataset == 0 && (is_first || number % distance == 0) && record != 0) {
        order->probes[order->probing++ % ORDER_PROBES] =
            (struct order_probe){number, record, is_first ? 1 : distance};
        if (order->probing == PROVEN) {
            answer(order, ORDER_PROBED);
        }
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
    unsigned slack = order->leader != NULL ? BESIDE_SLACK : ORDER_SLACK;
    if (stk_run_opens(run, probe->record) > 0) {
        order->opened++;
        order->confirmed += probe->each;
        order->recent <<= 1;
        probe->record = 0;
    } else if (!is_in_no_order(order) && probe->number + slack < order->done) {
        order->missed++;
        order->recent = order->recent << 1 | 1;
        probe->record = 0;
    }
}

/* Returns true if most of the files were not opened: of all, or of a rule's last ones. */
static bool is_refuted(const struct order *order)
{
    int recent = __builtin_popcount(order->recent & BESIDE_RECENT);
    return (order->missed >= PROVEN && order->missed > order->opened) ||
           (order->leader != NULL && recent > (int)PROVEN);
}

static void believe(struct order *order)
{
    order->believed = true;
    answer(order, ORDER_BELIEVED);
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
    if (!order->failed && is_refuted(order)) {
        order->failed = true;
        if (order->leader == NULL) { /* another rule for the same ids may hold */
            answer(order, ORDER_REFUTED);
        }
    }
}

/* Returns how many files were read and not opened, though the loader is done with them. Some may
 * still be on their way. */
static uint64_t count_vain(const struct order *order)
{
    uint64_t read = order->taken - order->skipped;
    uint64_t wanted = order->taken > order->done ? order->taken - order->done : 0;
    uint64_t rest = read > wanted ? read - wanted : 0;
    return rest > order->opened ? rest - order->opened : 0;
}

void order_judge_rule(const struct order *order)
{
    unsigned missed = order->missed;
    for (unsigned i = 0; i < ORDER_PROBES; i++) {
        const struct order_probe *probe = &order->probes[i];
        missed += probe->record != 0 && probe->number < order->done;
    }
    if (order->leader != NULL &&
        (is_refuted(order) || (missed >= PROVEN && missed > order->opened))) {
        beside_refute(order->leader->list_of, order->rule);
    }
    if (order->leader != NULL && !order->believed) {
        beside_note_vain(order->leader->list_of, order->rule, count_vain(order));
    }
}
