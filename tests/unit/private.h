/* A mount namespace of this process's own, for tests that need a /dev/shm of their own.
 */
#pragma once

#include <stdbool.h>

/* Makes one, with an empty tmpfs on /dev/shm, mounted with these options. Root gets it directly,
 * others in a user namespace of their own, if they may. False, with errno: not here. */
bool private_enter(const char *options);
