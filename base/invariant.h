/*
 * Invariants: conditions that no input can break, only a mistake in the code. A test build (SAN=,
 * and the unit tests) checks them and aborts; in what users get they cost nothing and are not
 * evaluated: a guest never aborts the program. A condition on what a file or shared memory holds is
 * no invariant, since others can write there.
 */
#pragma once

#ifdef STK_INVARIANTS
/* Writes the condition and its place to the standard error, and aborts. */
_Noreturn void stk_invariant_fail(const char *file, int line, const char *condition);
#define STK_INVARIANT(x) ((x) ? (void)0 : stk_invariant_fail(__FILE__, __LINE__, #x))
#else
#define STK_INVARIANT(x) ((void)sizeof(!(x)))
#endif
