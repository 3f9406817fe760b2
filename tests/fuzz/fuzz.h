/*
 * The fuzzers share this. A target is one source that defines the two functions which libFuzzer
 * calls. tests/fuzz/driver.c calls them as well, with inputs from a generator of its own. It does
 * so where there is no libFuzzer and in `make test`, which must be the same each time.
 *
 * A target gets bytes, and makes of them what it likes. The result follows from these bytes alone.
 * It calls fuzz_fail when something is wrong. Crashes are the sanitizers' business.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sets up, once; exits with 77 where that cannot be. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
/* Runs one input. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Optional, for the driver: words that inputs are made of beside random bytes, ending in NULL. */
extern const char *const fuzz_words[] __attribute__((weak));
/* Optional: writes the number-th of the inputs that are to be tried in any case, at most `room`
 * bytes. Returns its length; 0 when there is none. */
size_t fuzz_systematic(size_t number, uint8_t *out, size_t room) __attribute__((weak));
/* Optional: prints what was done, at the end of all runs; false when that was not enough. */
bool fuzz_report(void) __attribute__((weak));

/* The input, to be taken piece by piece; all zero behind its end. */
struct fuzz_input {
    const uint8_t *at, *end;
};
struct fuzz_input fuzz_input(const uint8_t *data, size_t bytes);
uint64_t fuzz_take(struct fuzz_input *input, unsigned bytes);
/* From 0 to below `limit`. */
uint32_t fuzz_pick(struct fuzz_input *input, uint32_t limit);
/* The rest of the input as a string, up to a zero byte. */
void fuzz_take_text(struct fuzz_input *input, char *out, size_t room);

/* Says what is wrong, and aborts. */
void fuzz_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
