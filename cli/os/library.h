/* Where libstoker.so is, and the environment that loads it. */
#pragma once

/* Returns the library's path, or NULL. The caller frees. */
char *library_find(void);

/* Returns the library's path for LD_PRELOAD. The library lies beside this program, or in ../lib.
 * Since ld.so splits LD_PRELOAD at blanks and colons, a path with one of these is reached by a link
 * in `home`. Ends with a message if there is no library. The caller frees. */
char *library_path(const char *home);

/* Returns the value of LD_PRELOAD with the library behind the present value. So other preloaded
 * libraries still see every call, and the address sanitizer's library stays first, as it must. The
 * caller frees. */
char *library_preload(const char *library);
