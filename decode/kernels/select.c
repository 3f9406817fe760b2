/* Which kernels this machine gets. */
#include "decode/kernels/kernels.h"
#include "decode/kernels/operation_kernels.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MOST 4 /* kinds of kernels on one kind of processor */

struct choice {
    const struct stk_kernels *kernels;
    bool possible;
};

/* The best one first; returns how many. */
static int choices(struct choice out[MOST])
{
    int count = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
    bool vnni = avx2 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512vnni");
    bool avx512 =
        vnni && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2");
    out[count++] = (struct choice){&stk_kernels_avx512, avx512};
    out[count++] = (struct choice){&stk_kernels_vnni, vnni};
    out[count++] = (struct choice){&stk_kernels_avx2, avx2};
#elif defined(__aarch64__)
    out[count++] = (struct choice){&stk_kernels_neon, true};
#endif
    out[count++] = (struct choice){&stk_kernels_c, true};
    return count;
}

const struct stk_kernels *stk_kernels_select(void)
{
    struct choice list[MOST];
    int count = choices(list);
    const char *wish = getenv("STOKER_SIMD");
    const struct stk_kernels *best = NULL;
    for (int i = 0; i < count; i++) {
        if (!list[i].possible) {
            continue;
        }
        if (wish && strcmp(wish, list[i].kernels->name) == 0) {
            return list[i].kernels;
        }
        best = best ? best : list[i].kernels;
    }
    return best;
}

const struct stk_operations *stk_operations_select(void)
{
#if defined(__x86_64__)
    const struct stk_kernels *kernels = stk_kernels_select();
    if (kernels != &stk_kernels_c) {
        return kernels == &stk_kernels_avx512 ? &stk_operations_avx512 : &stk_operations_avx2;
    }
#endif
    return &stk_operations_plain;
}
