#include "cli/run/run_users.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sys.h"
#include "base/text.h"
#include "cli/os/descriptors.h"
#include "cli/os/detached.h"

#define PATIENCE_NS (5 * STK_NS_PER_S) /* for all users together */

/* ---- finding a run's users ---- */

/* Returns true if a process of the run with this number marked the catalogue in that home, and
 * another user owns it. Puts that user and its group in `out`. */
static bool is_marked(int directory, const char *name, uint32_t number, struct run_user *out)
{
    char path[STK_HOME_BYTES];
    struct stat stat_;
    uint32_t kept_by_run = 0;
    snprintf(path, sizeof path, "%s/catalogue", name);
    STK_OWNED_FD int fd = stk_sys_open_beneath(directory, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool marked = fd >= 0 && fstat(fd, &stat_) == 0 && S_ISREG(stat_.st_mode) &&
                  stat_.st_uid != geteuid() &&
                  stk_catalogue_read_kept_by_run(fd, &kept_by_run) == 0 && kept_by_run == number;
    if (marked) {
        out->uid = stat_.st_uid;
        out->gid = stat_.st_gid;
    }
    return marked;
}

/* Returns true if this user has as many homes in the list as one user may have. */
static bool has_enough(const struct run_users *users, uid_t uid)
{
    unsigned homes = 0;
    for (unsigned i = 0; i < users->count; i++) {
        homes += users->all[i].uid == uid;
    }
    return homes >= RUN_USERS_OF_ONE;
}

static void add(struct run_users *users, const struct run_user *user)
{
    if (has_enough(users, user->uid)) {
        return;
    }
    if (users->count < RUN_USERS_MOST) {
        users->all[users->count++] = *user;
    } else {
        users->beyond++;
    }
}

static void look_at(struct run_users *users, const char *directory, int fd, const char *name,
                    uint32_t number)
{
    struct run_user user = {.end = REMOVAL_USER_KEPT};
    int length = snprintf(user.home, sizeof user.home, "%s/%s", directory, name);
    if (length < (int)sizeof user.home && strncmp(name, "stoker-", 7) == 0 &&
        is_marked(fd, name, number, &user)) {
        add(users, &user);
    }
}

static void find(struct run_users *users, const char *directory, uint32_t number)
{
    OWNED_DIR DIR *names = opendir(directory);
    struct dirent *entry;
    while (names != NULL && (entry = readdir(names)) != NULL) {
        look_at(users, directory, dirfd(names), entry->d_name, number);
    }
}

/* ---- as one of them ---- */

struct visit {
    struct run_user user;
    bool keep;
};

/* Takes the user's rights. Returns true if this process has those rights and no others. */
static bool become(const struct run_user *user)
{
    uid_t uid = user->uid;
    gid_t gid = user->gid;
    return setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 &&
           setresuid(uid, uid, uid) == 0 && geteuid() == uid && stk_sys_capabilities() == 0;
}

static void count(struct run_user *user)
{
    static struct stk_run_view view;
    char path[STK_HOME_BYTES];
    if (stk_run_path(path, user->home, STK_RUN_OUTSIDE) && stk_run_look(path, &view) == 0) {
        for (int epoch = 0; epoch < STK_RUN_EPOCHS; epoch++) {
            user->opens += view.counts.epochs[epoch][STK_COUNT_OPENS];
            user->hits += view.counts.epochs[epoch][STK_COUNT_HITS];
        }
    }
}

static void visit_home(void *context, int out)
{
    struct visit *visit = context;
    struct run_user *user = &visit->user;
    if (!become(user) || stk_home_check(user->home) != 0) {
        return;
    }
    count(user);
    if (!visit->keep) {
        user->end = removal_end_run_user(user->home);
    }
    detached_answer(out, user, sizeof *user);
}

void run_users_end(const struct session *session, bool keep, struct run_users *out)
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
        struct run_user seen;
        int64_t left_ms = (until_ns - stk_clock_boottime_ns()) / 1000000;
        visit.user = out->all[i];
        if (detached_ask(visit_home, &visit, &seen, sizeof seen, left_ms > 0 ? (int)left_ms : 0) ==
            DETACHED_ANSWERED) {
            out->all[i] = seen;
        } else {
            out->all[i].end = REMOVAL_USER_USED;
        }
    }
}
