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

Suite *suite_order_queue(void)
{
    Suite *suite = suite_create("order_queue");
    TCase *all = unit_case(suite, "order_queue");
    tcase_add_test(all, a_file_to_be_read);
    return suite;
}
