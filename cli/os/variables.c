#include "cli/os/variables.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "cli/out/nearest.h"

#define STEM "STOKER_"

void variables_find_unknown(variables_visit *visit, void *context)
{
    for (char **entry = environ; *entry != NULL; entry++) {
        char name[64];
        if (strncmp(*entry, STEM, sizeof STEM - 1) != 0) {
            continue;
        }
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*entry, "="), *entry);
        struct nearest nearest = nearest_to(name);
        for (int i = 0; i < STK_OPTION_COUNT; i++) {
            nearest_try(&nearest, stk_option_table[i].variable);
        }
        if (nearest.best == NULL || nearest.errors > 0) {
            visit(context, name, nearest.best);
        }
    }
}
