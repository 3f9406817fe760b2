#include "cli/ahead/orders/order_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/ahead/orders/order.h"

#define ORDERS   128
#define PAUSE_MS 20 /* until an order that is full, or not proven yet, is looked at again */

static struct {
    int hearing;
    char name[sizeof((struct sockaddr_un *)0)->sun_path];
    struct stk_run *run;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct order order[ORDERS];
    uint64_t pass[ORDERS];
    unsigned turn;
    bool loaders; /* is_of_loader() of an order, for good */
    bool over;
} orders = {.hearing = -1, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* ---- the socket ---- */

/* Lets the kernel choose the name. */
static bool name_socket(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = sizeof address.sun_family;
    if (bind(orders.hearing, (struct sockaddr *)&address, length) != 0) {
        return false;
    }
    length = sizeof address;
    if (getsockname(orders.hearing, (struct sockaddr *)&address, &length) != 0) {
        return false;
    }
    memcpy(orders.name, address.sun_path + 1, length - offsetof(struct sockaddr_un, sun_path) - 1);
    return listen(orders.hearing, ORDERS) == 0;
}

int order_queue_open(void)
{
    for (unsigned i = 0; i < ORDERS; i++) {
        orders.order[i].fd = -1;
    }
    orders.hearing = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (orders.hearing >= 0 && !name_socket()) {
        close(orders.hearing);
        orders.hearing = -1;
    }
    return orders.hearing;
}

const char *order_queue_name(void)
{
    return orders.name;
}

void order_queue_close(void)
{
    shutdown(orders.hearing, SHUT_RDWR);
    close(orders.hearing);
}

/* ---- receiving ---- */

/* Returns true if a process of this user has connected. */
static bool is_of_user(int fd)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0;
    return known && peer.uid == geteuid();
}

static struct order *find_free_slot(void)
{
    unsigned slot = 0;
    while (slot < ORDERS && orders.order[slot].fd >= 0) {
        slot++;
    }
    return slot < ORDERS ? &orders.order[slot] : NULL;
}

