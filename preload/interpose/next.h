/*
 * Finds the next symbols: the functions that a call would have reached without the library, usually
 * libc's, or another preload's. Each is looked up when it is first needed, and all before the
 * process has a second thread. If a child is forked while another thread holds the loader's lock,
 * that lock is held for ever in the child.
 */
#pragma once

enum stk_symbol {
#define X(name) STK_SYM_##name,
#include "preload/interpose/symbols.def"
#undef X
    STK_SYM_COUNT
};

/*
 * Returns the next definition of this symbol. Returns NULL if this libc has none (stat before glibc
 * 2.33). Returns NULL, too, if the look-up itself has led back here, as some programs replace what
 * it uses. Then the caller makes the system call itself.
 *
 * Safe in threads and after fork. In a signal handler as safe as dlsym, since the look-up, once in
 * each process, takes the loader's lock. Leaves errno alone.
 */
void *stk_next(enum stk_symbol symbol);

/* Looks up all symbols that were not needed yet, once. Call it before a thread is started. As safe
 * as stk_next. */
void stk_next_find_all(void);

/* Return -1 or NULL with ENOSYS, for a symbol that has neither a next definition nor a system call
 * of its own. */
int stk_next_missing(void);
void *stk_next_missing_pointer(void);
/* Returns what libc would for the answer of a system call: -1 with errno for -errno. */
long stk_next_result(long answer);

/* Returns the next definition as a function of the given type. */
#define STK_NEXT(symbol, type) ((type)stk_next(STK_SYM_##symbol))
