/*
 * Part of a library that holds LMDB's archive, which Debian makes for programs: code that takes the
 * address of another library's variable as a program may, and no shared library can. There is one
 * such variable, stderr, and the linker leads it here (--wrap=stderr). LMDB writes there what it
 * says before it aborts.
 */
#include <stdio.h>

extern FILE *libc_stderr __asm__("__real_stderr");
extern FILE *lmdb_stderr __asm__("__wrap_stderr") __attribute__((visibility("hidden")));
FILE *lmdb_stderr;

__attribute__((constructor)) static void set_stderr(void)
{
    lmdb_stderr = libc_stderr;
}
