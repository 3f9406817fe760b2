/* Text that a program holds: a file of the sources as it was at the build. */
#pragma once

/* Defines the constant string `name` with the bytes of a file, which the assembler puts there. The
 * Makefile names the file as what the object depends on. */
#define EMBEDDED_TEXT(name, file)                                                                  \
    __asm__(".section .rodata, \"a\"\n"                                                            \
            ".global " #name "\n" #name ":\n"                                                      \
            ".incbin \"" file "\"\n"                                                               \
            ".byte 0\n"                                                                            \
            ".previous\n");                                                                        \
    extern const char name[];
