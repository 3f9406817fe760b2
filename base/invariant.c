#include "base/invariant.h"

#ifdef STK_INVARIANTS
#include <stdio.h>
#include <stdlib.h>

void stk_invariant_fail(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: broken: %s\n", file, line, condition);
    abort();
}
#endif
