/* Planes of pixels. See operations.h. */
#include "decode/operations/operations.h"

void stk_split(void *out, const void *pixels, size_t count, unsigned number_bytes)
{
    const struct stk_operations *operations = stk_operations_select();
    if (number_bytes == 1) {
        operations->split_bytes(out, pixels, count);
    } else {
        operations->split_words(out, pixels, count);
    }
}
