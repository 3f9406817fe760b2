#include "cli/args/share_group.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/options.h"
#include "base/path.h"
#include "cli/out/say.h"

#define MOST_GROUPS 1024

/* ---- groups, as the machine knows them ---- */

gid_t group_find(const char *value, struct group **out)
{
    char *name = must_copy(value), *end;
    name[strcspn(name, ":")] = '\0';
    unsigned long number = strtoul(name, &end, 10);
    bool is_number = *name != '\0' && *end == '\0' && number > 0 && number < UINT32_MAX;
    *out = getgrnam(name);
    if (*out == NULL && is_number) {
        *out = getgrgid((gid_t)number);
    }
    if (*out == NULL && !is_number) {
        die("--share %s: no such group on this machine: see `getent group`", name);
    }
    free(name);
    return *out != NULL ? (*out)->gr_gid : (gid_t)number;
}

bool group_is_ours(gid_t gid)
{
    gid_t groups[MOST_GROUPS];
    int count = getgroups(MOST_GROUPS, groups);
    bool have = getegid() == gid;
    for (int i = 0; i < count && !have; i++) {
        have = groups[i] == gid;
    }
    return have;
}

static bool is_member(uid_t uid, gid_t gid)
{
    gid_t groups[MOST_GROUPS];
    int count = MOST_GROUPS;
    const struct passwd *user = getpwuid(uid);
    bool is = false;
    if (user != NULL && getgrouplist(user->pw_name, user->pw_gid, groups, &count) < 0) {
        count = 0;
    }
    for (int i = 0; user != NULL && i < count && !is; i++) {
        is = groups[i] == gid;
    }
    return is;
}

/* ---- the setting ---- */

/* GID:UID,UID... Users beyond the most members are left out: their caches are not used. */
struct setting {
    gid_t gid;
    unsigned count;
    char text[STK_OPTION_BYTES];
};

static bool is_listed(const struct setting *setting, const char *uid)
{
    const char *at = strchr(setting->text, ':');
    size_t length = strlen(uid);
    while (at != NULL && !(strncmp(at + 1, uid, length) == 0 &&
                           (at[1 + length] == ',' || at[1 + length] == '\0'))) {
        at = strchr(at + 1, ',');
    }
    return at != NULL;
}

static void add_user(struct setting *setting, uid_t uid)
{
    char text[16];
    size_t used = strlen(setting->text);
    int length = snprintf(text, sizeof text, "%u", uid);
    if (uid != 0 && setting->count < STK_MEMBERS_MOST && !is_listed(setting, text) &&
        used + (size_t)length + 2 < sizeof setting->text) {
        sprintf(setting->text + used, "%s%s", setting->count++ > 0 ? "," : "", text);
    }
}

static void add_owner(struct setting *setting, uid_t uid)
{
    if (is_member(uid, setting->gid)) {
        add_user(setting, uid);
    }
}

/* Looks at a home, which must belong to the user in its name. So no user can fake many homes. */
static bool look_at_home(DIR *homes, const char *name, struct stat *out)
{
    return strncmp(name, "stoker-", 7) == 0 &&
           fstatat(dirfd(homes), name, out, AT_SYMLINK_NOFOLLOW) == 0 &&
           stk_members_is_home_of(out, name);
}

/* Adds the owners of existing homes first, and then all members that the group database lists. */
static void add_owners(struct setting *setting, const char *tier)
{
    struct stat stat_;
    struct dirent *one;
    DIR *homes = lstat(tier, &stat_) == 0 && stat_.st_gid == setting->gid ? opendir(tier) : NULL;
    if (homes != NULL) {
        add_owner(setting, stat_.st_uid);
    }
    while (homes != NULL && (one = readdir(homes)) != NULL) {
        if (look_at_home(homes, one->d_name, &stat_)) {
            add_owner(setting, stat_.st_uid);
        }
    }
    if (homes != NULL) {
        closedir(homes);
    }
}

static void add_members(struct setting *setting, const struct group *group)
{
    for (char **name = group != NULL ? group->gr_mem : NULL; name != NULL && *name != NULL;
         name++) {
        const struct passwd *user = getpwnam(*name);
        if (user != NULL) {
            add_user(setting, user->pw_uid);
        }
    }
}

static void make_setting(struct setting *setting, const struct request *request,
                         const struct group *group)
{
    snprintf(setting->text, sizeof setting->text, "%u:", setting->gid);
    for (unsigned i = 0; i < request->tier_count; i++) {
        add_owners(setting, request->tiers[i].directory);
    }
    add_members(setting, group);
}

/* Returns true if this node lacks a tier, which may be the one that the group shares. */
static bool lacks_any(const struct request *request)
{
    bool lacks = request->no_tier;
    for (unsigned i = 0; i < request->tier_count; i++) {
        lacks = lacks || request->tiers[i].error != 0;
    }
    return lacks;
}

/* Returns true if the group shares one of the tiers. Trusts such a tier to its owner, a member. */
static bool shares_any(const struct request *request)
{
    bool any = false;
    for (unsigned i = 0; i < request->tier_count; i++) {
        struct stat stat_;
        const char *tier = request->tiers[i].directory;
        if (request->tiers[i].error == 0 && stk_members_has(&request->group, tier) &&
            lstat(tier, &stat_) == 0) {
            stk_home_trust(&stat_);
            any = true;
        }
    }
    return any;
}

void group_settle(struct request *request, const char *given)
{
    static struct setting setting;
    struct group *group;
    const char *variable = getenv(stk_option_table[STK_OPTION_SHARE].variable);
    const char *value = given != NULL ? given : variable;
    if (value == NULL || *value == '\0') {
        return;
    }
    setting = (struct setting){.gid = group_find(value, &group)};
    request->share_name =
        group != NULL ? must_copy(group->gr_name) : must_format("%u", setting.gid);
    if (geteuid() == 0) {
        die("--share %s: root's cache is not shared: run it as the user whose job it is",
            request->share_name);
    }
    if (!group_is_ours(setting.gid)) {
        die("--share %s: you are not in that group, as this session knows: log in anew, or "
            "`newgrp %s`",
            request->share_name, request->share_name);
    }
    make_setting(&setting, request, group);
    request->share = setting.text;
    stk_members_read(&request->group, setting.text);
    bool any = shares_any(request);
    if (!any && !lacks_any(request)) {
        die("--share %s: no tier is that group's: `stoker share /dev/shm/%s %s` makes one, which "
            "--tier /dev/shm/%s names then",
            request->share_name, request->share_name, request->share_name, request->share_name);
    }
    if (!any) {
        request->share = NULL;
        request->group.on = false;
    }
}

void group_each_home(const char *name, const char *beside, void (*visit)(const char *home))
{
    struct group *group;
    struct stat stat_;
    struct dirent *one;
    gid_t gid = group_find(name, &group);
    char *directory = must_format("%.*s", (int)(stk_path_leaf(beside) - beside - 1), beside);
    DIR *homes = opendir(directory);
    while (homes != NULL && (one = readdir(homes)) != NULL) {
        bool other = look_at_home(homes, one->d_name, &stat_) && stat_.st_gid == gid &&
                     stat_.st_uid != geteuid() && stat_.st_uid != 0 && is_member(stat_.st_uid, gid);
        if (other) {
            char *home = must_format("%s/%s", directory, one->d_name);
            visit(home);
            free(home);
        }
    }
    if (homes != NULL) {
        closedir(homes);
    }
    free(directory);
}
