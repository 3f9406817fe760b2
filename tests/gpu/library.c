/* Plans as a shared library, for tests that compare them with torch (tests/gpu/test_torch.py). */
#include "gpu/plan.h"
#include "gpu/host.h"
#include "tests/gpu/walk.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT const char *test_plan(struct stk_gpu_plan *plan);
EXPORT void test_run(const struct stk_gpu_plan *plan, const struct stk_gpu_image *images,
                     size_t count, void *out);
EXPORT void test_walk(const struct stk_gpu_plan *plan, const struct stk_gpu_image *images,
                      size_t count, void *out);

const char *test_plan(struct stk_gpu_plan *plan)
{
    return stk_gpu_plan_finish(plan);
}

void test_run(const struct stk_gpu_plan *plan, const struct stk_gpu_image *images, size_t count,
              void *out)
{
    stk_gpu_plan_run(plan, images, 0, count, out);
}

void test_walk(const struct stk_gpu_plan *plan, const struct stk_gpu_image *images, size_t count,
               void *out)
{
    struct stk_gpu_job job = stk_gpu_plan_job(plan, (uintptr_t)images, count, (uintptr_t)out);
    walk(walk_entry_for(plan->type, plan->layout, plan->channels), &job,
         stk_gpu_blocks(plan->width, plan->height, plan->type), (uint32_t)count);
}
