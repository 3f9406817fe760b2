#include "cli/ahead/orders/beside.h"

#include <string.h>

#include "cli/ahead/orders/name_rule.h"

#define PROVEN  8 /* samples that show a rule */
#define GUESSES 8 /* rules of a data set that fewer samples have shown */

struct guess {
    struct name_rule rule;
    unsigned shown; /* by so many samples */
};

struct beside {
    uint64_t dataset;
    struct guess guesses[GUESSES];
    struct name_rule rules[BESIDE_RULES];
    bool refuted[BESIDE_RULES];
    unsigned vain[BESIDE_RULES];
    unsigned count;
};

static struct {
    struct beside sets[BESIDE_SETS];
    unsigned count;
} known;

static struct beside *find(uint64_t dataset)
{
    for (unsigned i = 0; i < known.count; i++) {
        if (known.sets[i].dataset == dataset) {
            return &known.sets[i];
        }
    }
    return NULL;
}

static struct beside *find_or_begin(uint64_t dataset)
{
    struct beside *beside = find(dataset);
    if (beside == NULL && known.count < BESIDE_SETS) {
        beside = &known.sets[known.count++];
        beside->dataset = dataset;
    }
    return beside;
}

/* ---- guesses ---- */

/* Returns true if a rule says that the sample opens this file, also one that was refuted. */
static bool is_explained(const struct beside *beside, const char *listed, const char *other)
{
    char path[STK_PATH_BYTES];
    bool is = false;
    for (unsigned i = 0; i < beside->count && !is; i++) {
        is = name_rule_apply(&beside->rules[i], listed, path) && strcmp(path, other) == 0;
    }
    return is;
}

/* Returns the guess with that rule, or else the one that the fewest samples have shown. */
static struct guess *place_for(struct beside *beside, const struct name_rule *rule)
{
    struct guess *place = &beside->guesses[0];
    for (unsigned i = 0; i < GUESSES; i++) {
        struct guess *guess = &beside->guesses[i];
        if (guess->shown > 0 && memcmp(&guess->rule, rule, sizeof *rule) == 0) {
            return guess;
        }
        place = guess->shown < place->shown ? guess : place;
    }
    *place = (struct guess){.rule = *rule, .shown = 0};
    return place;
}

static void note(struct beside *beside, const struct name_rule *rule)
{
    struct guess *guess = place_for(beside, rule);
    guess->shown++;
    if (guess->shown == PROVEN && beside->count < BESIDE_RULES) {
        beside->rules[beside->count++] = *rule;
        guess->shown = 0;
    }
}

static void learn(struct beside *beside, const char *listed, const char *other)
{
    struct name_rule rule;
    for (unsigned shared = 0; shared < NAME_SHARED_KINDS; shared++) {
        if (!is_explained(beside, listed, other) &&
            name_rule_learn(listed, other, (enum name_shared)shared, &rule)) {
            note(beside, &rule);
        }
    }
}

bool beside_add(uint64_t dataset, const char *paths, size_t bytes)
{
    struct beside *beside = find_or_begin(dataset);
    const char *end = paths + bytes, *other = paths;
    if (bytes == 0 || end[-1] != '\0') {
        return false;
    }
    while (beside != NULL && (other += strlen(other) + 1) < end) {
        learn(beside, paths, other);
    }
    return true;
}

/* ---- rules ---- */

unsigned beside_rules(uint64_t dataset)
{
    const struct beside *beside = dataset != 0 ? find(dataset) : NULL;
    return beside != NULL ? beside->count : 0;
}

bool beside_is_known(uint64_t dataset)
{
    const struct beside *beside = find(dataset);
    bool is = false;
    for (unsigned i = 0; beside != NULL && i < beside->count; i++) {
        is = is || !beside->refuted[i];
    }
    return is;
}

size_t beside_path(uint64_t dataset, unsigned rule, const char *listed, char path[STK_PATH_BYTES])
{
    const struct beside *beside = find(dataset);
    path[0] = '\0';
    if (beside != NULL && !beside->refuted[rule]) {
        name_rule_apply(&beside->rules[rule], listed, path);
    }
    return strlen(path) + 1;
}

unsigned beside_vain(uint64_t dataset, unsigned rule)
{
    const struct beside *beside = find(dataset);
    return beside != NULL ? beside->vain[rule] : 0;
}

void beside_note_vain(uint64_t dataset, unsigned rule, uint64_t files)
{
    struct beside *beside = find(dataset);
    if (beside != NULL) {
        beside->vain[rule] += (unsigned)files;
    }
}

void beside_refute(uint64_t dataset, unsigned rule)
{
    struct beside *beside = find(dataset);
    if (beside != NULL) {
        beside->refuted[rule] = true;
    }
}
