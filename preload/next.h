/*
 * The next symbols: what a call would have reached without us, usually libc's, or another
 * preload's. Each is looked up when it is first needed, and all before the process has a second
 * thread: its child may be forked while another thread holds the loader's lock, which is then held
 * for ever.
 */
#ifndef STK_PRELOAD_NEXT_H
#define STK_PRELOAD_NEXT_H

enum stk_symbol {
#define X(name) STK_SYM_##name,
#include "preload/symbols.def"
#undef X
    STK_SYM_COUNT
};

/*
 * The next definition of this symbol, or NULL: this libc has none (stat before glibc 2.33), or the
 * look-up itself has led back here (some programs replace what it uses). The caller then
 * makes the system call itself. Safe in threads and after fork; in a signal handler as safe as
 * dlsym, since the look-up, once in each process, takes the loader's lock. Leaves errno alone.
 */
void *stk_next(enum stk_symbol symbol);

/* Looks up all that were not needed yet, once; for who is about to start a thread. As above. */
void stk_next_find_all(void);

/* What a symbol answers that has no next definition and no system call of its own: -1, ENOSYS. */
int stk_next_missing(void);

/* The next definition as a function of the given type. */
#define STK_NEXT(symbol, type) ((type)stk_next(STK_SYM_##symbol))

#endif
