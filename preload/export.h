/*
 * How a symbol of libc is defined here: under a name of our own in C, so that the headers' macros
 * and nonnull promises do not touch it (Rust calls statx with a NULL path; with the header's
 * declaration the compiler would delete our test for that), and under its real name for the linker.
 */
#ifndef STK_PRELOAD_EXPORT_H
#define STK_PRELOAD_EXPORT_H

#define STK_EXPORT(type, name, ...)                                                                \
    type stk_export_##name(__VA_ARGS__) __asm__(#name) __attribute__((visibility("default")));     \
    type stk_export_##name(__VA_ARGS__)

#endif
