/*
 * Where a store lies: DIRECTORY/pid-NUMBER-BOOT.
 *
 * All users of one store must mean the same process by a number, since LMDB asks by number whether
 * a reader lives. So each pid namespace has a store of its own. Nothing is synced, so a store of an
 * earlier boot is never read: an unclean end of the machine may have damaged it. The store of a
 * namespace that is gone, such as a container's, is removed when no process has opened it for an
 * hour.
 */
#pragma once

#define STK_STORE_PLACE_BYTES 480

/* Makes the directories, removes stores that nothing will use again, writes the path. Returns 0 or
 * an errno: EINVAL for a file system that is not local, or a directory that other users could
 * write; ENAMETOOLONG; or what the system said. */
int stk_store_place(char out[STK_STORE_PLACE_BYTES], const char *directory);
