/* The fuzzers share this. See tests/fuzz/fuzz.h. */
#include "tests/fuzz/fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct fuzz_input fuzz_input(const uint8_t *data, size_t bytes)
{
    return (struct fuzz_input){.at = data, .end = data + bytes};
}

uint64_t fuzz_take(struct fuzz_input *input, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes && input->at < input->end; i++) {
        value |= (uint64_t)*input->at++ << (8 * i);
    }
    return value;
}

uint32_t fuzz_pick(struct fuzz_input *input, uint32_t limit)
{
    return (uint32_t)fuzz_take(input, limit <= 256 ? 1 : 4) % limit;
}

void fuzz_take_text(struct fuzz_input *input, char *out, size_t room)
{
    size_t used = 0;
    while (input->at < input->end && used + 1 < room && *input->at != 0) {
        out[used++] = (char)*input->at++;
    }
    out[used] = '\0';
}

void fuzz_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("fuzz: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}
