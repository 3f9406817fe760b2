/* cache/run/notice.c */
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cache/run/notice.h"

#define HEARD 16

/* A listener that receives notices as the command does. */
static struct {
    int socket;
    unsigned count;
    struct stk_notice heard[HEARD];
    unsigned silent; /* notices that are to get no answer */
    pthread_t thread;
} ear;

static char run[64];

static void *hear(void *context)
{
    struct sockaddr_un from;
    socklen_t length = sizeof from;
    struct stk_notice notice;
    while (recvfrom(ear.socket, &notice, sizeof notice, 0, (struct sockaddr *)&from, &length) ==
           (ssize_t)sizeof notice) {
        ear.heard[ear.count++ % HEARD] = notice;
        if (ear.silent > 0) {
            ear.silent--;
        } else {
            sendto(ear.socket, &notice, sizeof notice, 0, (struct sockaddr *)&from, length);
        }
        length = sizeof from;
    }
    return context;
}

static void name_run(void)
{
    snprintf(run, sizeof run, "/dev/shm/stoker-0/runs/%d-unit", getpid());
}

static void open_ear(void)
{
    struct stk_notice_address own;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    name_run();
    stk_notice_address(&own, run);
    memcpy(address.sun_path + 1, own.name, strlen(own.name));
    ear.socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(
        bind(ear.socket, (struct sockaddr *)&address,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(own.name))),
        0);
    ck_assert_int_eq(pthread_create(&ear.thread, NULL, hear, NULL), 0);
}

static void close_ear(void)
{
    shutdown(ear.socket, SHUT_RDWR);
    pthread_join(ear.thread, NULL);
    close(ear.socket);
}

START_TEST(nothing_listens)
{
    static struct stk_notices notices;
    name_run();
    ck_assert(!stk_notices_reach(&notices, run));
    ck_assert_uint_eq(notices.count, 0);
    stk_notices_tell(&notices, 7, STK_CHANGED);
}
END_TEST

START_TEST(is_heard_before_it_returns)
{
    static struct stk_notices notices;
    struct stk_notice_address own;
    open_ear();
    stk_notice_address(&own, run);
    ck_assert(stk_notices_reach(&notices, run));
    ck_assert_uint_eq(ear.count, 1);
    ck_assert_uint_eq(ear.heard[0].kind, STK_NOTICE_GREETING);
    stk_notices_tell(&notices, 7, STK_CHANGED);
    stk_notices_tell(&notices, 8, STK_WRITTEN);
    ck_assert_uint_eq(ear.count, 3);
    ck_assert_uint_eq(ear.heard[1].hash, 7);
    ck_assert_uint_eq(ear.heard[1].kind, STK_CHANGED);
    ck_assert_uint_eq(ear.heard[2].hash, 8);
    ck_assert_uint_eq(ear.heard[2].kind, STK_WRITTEN);
    ck_assert_uint_eq(ear.heard[2].magic, STK_NOTICE_MAGIC);
    ck_assert_mem_eq(ear.heard[2].token, own.token, sizeof own.token);
    close_ear();
}
END_TEST

/* The ear of a busy machine may answer too late. */
static void tell_until_heard(struct stk_notices *notices, uint64_t hash)
{
    for (unsigned i = 0; i < 1000 && (i == 0 || atomic_load(&notices->runs[0].missed)); i++) {
        stk_notices_tell(notices, hash, STK_CHANGED);
    }
    ck_assert(!atomic_load(&notices->runs[0].missed));
    ck_assert_uint_eq(ear.heard[(ear.count - 1) % HEARD].hash, hash);
}

/* The next notice says that everything was written. */
START_TEST(makes_up_for_what_was_missed)
{
    static struct stk_notices notices;
    open_ear();
    ck_assert(stk_notices_reach(&notices, run));
    ear.silent = 1;
    stk_notices_tell(&notices, 7, STK_CHANGED);
    ck_assert_uint_eq(ear.count, 2);
    ck_assert(atomic_load(&notices.runs[0].missed));
    tell_until_heard(&notices, 8);
    ck_assert_uint_ge(ear.count, 4);
    ck_assert_uint_eq(ear.heard[(ear.count - 2) % HEARD].hash, STK_CHANGES_EVERYTHING);
    ck_assert_uint_eq(ear.heard[(ear.count - 2) % HEARD].kind, STK_WRITTEN);
    unsigned before = ear.count;
    stk_notices_tell(&notices, 9, STK_CHANGED);
    ck_assert_uint_eq(ear.count, before + 1);
    close_ear();
    stk_notices_tell(&notices, 10, STK_CHANGED);
    ck_assert(atomic_load(&notices.runs[0].missed));
}
END_TEST

START_TEST(names_differ)
{
    struct stk_notice_address one, other;
    stk_notice_address(&one, "/dev/shm/stoker-0/runs/1");
    stk_notice_address(&other, "/dev/shm/stoker-0/runs/2");
    ck_assert_str_ne(one.name, other.name);
    ck_assert_uint_ne(one.token[0], other.token[0]);
    ck_assert_uint_eq(strlen(one.name), STK_NOTICE_NAME - 1);
}
END_TEST

Suite *suite_notice(void)
{
    Suite *suite = suite_create("notice");
    TCase *all = unit_case(suite, "notice");
    tcase_add_test(all, nothing_listens);
    tcase_add_test(all, is_heard_before_it_returns);
    tcase_add_test(all, makes_up_for_what_was_missed);
    tcase_add_test(all, names_differ);
    return suite;
}
