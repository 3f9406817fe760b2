/* One Linux system call on x86-64, without errno and without libc. */
#pragma once

static inline long stk_arch_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

/* This machine has the old system calls, such as open, which newer machines lack. */
#define STK_ARCH_OLD(...) __VA_ARGS__
