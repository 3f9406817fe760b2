/* cli/ahead/orders/order_queue.c */
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/ahead/orders/order.h"
#include "cli/ahead/orders/order_queue.h"
#include "cli/ahead/orders/sample_files.h"

#define OTHERS 100 /* ranks and validation loaders, each of some lists */

static struct stk_run run;

static void *listen_for_orders(void *unused)
{
    order_queue_listen(&run);
    return unused;
}

/* Returns the connection of a loader. */
static int connect_loader(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(order_queue_name());
    memcpy(address.sun_path + 1, order_queue_name(), length);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, bytes), 0);
    return fd;
}

START_TEST(a_file_to_be_read)
{
    pthread_t listener;
    struct ordered_file file;
    struct {
        struct order_message head;
        char path[3];
    } message = {{.magic = ORDER_MAGIC}, "/a"};
    int hearing = order_queue_open();
    ck_assert_int_ge(hearing, 0);
    ck_assert_int_eq(pthread_create(&listener, NULL, listen_for_orders, NULL), 0);
    for (int i = 0; i < OTHERS; i++) {
        connect_loader();
    }
    int loader = connect_loader();
    ck_assert(!order_queue_has_next());
    size_t bytes = sizeof message.head + sizeof message.path;
    ck_assert_int_eq(send(loader, &message, bytes, 0), (ssize_t)bytes);
    UNIT_WAIT_UNTIL(order_queue_has_next());
    ck_assert(order_queue_take(&file));
    ck_assert_str_eq(file.path, "/a");
    ck_assert(!order_queue_has_next());
    ck_assert_int_eq(send(loader, &message, bytes, 0), (ssize_t)bytes);
    UNIT_WAIT_UNTIL(order_queue_has_next());
    close(loader); /* the pass is over: the job wants none of its files any more */
    UNIT_WAIT_UNTIL(!order_queue_has_next());
    shutdown(hearing, SHUT_RDWR); /* as order_queue_close() does in another process */
    pthread_join(listener, NULL);
    ck_assert(!order_queue_take(&file));
}
END_TEST

/* Sends a message whose body says what samples of a data set have opened, or which come next. */
static void send_samples(int loader, uint64_t done, const void *body, size_t bytes)
{
    char message[1024];
    struct order_message head = {.magic = ORDER_MAGIC, .dataset = 1, .done = done};
    memcpy(message, &head, sizeof head);
    memcpy(message + sizeof head, body, bytes);
    bytes += sizeof head;
    ck_assert_int_eq(send(loader, message, bytes, 0), (ssize_t)bytes);
}

static void open_samples(int loader, uint64_t first, uint64_t end)
{
    for (uint64_t i = first; i < end; i++) {
        struct {
            struct sample_head head;
            char path[8];
        } opened = {{i, 8}, "/file00"};
        opened.path[6] = (char)('a' + i);
        send_samples(loader, ORDER_OPENED, &opened, sizeof opened);
    }
}

static void expect_next(const char *path)
{
    struct ordered_file file;
    ck_assert(order_queue_take(&file));
    ck_assert_str_eq(file.path, path);
}

/* The tree's turn is over once they are believed. */
START_TEST(what_samples_have_opened_and_a_tree)
{
    static const uint64_t indices[] = {0, 1};
    pthread_t listener;
    struct {
        struct order_message head;
        char paths[6];
    } tree = {{.magic = ORDER_MAGIC, .done = ORDER_TREE}, "/t\0/u"};
    ck_assert_int_ge(order_queue_open(), 0);
    ck_assert_int_eq(pthread_create(&listener, NULL, listen_for_orders, NULL), 0);
    int loader = connect_loader();
    open_samples(loader, 0, 8);
    send_samples(loader, 0, indices, sizeof indices[0]);
    expect_next("/file0a");
    int walk = connect_loader();
    size_t bytes = sizeof tree.head + sizeof tree.paths;
    ck_assert_int_eq(send(walk, &tree, bytes, 0), (ssize_t)bytes);
    expect_next("/t");
    ck_assert(!order_queue_has_loaders());
    open_samples(loader, 0, 8);
    send_samples(loader, 0, indices, sizeof indices);
    UNIT_WAIT_UNTIL(order_queue_has_loaders());
    expect_next("/file0a");
    expect_next("/file0b");
    ck_assert(!order_queue_has_next());
}
END_TEST

Suite *suite_order_queue(void)
{
    Suite *suite = suite_create("order_queue");
    TCase *all = unit_case(suite, "order_queue");
    tcase_add_test(all, a_file_to_be_read);
    tcase_add_test(all, what_samples_have_opened_and_a_tree);
    return suite;
}