static void take_connection(void)
{
    int fd = accept4(orders.hearing, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct order *order = fd >= 0 && is_of_user(fd) ? find_free_slot() : NULL;
    if (order != NULL) {
        order_begin(order, fd);
        orders.pass[order - orders.order]++;
    } else if (fd >= 0) {
        close(fd);
    }
}

/* Gives each rule for the files beside those of an order an order of its own. */
static void begin_beside(struct order *leader)
{
    struct order *order;
    while (order_has_rule(leader) && (order = find_free_slot()) != NULL) {
        int fd = fcntl(leader->fd, F_DUPFD_CLOEXEC, 0);
        if (fd < 0) {
            return;
        }
        order_begin_beside(order, leader, fd);
        orders.pass[order - orders.order]++;
    }
}

static bool is_full(const struct order *order)
{
    return order->received - order->taken >= ORDER_PENDING;
}

/* Receives a message. Returns false if the order is over. */
static bool receive(struct order *order)
{
    static char message[ORDER_MESSAGE_BYTES];
    ssize_t got = recv(order->fd, message, sizeof message, MSG_DONTWAIT | MSG_TRUNC);
    if (got < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    return got > 0 && (size_t)got <= sizeof message && order_add(order, message, (size_t)got);
}

/* Returns true if a loader has sent files. An order of samples counts once it is believed: a wrong
 * guess takes no turn from the trees. */
static bool is_of_loader(const struct order *order)
{
    return !order_is_empty(order) && !order_is_of_tree(order) &&
           (order->dataset == 0 || order->believed);
}

static void end_one(struct order *order)
{
    order_judge(order, orders.run);
    order_judge_rule(order);
    order_end(order);
}

/* Ends an order, and those beside it. */
static void end(struct order *order)
{
    for (unsigned i = 0; i < ORDERS; i++) {
        if (orders.order[i].fd >= 0 && orders.order[i].leader == order) {
            end_one(&orders.order[i]);
        }
    }
    end_one(order);
}

/* Reads what has come. When the loader closes its connection, the order ends: no loader needs the
 * rest. A tree's walk closes it when all paths are sent. */
static void look_at(const struct pollfd *polled, struct order *order)
{
    bool goes_on = order->leader != NULL  ? order_follow(order)
                   : polled->revents != 0 ? receive(order)
                                          : true;
    order->ended = order->ended || !goes_on;
    order_judge(order, orders.run);
    orders.loaders = orders.loaders || is_of_loader(order);
    if (order->failed || order_is_useless(order) ||
        (order->ended && (!order_is_of_tree(order) || order_is_empty(order)))) {
        end(order);
    } else {
        begin_beside(order);
    }
}

/* Returns the timeout: an order that is not read now is looked at later. */
static int list_sockets(struct pollfd polled[1 + ORDERS])
{
    int timeout = -1;
    polled[0] = (struct pollfd){.fd = orders.hearing, .events = POLLIN};
    for (unsigned i = 0; i < ORDERS; i++) {
        const struct order *order = &orders.order[i];
        bool listens = order->fd >= 0 && order->leader == NULL && !order->ended && !is_full(order);
        polled[1 + i] = (struct pollfd){.fd = listens ? order->fd : -1, .events = POLLIN};
        timeout = order->fd >= 0 ? PAUSE_MS : timeout;
    }
    return timeout;
}

/* Returns the slot whose turn it is, or ORDERS if no order has a file that may be read now. */
static unsigned next_slot(void)
{
    for (unsigned i = 1; i <= ORDERS; i++) {
        unsigned slot = (orders.turn + i) % ORDERS;
        const struct order *order = &orders.order[slot];
        if (order_has_next(order) && !(orders.loaders && order_is_of_tree(order))) {
            return slot;
        }
    }
    return ORDERS;
}

/* Wakes the threads only if there is a file: they are many, and a loader sends often. */
static void look_at_all(const struct pollfd polled[1 + ORDERS])
{
    for (unsigned i = 0; i < ORDERS; i++) {
        if (orders.order[i].fd >= 0) {
            look_at(&polled[1 + i], &orders.order[i]);
        }
    }
    if ((polled[0].revents & POLLHUP) != 0) { /* shut down by the other process */
        orders.over = true;
    } else if (polled[0].revents != 0) {
        take_connection();
    }
    if (orders.over || next_slot() != ORDERS) {
        pthread_cond_broadcast(&orders.changed);
    }
}

void order_queue_listen(struct stk_run *run)
{
    struct pollfd polled[1 + ORDERS];
    orders.run = run;
    while (!orders.over) {
        pthread_mutex_lock(&orders.lock);
        int timeout = list_sockets(polled);
        pthread_mutex_unlock(&orders.lock);
        poll(polled, 1 + ORDERS, timeout);
        pthread_mutex_lock(&orders.lock);
        look_at_all(polled);
        pthread_mutex_unlock(&orders.lock);
    }
}

/* ---- taking files ---- */

bool order_queue_has_next(void)
{
    pthread_mutex_lock(&orders.lock);
    bool has_next = next_slot() != ORDERS;
    pthread_mutex_unlock(&orders.lock);
    return has_next;
}

bool order_queue_take(struct ordered_file *out)
{
    unsigned slot;
    pthread_mutex_lock(&orders.lock);
    while ((slot = next_slot()) == ORDERS && !orders.over) {
        pthread_cond_wait(&orders.changed, &orders.lock);
    }
    bool over = orders.over;
    if (!over) {
        orders.turn = slot;
        out->turn.slot = slot;
        out->turn.pass = orders.pass[slot];
        out->turn.number = order_take(&orders.order[slot], out->path);
        out->pass_began_ns = orders.order[slot].began_ns;
        out->of_tree = order_is_of_tree(&orders.order[slot]);
        out->amid = order_begins_amid(&orders.order[slot]);
        out->large = orders.order[slot].done == ORDER_SHARDS;
    }
    pthread_mutex_unlock(&orders.lock);
    return !over;
}

bool order_queue_has_loaders(void)
{
    pthread_mutex_lock(&orders.lock);
    bool any = orders.loaders;
    pthread_mutex_unlock(&orders.lock);
    return any;
}

/* Returns the order of that turn, or NULL if its pass, or all of this, is over. */
static struct order *order_of(const struct order_turn *turn)
{
    struct order *order = &orders.order[turn->slot];
    bool lasts = order->fd >= 0 && orders.pass[turn->slot] == turn->pass && !orders.over;
    return lasts ? order : NULL;
}

void order_queue_report(const struct ordered_file *file, uint32_t record, bool room)
{
    pthread_mutex_lock(&orders.lock);
    struct order *order = order_of(&file->turn);
    if (order != NULL) {
        order_probe(order, file->turn.number, record);
        order_note_room(order, room);
    }
    pthread_mutex_unlock(&orders.lock);
}

uint64_t order_queue_lead(const struct order_turn *turn)
{
    pthread_mutex_lock(&orders.lock);
    const struct order *order = order_of(turn);
    uint64_t lead = order != NULL ? order_lead(order, turn->number) : 0;
    pthread_mutex_unlock(&orders.lock);
    return lead;
}

bool order_queue_was_opened(const struct order_turn *turn, unsigned opens)
{
    pthread_mutex_lock(&orders.lock);
    struct order *order = order_of(turn);
    bool opened = order != NULL && order_was_opened(order, turn->number, opens);
    pthread_mutex_unlock(&orders.lock);
    return opened;
}

static bool is_behind(const struct order_turn *turn, uint64_t slack)
{
    pthread_mutex_lock(&orders.lock);
    const struct order *order = order_of(turn);
    bool behind = order == NULL || (slack < order->done && turn->number < order->done - slack);
    pthread_mutex_unlock(&orders.lock);
    return behind;
}

bool order_queue_is_over(const struct order_turn *turn)
{
    return is_behind(turn, UINT64_MAX);
}

bool order_queue_is_done(const struct order_turn *turn)
{
    return is_behind(turn, 0);
}

bool order_queue_is_late(const struct order_turn *turn)
{
    return is_behind(turn, ORDER_SLACK);
}
