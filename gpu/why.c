/* Reasons as text. See gpu/why.h. */
#include "gpu/why.h"

#include <stdarg.h>
#include <stdio.h>

int stk_gpu_why_say(struct stk_gpu_why *why, enum stk_gpu_error error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why->text, sizeof why->text, format, arguments);
    va_end(arguments);
    why->error = error;
    why->result = 0;
    return error;
}
