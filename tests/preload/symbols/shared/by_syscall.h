/* System calls by syscall(), as programs make them that do not use libc's functions. */
#pragma once

/* Returns a function with the arguments of libc's function of that name, which makes the kernel's
 * call of the same meaning by syscall(). Returns NULL if there is none here. */
void *by_syscall(const char *name);
