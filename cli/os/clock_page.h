/* The page by which the kernel gives a process the time without a system call (the vDSO). */
#pragma once

/* Has base/sys.h read the clocks from the kernel's page, where there is one. libc's function would
 * not do: a library that shows a program another time (libfaketime) replaces it, and the times that
 * processes share would differ. Called before the process has threads. */
void clock_page_use(void);
