/*
 * Runs a fuzzing target with inputs of a deterministic generator:
 *
 *     TARGET [--seed N] [--runs N] [--seconds S]     until either is reached; 0: without end
 *            [--systematic N]                        of the systematic inputs only the first
 *     TARGET FILE...                                 these inputs
 *
 * Each run's input follows from the seed and the run's number alone. An input that kills the target
 * is left in the file `TARGET.input`, to be run again. A run that takes longer than a minute is
 * killed.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

#define INPUT_BYTES  4096
#define PATIENCE_S   60
#define SHORT_INPUTS 256

static uint8_t input[INPUT_BYTES];
static size_t input_bytes;
static char input_path[4096];

/* ---- the generator ---- */

static uint64_t state;

static uint64_t random_word(void)
{
    state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    uint64_t mixed = (state ^ state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

static size_t count_words(void)
{
    size_t count = 0;
    while (fuzz_words != NULL && fuzz_words[count] != NULL) {
        count++;
    }
    return count;
}

/* Random bytes, with words strewn in where the target has some. */
static void generate(size_t words)
{
    uint64_t shape = random_word();
    size_t wanted = shape % (shape >> 32 & 15 ? SHORT_INPUTS : INPUT_BYTES);
    input_bytes = 0;
    while (input_bytes < wanted) {
        uint64_t dice = random_word();
        const char *word = words > 0 && dice % 4 != 0 ? fuzz_words[(dice >> 8) % words] : NULL;
        size_t length = word != NULL ? strlen(word) : 1;
        if (length > INPUT_BYTES - input_bytes) {
            return;
        }
        uint8_t byte = (uint8_t)(dice >> 8);
        memcpy(input + input_bytes, word != NULL ? (const void *)word : &byte, length);
        input_bytes += length;
    }
}

/* ---- when it dies ---- */

static void keep_input(int signal_)
{
    int fd = open(input_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ssize_t put = fd >= 0 ? write(fd, input, input_bytes) : -1;
    static const char note[] = "fuzz: the input is kept beside the target, as TARGET.input\n";
    put = put == (ssize_t)input_bytes ? write(2, note, sizeof note - 1) : put;
    (void)put;
    signal(signal_, SIG_DFL);
    raise(signal_);
}

static void watch(const char *target)
{
    static const int signals[] = {SIGABRT, SIGALRM, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    snprintf(input_path, sizeof input_path, "%s.input", target);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        signal(signals[i], keep_input);
    }
}

/* ---- runs ---- */

static void run(void)
{
    alarm(PATIENCE_S);
    LLVMFuzzerTestOneInput(input, input_bytes);
}

static void run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        exit(2);
    }
    input_bytes = fread(input, 1, sizeof input, file);
    fclose(file);
    run();
}

static size_t run_systematic(size_t most)
{
    size_t number = 0;
    while (fuzz_systematic != NULL && (most == 0 || number < most) &&
           (input_bytes = fuzz_systematic(number, input, sizeof input)) > 0) {
        run();
        number++;
    }
    return number;
}

static size_t run_random(uint64_t seed, size_t runs, time_t seconds)
{
    size_t words = count_words(), number = 0;
    time_t end = time(NULL) + seconds;
    while ((runs == 0 || number < runs) && (seconds == 0 || time(NULL) < end)) {
        state = seed << 40 ^ number;
        generate(words);
        run();
        number++;
    }
    return number;
}

static uint64_t option(char **arguments, const char *name, uint64_t otherwise)
{
    for (; arguments[0] != NULL && arguments[1] != NULL; arguments++) {
        if (strcmp(arguments[0], name) == 0) {
            return strtoull(arguments[1], NULL, 10);
        }
    }
    return otherwise;
}

int main(int argc, char **argv)
{
    watch(argv[0]);
    LLVMFuzzerInitialize(&argc, &argv);
    if (argc > 1 && argv[1][0] != '-') {
        for (int i = 1; i < argc; i++) {
            run_file(argv[i]);
        }
        return 0;
    }
    size_t systematic = run_systematic(option(argv, "--systematic", 0));
    size_t random = run_random(option(argv, "--seed", 1), option(argv, "--runs", 0),
                               (time_t)option(argv, "--seconds", 0));
    const char *name = strrchr(argv[0], '/');
    printf("%s: %zu systematic inputs, %zu random ones\n", name != NULL ? name + 1 : argv[0],
           systematic, random);
    alarm(0);
    return fuzz_report == NULL || fuzz_report() ? 0 : 1;
}
