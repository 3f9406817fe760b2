#include "cli/run/notices.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cache/run/notice.h"
#include "cli/os/thread.h"

static int hearing = -1; /* the socket */
static struct stk_notice_address own;
static struct stk_catalogue *noted; /* the run's catalogue */
static pthread_t listener;
static bool listening;
static atomic_bool over;

static socklen_t name_socket(struct sockaddr_un *out)
{
    size_t length = strlen(own.name);
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(out->sun_path + 1, own.name, length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

static void close_socket(void)
{
    if (hearing >= 0) {
        close(hearing);
        hearing = -1;
    }
}

void notices_open(struct session *session)
{
    struct sockaddr_un address;
    stk_notice_address(&own, session->run.path);
    noted = &session->catalogue;
    socklen_t bytes = name_socket(&address);
    hearing = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (hearing >= 0 && bind(hearing, (struct sockaddr *)&address, bytes) != 0) {
        close_socket();
    }
}

/* Returns true if the sender knows the run. */
static bool is_notice(const struct stk_notice *notice, ssize_t bytes)
{
    return bytes == (ssize_t)sizeof *notice && notice->magic == STK_NOTICE_MAGIC &&
           memcmp(notice->token, own.token, sizeof own.token) == 0;
}

static void note(const struct stk_notice *notice)
{
    if (notice->kind == STK_CHANGED || notice->kind == STK_WRITTEN) {
        stk_changes_note(noted, notice->hash, (enum stk_changes_kind)notice->kind, NULL);
    }
}

/* Notes and answers notices until the run is over. Drops an answer for which the receiver has no
 * room. */
static void *listen_on(void *context)
{
    struct stk_notice notice;
    struct sockaddr_un from;
    while (!atomic_load(&over)) {
        socklen_t length = sizeof from;
        ssize_t got =
            recvfrom(hearing, &notice, sizeof notice, 0, (struct sockaddr *)&from, &length);
        if (is_notice(&notice, got)) {
            note(&notice);
            sendto(hearing, &notice, sizeof notice, MSG_DONTWAIT | MSG_NOSIGNAL,
                   (struct sockaddr *)&from, length);
        }
    }
    return context;
}

void notices_begin(void)
{
    listening = hearing >= 0 && thread_start(&listener, listen_on, NULL);
    if (!listening) {
        close_socket(); /* no process shall wait for an answer */
    }
}

void notices_end(void)
{
    if (listening) {
        atomic_store(&over, true);
        shutdown(hearing, SHUT_RDWR);
        pthread_join(listener, NULL);
        listening = false;
    }
    close_socket();
}
