#include "cli/ahead/orders/name_rule.h"

#include <string.h>

#include "base/text.h"

/* ---- pieces of a path ---- */

/* Returns the length of the directories, with the last slash. */
static size_t count_directories(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? (size_t)(slash + 1 - path) : 0;
}

static size_t count_head(const char *one, const char *other)
{
    size_t count = 0;
    while (one[count] == other[count] && one[count] != '\0') {
        count++;
    }
    return count;
}

/* Returns how many bytes before two places are the same, at most `most`. */
static size_t count_tail(const char *one_end, const char *other_end, size_t most)
{
    size_t count = 0;
    while (count < most && one_end[-1 - (long)count] == other_end[-1 - (long)count]) {
        count++;
    }
    return count;
}

static size_t least(size_t one, size_t other)
{
    return one < other ? one : other;
}

static bool copy_part(char part[NAME_RULE_BYTES], const char *text, size_t bytes)
{
    bool fits = bytes < NAME_RULE_BYTES;
    memcpy(part, text, fits ? bytes : 0);
    return fits;
}

/* ---- learning ---- */

/* Returns the bytes of the first directories that two paths share. */
static size_t count_first(const char *path, const char *other)
{
    size_t count = count_head(path, other);
    count = least(count, least(count_directories(path), count_directories(other)));
    while (count > 0 && path[count - 1] != '/') {
        count--;
    }
    return count;
}

/* Returns the bytes of the last directories that two texts share. Each directory ends with a slash.
 */
static size_t count_last(const char *one, size_t one_bytes, const char *other, size_t other_bytes)
{
    size_t most = least(one_bytes, other_bytes);
    size_t count = count_tail(one + one_bytes, other + other_bytes, most);
    const char *begin = one + one_bytes - count;
    bool whole = (count == one_bytes || begin[-1] == '/') &&
                 (count == other_bytes || other[other_bytes - count - 1] == '/');
    const char *slash = memchr(begin, '/', count);
    return whole || slash == NULL ? count : (size_t)(one + one_bytes - slash - 1);
}

static bool learn_directories(const char *path, const char *other, struct name_rule *rule)
{
    size_t first = count_first(path, other);
    size_t bytes = count_directories(path) - first, other_bytes = count_directories(other) - first;
    size_t last = count_last(path + first, bytes, other + first, other_bytes);
    for (size_t i = bytes - last; i < bytes; i++) {
        rule->depth += path[first + i] == '/';
    }
    return copy_part(rule->from[NAME_DIRECTORIES], path + first, bytes - last) &&
           copy_part(rule->to[NAME_DIRECTORIES], other + first, other_bytes - last);
}

static bool learn_tail(const char *name, const char *other, struct name_rule *rule)
{
    size_t shared = count_head(name, other);
    return copy_part(rule->from[NAME_TAIL], name + shared, strlen(name + shared)) &&
           copy_part(rule->to[NAME_TAIL], other + shared, strlen(other + shared));
}

static const char *suffix_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL ? dot : name + strlen(name);
}

static bool learn_head_and_suffix(const char *name, const char *other, struct name_rule *rule)
{
    const char *suffix = suffix_of(name), *other_suffix = suffix_of(other);
    size_t bytes = (size_t)(suffix - name), other_bytes = (size_t)(other_suffix - other);
    size_t shared = count_tail(suffix, other_suffix, least(bytes, other_bytes));
    return shared > 0 && copy_part(rule->from[NAME_HEAD], name, bytes - shared) &&
           copy_part(rule->to[NAME_HEAD], other, other_bytes - shared) &&
           copy_part(rule->from[NAME_TAIL], suffix, strlen(suffix)) &&
           copy_part(rule->to[NAME_TAIL], other_suffix, strlen(other_suffix));
}

bool name_rule_learn(const char *path, const char *other, enum name_shared shared,
                     struct name_rule *rule)
{
    char found[STK_PATH_BYTES];
    const char *name = path + count_directories(path);
    const char *other_name = other + count_directories(other);
    memset(rule, 0, sizeof *rule);
    bool learned = shared == NAME_SHARED_HEAD ? learn_tail(name, other_name, rule)
                                              : learn_head_and_suffix(name, other_name, rule);
    return learned && learn_directories(path, other, rule) && name_rule_apply(rule, path, found) &&
           strcmp(found, other) == 0;
}

/* ---- applying ---- */

/* Returns the bytes of a path before its last `depth` directories, of which the first
 * `directories` bytes consist. 0: it has fewer. */
static size_t before_last(const char *path, size_t directories, unsigned depth)
{
    size_t at = directories;
    for (unsigned i = 0; i < depth && at > 0; i++) {
        at--;
        while (at > 0 && path[at - 1] != '/') {
            at--;
        }
    }
    return at;
}

/* Returns true if the text before a place ends with the part. */
static bool is_before(const char *part, const char *text, size_t place)
{
    size_t bytes = strlen(part);
    return bytes <= place && memcmp(text + place - bytes, part, bytes) == 0;
}

bool name_rule_apply(const struct name_rule *rule, const char *path, char other[STK_PATH_BYTES])
{
    size_t directories = count_directories(path), bytes = strlen(path);
    size_t place = before_last(path, directories, rule->depth);
    size_t first = place - least(place, strlen(rule->from[NAME_DIRECTORIES]));
    size_t head = strlen(rule->from[NAME_HEAD]), tail = strlen(rule->from[NAME_TAIL]);
    other[0] = '\0';
    if (first == 0 || path[first - 1] != '/' ||
        !is_before(rule->from[NAME_DIRECTORIES], path, place) ||
        head + tail > bytes - directories || !is_before(rule->from[NAME_TAIL], path, bytes) ||
        !is_before(rule->from[NAME_HEAD], path, directories + head)) {
        return false;
    }
    struct stk_text text = stk_text_in(other, STK_PATH_BYTES);
    stk_text_add_bytes(&text, path, first);
    stk_text_add(&text, rule->to[NAME_DIRECTORIES]);
    stk_text_add_bytes(&text, path + place, directories - place);
    stk_text_add(&text, rule->to[NAME_HEAD]);
    stk_text_add_bytes(&text, path + directories + head, bytes - directories - head - tail);
    stk_text_add(&text, rule->to[NAME_TAIL]);
    if (text.cut) {
        other[0] = '\0';
    }
    return !text.cut;
}
