/* The fuzzers of decoding share this: a corpus of small JPEGs, plans, and memory for pixels. */
#pragma once

#include "decode/decode.h"
#include "tests/fuzz/fuzz.h"

/* How many bytes of an input say what the plan is. */
#define PLAN_BYTES  32
#define MOST_FILES  64
#define MOST_PIXELS (1u << 20)

/* PLAN_BYTES of plan, then the file. */
struct jpeg_input {
    uint8_t bytes[4096];
    size_t length;
};
extern struct jpeg_input jpegs[MOST_FILES];
extern size_t jpeg_count;

void read_jpegs(void);
/* The next of a row of random numbers. */
uint64_t mix(uint64_t *state);
/* Changes up to three bytes behind the plan's, mostly to likely ones. */
void damage(uint64_t *state, uint8_t *bytes, size_t length);

/* A decoder with the environment's wishes, at which it looks when it gets its first file. */
struct stk_decoder *make_decoder(void);

/* Mostly sound plans for an image of that size. */
struct stk_plan pick_plan(struct fuzz_input *input, const struct stk_jpeg_info *info,
                          const float *table);
/* All of it, in three channels or one. */
struct stk_plan whole_plan(const struct stk_jpeg_info *info, uint32_t channels);

struct output {
    struct stk_target target;
    size_t bytes;
};
/* Exactly as much memory as the plan writes: one byte more is seen. */
struct output make_output(const struct stk_plan *plan);

/* `got` is what the plan makes; `all`, of the whole plan, is what it was made of. */
void compare_with_whole(struct stk_decoder *decoder, const struct stk_jpeg_info *info,
                        const struct stk_plan *plan, const struct output *got,
                        const struct stk_plan *whole, const struct output *all);
