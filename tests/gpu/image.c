/* A kernel's image for the driver of the tests (tests/gpu/driver.c), which has the kernel in
 * itself. */
#include "gpu/image.h"

const unsigned char stk_gpu_fatbin[] = "the kernel";
const size_t stk_gpu_fatbin_bytes = sizeof stk_gpu_fatbin;
const unsigned char stk_gpu_ptx[] = "the kernel as text";
const size_t stk_gpu_ptx_bytes = sizeof stk_gpu_ptx;
