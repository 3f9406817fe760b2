#include "cli/tiers/usage.h"

#include <string.h>

#include "cache/tier/sample_quota.h"
#include "cli/out/say.h"

/* Linux 6.18 keeps 824 to 991 bytes for a file of a tmpfs, as measured twice. */
#define KERNEL_BYTES 900

/* Returns bytes, never below 0: the catalogue may be damaged. */
static uint64_t bytes_of(int64_t blocks)
{
    return blocks > 0 ? (uint64_t)blocks * STK_BLOCK_BYTES : 0;
}

struct usage usage_of(const struct stk_tier *tier)
{
    if (tier->shared == NULL) {
        return (struct usage){0};
    }
    int64_t aside = stk_sample_quota_unused_blocks(tier);
    int64_t used = atomic_load(&tier->shared->budget.used_blocks) - aside;
    int64_t samples = stk_sample_quota_used_blocks(tier);
    const struct stk_budget *budget = &tier->shared->budget;
    return (struct usage){.used_bytes = bytes_of(used),
                          .aside_bytes = bytes_of(aside),
                          .samples_bytes = bytes_of(samples < used ? samples : used),
                          .budget_bytes = budget->blocks * STK_BLOCK_BYTES,
                          .budget_inodes = budget->inodes,
                          .used_inodes = budget->used_inodes};
}

char *usage_text(const struct stk_tier *tier)
{
    char used[STK_SIZE_TEXT], allowed[STK_SIZE_TEXT], aside[STK_SIZE_TEXT];
    struct usage usage = usage_of(tier);
    return must_format(
        "%s of %s used%s%s%s", size_text(used, usage.used_bytes),
        size_text(allowed, usage.budget_bytes > 0 ? (uint64_t)usage.budget_bytes : 0),
        usage.aside_bytes > 0 ? ", " : "",
        usage.aside_bytes > 0 ? size_text(aside, usage.aside_bytes) : "",
        usage.aside_bytes > 0 ? " set aside for decoded copies" : "");
}

char *usage_kernel_text(const struct stk_tier *tier)
{
    char size[STK_SIZE_TEXT];
    struct usage usage = usage_of(tier);
    uint64_t kernel = usage.used_inodes > 0 ? (uint64_t)usage.used_inodes * KERNEL_BYTES : 0;
    if (tier->shared == NULL || tier->shared->memory == 0 || kernel < usage.used_bytes / 16) {
        return must_copy("");
    }
    return must_format(", and some %s of the kernel's for the files", size_text(size, kernel));
}

const struct usage_figure usage_table[USAGE_FIGURES] = {
    {"budget_bytes", "What a tier may hold.", offsetof(struct usage, budget_bytes)},
    {"budget_inodes", "How many files and directories it may hold.",
     offsetof(struct usage, budget_inodes)},
    {"used_bytes", "What it holds, decoded copies included.", offsetof(struct usage, used_bytes)},
    {"set_aside_bytes", "Of the budget, reserved for decoded copies to come.",
     offsetof(struct usage, aside_bytes)},
    {"used_inodes", "How many files and directories it holds.",
     offsetof(struct usage, used_inodes)},
    {"decoded_copies_bytes", "What decoded copies take of it.",
     offsetof(struct usage, samples_bytes)},
};

int64_t usage_read(const struct usage *usage, const struct usage_figure *figure)
{
    int64_t value;
    memcpy(&value, (const char *)usage + figure->place, sizeof value);
    return value;
}

void usage_write_json(struct json *json, const struct stk_tier *tier)
{
    const struct usage usage = usage_of(tier);
    json_text(json, "path", tier->home);
    for (unsigned i = 0; i < USAGE_FIGURES; i++) {
        json_integer(json, usage_table[i].name, usage_read(&usage, &usage_table[i]));
    }
}
