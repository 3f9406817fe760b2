#include "cli/run/guests.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sys.h"
#include "base/text.h"
#include "cli/os/detached.h"

#define PATIENCE_NS (5 * STK_NS_PER_S) /* for all guests together */

/* ---- finding guests ---- */

/* Returns true if a process of the run with this number marked the catalogue in that home, and
 * another user owns it. Puts that user and its group in `out`. */
static bool is_marked(int directory, const char *name, uint32_t number, struct guest *out)
{
    char path[STK_HOME_BYTES];
    struct stat stat_;
    uint32_t guest_of = 0;
    snprintf(path, sizeof path, "%s/catalogue", name);
    int fd = stk_sys_open_beneath(directory, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool marked = fd >= 0 && fstat(fd, &stat_) == 0 && S_ISREG(stat_.st_mode) &&
                  stat_.st_uid != geteuid() && stk_catalogue_read_guest(fd, &guest_of) == 0 &&
                  guest_of == number;
    if (marked) {
        out->uid = stat_.st_uid;
        out->gid = stat_.st_gid;
    }
    if (fd >= 0) {
        close(fd);
    }
    return marked;
}

/* Returns true if this user has as many homes in the list as one user may have. */
static bool has_enough(const struct guests *guests, uid_t uid)
{
    unsigned homes = 0;
    for (unsigned i = 0; i < guests->count; i++) {
        homes += guests->guests[i].uid == uid;
    }
    return homes >= GUESTS_OF_ONE;
}

static void add(struct guests *guests, const struct guest *guest)
{
    if (has_enough(guests, guest->uid)) {
        return;
    }
    if (guests->count < GUESTS_MOST) {
        guests->guests[guests->count++] = *guest;
    } else {
        guests->beyond++;
    }
}

static void look_at(struct guests *guests, const char *directory, int fd, const char *name,
                    uint32_t number)
{
    struct guest guest = {.end = REMOVAL_GUEST_KEPT};
    int length = snprintf(guest.home, sizeof guest.home, "%s/%s", directory, name);
    if (length < (int)sizeof guest.home && strncmp(name, "stoker-", 7) == 0 &&
        is_marked(fd, name, number, &guest)) {
        add(guests, &guest);
    }
}

static void find(struct guests *guests, const char *directory, uint32_t number)
{
    DIR *names = opendir(directory);
    struct dirent *entry;
    while (names != NULL && (entry = readdir(names)) != NULL) {
        look_at(guests, directory, dirfd(names), entry->d_name, number);
    }
    if (names != NULL) {
        closedir(names);
    }
}

/* ---- as a guest ---- */

struct visit {
    struct guest guest;
    bool keep;
};

/* Takes the guest's rights. Returns true if this process has those rights and no others. */
static bool become(const struct guest *guest)
{
    uid_t uid = guest->uid;
    gid_t gid = guest->gid;
    return setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 &&
           setresuid(uid, uid, uid) == 0 && geteuid() == uid && stk_sys_capabilities() == 0;
}

static void count(struct guest *guest)
{
    static struct stk_run_view view;
    char path[STK_HOME_BYTES];
    if (stk_run_path(path, guest->home, STK_RUN_OUTSIDE) && stk_run_look(path, &view) == 0) {
        for (int epoch = 0; epoch < STK_RUN_EPOCHS; epoch++) {
            guest->opens += view.counts.epochs[epoch][STK_COUNT_OPENS];
            guest->hits += view.counts.epochs[epoch][STK_COUNT_HITS];
        }
    }
}

static void visit_home(void *context, int out)
{
    struct visit *visit = context;
    struct guest *guest = &visit->guest;
    if (!become(guest) || stk_home_check(guest->home) != 0) {
        return;
    }
    count(guest);
    if (!visit->keep) {
        guest->end = removal_end_guest(guest->home);
    }
    detached_answer(out, guest, sizeof *guest);
}

void guests_end(const struct session *session, bool keep, struct guests *out)
{
    char directory[STK_HOME_BYTES];
    struct visit visit = {.keep = keep};
    int64_t until_ns = stk_clock_boottime_ns() + PATIENCE_NS;
    out->count = out->beyond = 0;
    if (geteuid() != 0 || !stk_text_copy(directory, sizeof directory, session->home)) {
        return;
    }
    *strrchr(directory, '/') = '\0';
    find(out, directory, stk_run_number(session->run.path));
    for (unsigned i = 0; i < out->count; i++) {
        struct guest seen;
        int64_t left_ms = (until_ns - stk_clock_boottime_ns()) / 1000000;
        visit.guest = out->guests[i];
        if (detached_ask(visit_home, &visit, &seen, sizeof seen, left_ms > 0 ? (int)left_ms : 0) ==
            DETACHED_ANSWERED) {
            out->guests[i] = seen;
        } else {
            out->guests[i].end = REMOVAL_GUEST_USED;
        }
    }
}
