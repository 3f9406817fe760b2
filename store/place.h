/*
 * Where a store lies: DIRECTORY/pid-NUMBER-BOOT. Process numbers must mean the same to all who use
 * one (LMDB asks by number whether a reader lives), so each pid namespace has its own; and what an
 * unclean end of the machine left, is never read: nothing is synced. What a namespace has left that
 * is gone, such as a container's, is removed when nobody has opened it for an hour.
 */
#ifndef STK_STORE_PLACE_H
#define STK_STORE_PLACE_H

#define STK_STORE_PLACE_BYTES 480

/* Makes the directories, removes what others have left, writes the path. 0 or an errno: EINVAL
 * for a file system that is not local, or a directory that others could write; ENAMETOOLONG; ... */
int stk_store_place(char out[STK_STORE_PLACE_BYTES], const char *directory);

#endif
