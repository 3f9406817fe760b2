/* Prints, as JSON, what the catalogue in DIRECTORY says that its first tier uses, what is really
 * there, and in which state the records are. A run that begins counts the tier anew beside the job:
 * that is waited for, ten seconds at most. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cache/catalogue/catalogue.h"
#include "cache/catalogue/claim.h"
#include "cache/tier/ledger.h"
#include "cache/tier/tier.h"

static struct stk_catalogue catalogue;

static void count_states(unsigned states[4])
{
    uint32_t last = atomic_load(&catalogue.header->areas.counts[STK_AREA_RECORDS].next);
    for (uint32_t number = 1; number <= last; number++) {
        const struct stk_record *record = stk_catalogue_record(&catalogue, number);
        if (record != NULL) {
            states[stk_claim_load(&record->claim).state]++;
        }
    }
}

/* Returns true if both agree, or if there is an error to report. */
static bool agrees(const struct stk_tier *tier, int64_t *blocks, int64_t *inodes, int *error)
{
    const struct stk_budget *budget = &tier->shared->budget;
    *error = stk_ledger_walk(tier->home, 0, NULL, blocks, inodes);
    return *error != 0 || (*blocks == atomic_load(&budget->used_blocks) &&
                           *inodes == atomic_load(&budget->used_inodes));
}

int main(int argc, char **argv)
{
    unsigned states[4] = {0};
    struct stk_tier tier;
    int64_t blocks, inodes;
    int error = argc == 2 ? stk_catalogue_open(&catalogue, argv[1], false) : -EINVAL;
    if (error == 0 && !stk_tier_by_index(&catalogue, 0, &tier)) {
        error = -ENODEV;
    }
    for (int i = 0; error == 0 && i < 1000 && !agrees(&tier, &blocks, &inodes, &error); i++) {
        usleep(10000);
    }
    if (error != 0) {
        fprintf(stderr, "accounts: %s\n", strerror(-error));
        return 1;
    }
    count_states(states);
    const struct stk_budget *budget = &tier.shared->budget;
    printf("{\"used\": [%lld, %lld], \"there\": [%lld, %lld], \"absent\": %u, \"filling\": %u, "
           "\"present\": %u, \"refused\": %u}\n",
           (long long)atomic_load(&budget->used_blocks),
           (long long)atomic_load(&budget->used_inodes), (long long)blocks, (long long)inodes,
           states[STK_ABSENT], states[STK_FILLING], states[STK_PRESENT], states[STK_REFUSED]);
    return 0;
}
