/*
 * The one selector for the processor: stk_arch_syscall6(), and STK_ARCH_OLD(), which leaves its
 * arguments out on machines that lack the old system calls.
 * Returns the kernel's own answer: 0 or positive, or -errno. Touches no errno.
 */
#pragma once

#if defined(__x86_64__)
#include "base/arch/x86_64.h"
#elif defined(__aarch64__)
#include "base/arch/aarch64.h"
#else
#error "Stoker runs on x86-64 and arm64 Linux"
#endif
