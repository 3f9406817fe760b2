/* A mount namespace of this process's own, for tests that need a /dev/shm of their own.
 */
#ifndef STK_TESTS_PRIVATE_H
#define STK_TESTS_PRIVATE_H

#include <stdbool.h>

/* Makes one, with an empty tmpfs on /dev/shm, mounted with these options. Root gets it directly,
 * others in a user namespace of their own, if they may. False, with errno: not here. */
bool private_enter(const char *options);

#endif
