#include "cli/tiers/shared_tier_names.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/sys.h"
#include "cli/os/descriptors.h"

static uint64_t hash_of(const char *name)
{
    return stk_hash_64(name, strlen(name), 0);
}

static int compare(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

static int add(struct shared_tier_names *names, const char *name)
{
    if (names->count == names->room) {
        size_t room = names->room > 0 ? 2 * names->room : 256;
        uint64_t *hashes = realloc(names->hashes, room * sizeof *hashes);
        if (hashes == NULL) {
            return -ENOMEM;
        }
        names->hashes = hashes;
        names->room = room;
    }
    names->hashes[names->count++] = hash_of(name);
    return 0;
}

static int add_all(DIR *directory, struct shared_tier_names *names)
{
    const struct dirent *entry;
    int error = 0;
    errno = 0;
    while (error == 0 && (entry = readdir(directory)) != NULL) {
        error = add(names, entry->d_name);
        errno = 0;
    }
    return error != 0 ? error : -errno;
}

int shared_tier_names_list(const struct shared_tier *shared, const char *directory,
                           struct shared_tier_names *out)
{
    char path[STK_PATH_BYTES];
    *out = (struct shared_tier_names){.count = 0};
    STK_OWNED_FD int home = stk_home_open(shared->home);
    if (home < 0) {
        return home;
    }
    snprintf(path, sizeof path, SHARED_TIER_ENTRIES "%s", directory);
    OWNED_DIR DIR *names = shared_tier_list(home, path);
    int error = names == NULL ? -errno : add_all(names, out);
    if (out->count > 0) {
        qsort(out->hashes, out->count, sizeof *out->hashes, compare);
    }
    return error == -ENOENT ? 0 : error;
}

bool shared_tier_names_have(const struct shared_tier_names *names, const char *name)
{
    uint64_t hash = hash_of(name);
    return names->count > 0 &&
           bsearch(&hash, names->hashes, names->count, sizeof hash, compare) != NULL;
}

void shared_tier_names_free(struct shared_tier_names *names)
{
    free(names->hashes);
    *names = (struct shared_tier_names){.count = 0};
}
