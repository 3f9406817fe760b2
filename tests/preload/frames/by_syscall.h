/* Calls as programs make them that have no libc for them: by syscall(). */
#ifndef STK_TESTS_BY_SYSCALL_H
#define STK_TESTS_BY_SYSCALL_H

/* A function that takes what libc's function of that name takes, and makes the kernel's call of the
 * same meaning by syscall(); NULL: there is none here. */
void *by_syscall(const char *name);

#endif
