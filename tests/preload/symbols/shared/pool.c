/* Hands out the files of the pool, one after the other. */
#include "tests/preload/symbols/shared/pool.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

#include "tests/preload/symbols/shared/paths.h"
#include "tests/preload/symbols/shared/show.h"

static unsigned used;

const char *pool_path(const char *directory, unsigned number)
{
    static char buffers[8][PATH_MAX];
    static unsigned turn;
    char relative[64];
    char *out = buffers[turn++ % 8];
    snprintf(relative, sizeof relative, "%s/%u", directory, number);
    snprintf(out, PATH_MAX, "%s", absolute_path(relative));
    return out;
}

void pool_look(unsigned number)
{
    show_path(pool_path("pool", number));
    show_path(pool_path("poollink", number));
    show_path(pool_path("sym", number));
    if (number % 2 == 0) {
        show_path(pool_path("hard", number));
    }
}

void pool_pin(const char *path)
{
    if (open(path, O_PATH | O_NOFOLLOW) < 0) {
        perror(path);
    }
}

unsigned pool_next(void)
{
    pool_look(used);
    pool_pin(pool_path("pool", used));
    pool_pin(pool_path("sym", used));
    return used++;
}
