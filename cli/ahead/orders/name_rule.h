/*
 * How the name of a file follows from another file's name, as a mask's from its image's: other
 * directories in a certain place, another begin or end of the last name. A rule is learned from one
 * pair of paths, so it is a guess. Safe in threads.
 */
#pragma once

#include <stdbool.h>

#include "base/path.h"

#define NAME_RULE_BYTES 128 /* of each part, with its zero */

enum name_part { NAME_DIRECTORIES, NAME_HEAD, NAME_TAIL, NAME_PARTS };

/* The part that both last names are taken to share: their begin, or the end of what is before the
 * suffix. */
enum name_shared { NAME_SHARED_HEAD, NAME_SHARED_TAIL, NAME_SHARED_KINDS };

struct name_rule {
    unsigned depth; /* directories between the ones that differ and the last name */
    char from[NAME_PARTS][NAME_RULE_BYTES];
    char to[NAME_PARTS][NAME_RULE_BYTES]; /* zeros behind each text: rules compare as bytes */
};

/* Learns the rule by which `other` follows from `path`; both begin with a slash. Returns false if
 * there is none of that kind. */
bool name_rule_learn(const char *path, const char *other, enum name_shared shared,
                     struct name_rule *rule);
/* Writes what follows from `path`. Returns false, and writes "", if the rule is for other paths. */
bool name_rule_apply(const struct name_rule *rule, const char *path, char other[STK_PATH_BYTES]);
