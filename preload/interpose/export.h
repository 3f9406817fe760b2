/*
 * Defines a symbol of libc: under a name of Stoker's own in C, and under its real name for the
 * linker. So the headers' macros and nonnull promises do not touch it. Rust calls statx with a NULL
 * path; with the header's declaration the compiler would delete the test for that.
 */
#ifndef STK_PRELOAD_INTERPOSE_EXPORT_H
#define STK_PRELOAD_INTERPOSE_EXPORT_H

#define STK_EXPORT(type, name, ...)                                                                \
    type stk_export_##name(__VA_ARGS__) __asm__(#name) __attribute__((visibility("default")));     \
    type stk_export_##name(__VA_ARGS__)

#endif
