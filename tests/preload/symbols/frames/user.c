/* setuid, setgid, setgroups and their kin, prctl and capset. Afterwards the process sees what the
 * new user, or the confined process, may see, and not what it found out before. Changes only the
 * user of a child of its own. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/preload/symbols/shared/frame.h"
#include "tests/preload/symbols/shared/paths.h"
#include "tests/preload/symbols/shared/show.h"

#define NOBODY                65534
#define COUNT(array)          (sizeof(array) / sizeof *(array))
#define CALL(type, name, ...) SHOW(name, ((type *)symbol(name))(__VA_ARGS__))

typedef int one_call(unsigned);
typedef int two_call(unsigned, unsigned);
typedef int three_call(unsigned, unsigned, unsigned);
typedef int groups_call(size_t, const gid_t *);
typedef int init_call(const char *, gid_t);
typedef int prctl_call(int, ...);
typedef int capset_call(void *, const void *);

static const char *const one[] = {"setuid", "seteuid", "setfsuid", "setgid", "setegid", "setfsgid"};
static const char *const two[] = {"setreuid", "setregid"};
static const char *const three[] = {"setresuid", "setresgid"};
static const char *const paths[] = {"a.bin", "private", "forbidden", "sub/b.bin", "link", "none"};

static void show_paths(void)
{
    for (unsigned i = 0; i < COUNT(paths); i++) {
        show_path(paths[i]);
    }
}

/* Sets the thread's capabilities: the effective ones that it has, or none. */
static void set_capabilities(unsigned kept)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    syscall(SYS_capget, &header, data);
    data[0].effective &= kept;
    CALL(capset_call, "capset", &header, data);
    CALL(capset_call, "capset", &header, NULL);
}

/* One after the other: the groups first, as long as that is allowed. */
static void become(unsigned how)
{
    const gid_t groups[] = {NOBODY, 4242};
    switch (how) {
    case 0:
        CALL(groups_call, "setgroups", 0, NULL);
        CALL(groups_call, "setgroups", COUNT(groups), groups);
        CALL(groups_call, "setgroups", 1 << 20, groups);
        show_paths();
        CALL(init_call, "initgroups", "nobody", NOBODY);
        break;
    case 1:
        for (unsigned i = COUNT(one); i-- > 0;) {
            CALL(one_call, one[i], NOBODY);
            show_paths();
        }
        break;
    case 2:
        CALL(two_call, two[1], NOBODY, (unsigned)-1);
        CALL(two_call, two[0], (unsigned)-1, NOBODY);
        show_paths();
        CALL(two_call, two[0], NOBODY, NOBODY);
        break;
    case 3:
        CALL(three_call, three[1], NOBODY, NOBODY, NOBODY);
        CALL(three_call, three[0], NOBODY, NOBODY, 0);
        show_paths();
        CALL(three_call, three[0], 0, 0, 0);
        break;
    case 4:
        CALL(prctl_call, "prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        CALL(prctl_call, "prctl", PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
        break;
    case 5:
        set_capabilities(0);
    }
    show_paths();
}

static void in_child(unsigned how)
{
    int status = -1;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        become(how);
        fflush(stdout);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    SHOW("status", status);
}

/* Here, where nothing of this changes anything. */
static void stay_who_we_are(void)
{
    gid_t groups[256];
    int count = getgroups(COUNT(groups), groups);
    for (unsigned i = 0; i < COUNT(one); i++) {
        CALL(one_call, one[i], i < 3 ? geteuid() : getegid());
        CALL(one_call, one[i], (unsigned)-1);
    }
    CALL(two_call, two[0], (unsigned)-1, geteuid());
    CALL(two_call, two[1], getgid(), (unsigned)-1);
    CALL(three_call, three[0], (unsigned)-1, (unsigned)-1, (unsigned)-1);
    CALL(three_call, three[1], getgid(), getgid(), getgid());
    CALL(groups_call, "setgroups", count > 0 ? (size_t)count : 0, groups);
    CALL(groups_call, "setgroups", (size_t)-1, NULL);
    CALL(prctl_call, "prctl", PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0);
    CALL(prctl_call, "prctl", -1, 0, 0, 0, 0);
    set_capabilities(-1U);
    (void)symbol("initgroups");
}

void body(void)
{
    stay_who_we_are();
    for (unsigned i = 0; i < interesting_count; i++) {
        show_path(interesting_paths[i]);
    }
    stay_who_we_are();
    for (unsigned how = 0; how < 6; how++) {
        in_child(how);
    }
    show_paths();
}
