/* Where libstoker.so is, and the environment that loads it. */
#ifndef STK_CLI_LIBRARY_H
#define STK_CLI_LIBRARY_H

/* Where the library lies, or NULL. The caller frees. */
char *library_find(void);

/* The library's path for LD_PRELOAD: beside this program, or in ../lib. ld.so splits the variable
 * at spaces and colons, so a path with one is reached through a link in `home`. Ends with a message
 * when there is none. The caller frees. */
char *library_path(const char *home);

/* The value of LD_PRELOAD with the library behind what is there already: other preloads then see
 * every call, and the address sanitizer, which must come first, still does. The caller frees. */
char *library_preload(const char *library);

#endif
