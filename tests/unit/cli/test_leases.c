/* cli/os/leases.c */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/os/leases.h"

#define LEASES 80 /* more lines than the kernel gives at once */
#define LOCKED 20
#define LOOKS  6000

static atomic_bool over;

static int new_file(int flags)
{
    char name[] = "/tmp/stoker-unit-lease-XXXXXX";
    int fd = mkstemp(name), again = open(name, flags | O_CLOEXEC);
    ck_assert_int_ge(again, 0);
    unlink(name);
    close(fd);
    return again;
}

/* Locks files and unlocks them, so that lines of /proc/locks come and go. */
static void *lock_and_unlock(void *files)
{
    struct flock lock = {.l_type = F_WRLCK}, unlock = {.l_type = F_UNLCK};
    for (unsigned i = 0; !over; i++) {
        const int *fd = (const int *)files + i * 7 % LOCKED;
        fcntl(*fd, F_OFD_SETLK, i % 3 == 0 ? &unlock : &lock);
    }
    return NULL;
}

static uint64_t number_of(int fd)
{
    struct stat stat;
    ck_assert_int_eq(fstat(fd, &stat), 0);
    return stat.st_ino;
}

START_TEST(leases_among_locks_that_come_and_go)
{
    int leased[LEASES], locked[LOCKED], missed = 0;
    for (int i = 0; i < LEASES; i++) {
        leased[i] = new_file(O_RDONLY);
        UNIT_NEEDS(fcntl(leased[i], F_SETLEASE, F_WRLCK) == 0,
                   "needs a /tmp whose files can be leased");
    }
    for (int i = 0; i < LOCKED; i++) {
        locked[i] = new_file(O_RDWR);
    }
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, lock_and_unlock, locked), 0);
    for (int i = 0; i < LOOKS; i++) {
        missed += !lease_is_held(number_of(leased[i % LEASES]));
    }
    over = true;
    pthread_join(thread, NULL);
    ck_assert_int_eq(missed, 0);
    ck_assert(!lease_is_held(number_of(locked[0])));
}
END_TEST

Suite *suite_leases(void)
{
    Suite *suite = suite_create("leases");
    TCase *all = unit_case(suite, "leases");
    tcase_add_test(all, leases_among_locks_that_come_and_go);
    return suite;
}
