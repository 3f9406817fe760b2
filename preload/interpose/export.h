/*
 * Defines a symbol of libc: under a name of Stoker's own in C, and under its real name for the
 * linker. So the headers' macros and nonnull promises do not touch it. Rust calls statx with a NULL
 * path; with the header's declaration the compiler would delete the test for that.
 */
#pragma once

#include <stddef.h>

#include "preload/interpose/next.h"

#define STK_EXPORT(type, name, PARAMETERS)                                                         \
    type stk_export_##name PARAMETERS __asm__(#name) __attribute__((visibility("default")));       \
    type stk_export_##name PARAMETERS

/* Defines NAME_next(), which makes the program's own call: by the next definition. If there is
 * none, it returns MISSING. PARAMETERS and ARGUMENTS are bracketed lists. */
#define STK_DEFINE_NEXT_OR(MISSING, type, name, PARAMETERS, ARGUMENTS)                             \
    static inline type name##_next PARAMETERS                                                      \
    {                                                                                              \
        type(*next) PARAMETERS = (type(*) PARAMETERS)stk_next(STK_SYM_##name);                     \
        return next != NULL ? next ARGUMENTS : (MISSING);                                          \
    }

/* Defines one that then returns -1 with ENOSYS. */
#define STK_DEFINE_NEXT(type, name, PARAMETERS, ARGUMENTS)                                         \
    STK_DEFINE_NEXT_OR(stk_next_missing(), type, name, PARAMETERS, ARGUMENTS)

/* Defines a symbol, and its NAME_next(). */
#define STK_SYMBOL(type, name, PARAMETERS, ARGUMENTS)                                              \
    STK_DEFINE_NEXT(type, name, PARAMETERS, ARGUMENTS)                                             \
    STK_EXPORT(type, name, PARAMETERS)
