/* Appends to a bounded buffer, and takes values off a text. */
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

struct stk_text stk_text_in(char *buffer, size_t bytes)
{
    buffer[0] = '\0';
    return (struct stk_text){.start = buffer, .used = 0, .room = bytes, .cut = false};
}

void stk_text_add_bytes(struct stk_text *text, const char *bytes, size_t count)
{
    size_t left = text->room - text->used - 1;
    if (count > left) {
        text->cut = true;
        count = left;
    }
    memcpy(text->start + text->used, bytes, count);
    text->used += count;
    text->start[text->used] = '\0';
}

void stk_text_add(struct stk_text *text, const char *string)
{
    stk_text_add_bytes(text, string, strlen(string));
}

void stk_text_add_char(struct stk_text *text, char c)
{
    stk_text_add_bytes(text, &c, 1);
}

void stk_text_add_number(struct stk_text *text, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    stk_text_add_bytes(text, digits + at, sizeof digits - at);
}

/* Returns the eight digits of a number as the bytes of a word, all at once. Each nibble gets a byte
 * of its own; then '0' is added, and the distance to 'a' where the nibble is above 9.
 * Little-endian, as all of Stoker's machines. */
static uint64_t spread_hex(uint32_t number)
{
    uint64_t nibbles = __builtin_bswap32(number);
    nibbles = (nibbles | nibbles << 16) & UINT64_C(0x0000ffff0000ffff);
    nibbles = (nibbles | nibbles << 8) & UINT64_C(0x00ff00ff00ff00ff);
    nibbles = (nibbles >> 4 | nibbles << 8) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    uint64_t above_nine =
        (nibbles + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101);
    return nibbles + UINT64_C(0x3030303030303030) + above_nine * ('a' - '0' - 10);
}

void stk_text_add_hex(struct stk_text *text, uint64_t number, unsigned digits)
{
    uint64_t all[2] = {spread_hex((uint32_t)(number >> 32)), spread_hex((uint32_t)number)};
    stk_text_add_bytes(text, (const char *)all + 16 - digits, digits);
}

/* Appends what a directive stands for, of which the percent sign is read. Returns what follows it.
 */
static const char *add_argument(struct stk_text *text, const char *directive, va_list *arguments)
{
    unsigned digits = 0;
    if (*directive == 's') {
        stk_text_add(text, va_arg(*arguments, const char *));
        return directive + 1;
    }
    for (; *directive >= '0' && *directive <= '9'; directive++) {
        digits = digits * 10 + (unsigned)(*directive - '0');
    }
    uint64_t number = va_arg(*arguments, unsigned long);
    if (directive[1] == 'x') {
        unsigned least = number != 0 ? (67 - (unsigned)__builtin_clzl(number)) / 4 : 1;
        stk_text_add_hex(text, number, digits != 0 ? digits : least);
    } else {
        stk_text_add_number(text, number);
    }
    return directive + 2;
}

bool stk_text_print(char *out, size_t bytes, const char *format, ...)
{
    va_list arguments;
    struct stk_text text = stk_text_in(out, bytes);
    va_start(arguments, format);
    while (*format != '\0') {
        size_t plain = strcspn(format, "%");
        stk_text_add_bytes(&text, format, plain);
        format += plain;
        format = *format == '%' ? add_argument(&text, format + 1, &arguments) : format;
    }
    va_end(arguments);
    return !text.cut;
}

bool stk_text_copy(char *to, size_t bytes, const char *from)
{
    struct stk_text text = stk_text_in(to, bytes);
    stk_text_add(&text, from);
    if (text.cut) {
        to[0] = '\0';
    }
    return !text.cut;
}

bool stk_text_take_number(const char **cursor, uint64_t *out)
{
    const char *at = *cursor;
    uint64_t value = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        unsigned digit = (unsigned)(*at - '0');
        if (value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    bool any = at != *cursor;
    *cursor = at;
    *out = value;
    return any;
}

int64_t stk_text_number_after(const char *text, const char *name, int64_t otherwise)
{
    size_t length = strlen(name);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) == 0) {
            const char *at = line + length + strspn(line + length, " \t");
            uint64_t number;
            return stk_text_take_number(&at, &number) && number < INT64_MAX ? (int64_t)number
                                                                            : otherwise;
        }
    }
    return otherwise;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool stk_text_take_hex(const char **cursor, unsigned digits, uint64_t *out)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < digits; i++) {
        int digit = hex_digit((*cursor)[i]);
        if (digit < 0) {
            return false;
        }
        value = value << 4 | (unsigned)digit;
    }
    *cursor += digits;
    *out = value;
    return true;
}

/* Takes the digits after a decimal point, as a fraction of 10^9. Digits beyond the ninth do not
 * count. */
static uint64_t take_fraction(const char **cursor)
{
    uint64_t value = 0;
    uint64_t weight = 100000000;
    for (; **cursor >= '0' && **cursor <= '9'; (*cursor)++) {
        value += weight * (unsigned)(**cursor - '0');
        weight /= 10;
    }
    return value;
}

/* Takes "12.34" as a whole number and a fraction of 10^9. */
static bool take_decimal(const char **cursor, uint64_t *whole, uint64_t *fraction)
{
    *fraction = 0;
    if (!stk_text_take_number(cursor, whole)) {
        return false;
    }
    if (**cursor == '.') {
        (*cursor)++;
        *fraction = take_fraction(cursor);
    }
    return true;
}

/* Returns the power of two that a unit letter stands for, 0 for none; moves behind the unit. */
static unsigned take_unit(const char **cursor)
{
    static const char units[] = "KMGTP";
    char letter = **cursor;
    if (letter >= 'a' && letter <= 'z') {
        letter = (char)(letter - 'a' + 'A');
    }
    const char *found = letter != '\0' ? strchr(units, letter) : NULL;
    if (found != NULL) {
        (*cursor)++;
        *cursor += **cursor == 'i';
    }
    *cursor += **cursor == 'B';
    return found != NULL ? 10u * (unsigned)(found - units + 1) : 0;
}

int stk_text_parse_size(const char *string, int64_t *out_bytes)
{
    uint64_t whole, fraction;
    if (!take_decimal(&string, &whole, &fraction)) {
        return -EINVAL;
    }
    unsigned shift = take_unit(&string);
    if (*string != '\0') {
        return -EINVAL;
    }
    if (whole >= (UINT64_C(1) << 62) >> shift) {
        return -ERANGE;
    }
    double part = (double)fraction / 1e9 * (double)(UINT64_C(1) << shift);
    *out_bytes = (int64_t)((whole << shift) + (uint64_t)part);
    return 0;
}

int stk_text_parse_seconds(const char *string, int64_t *out_ns)
{
    uint64_t whole, fraction;
    if (!take_decimal(&string, &whole, &fraction) || *string != '\0' || whole > 1000000000) {
        return -EINVAL;
    }
    *out_ns = (int64_t)(whole * 1000000000u + fraction);
    return 0;
}

/* Returns true if `second` may follow `first`. Behind some first bytes it is bounded more tightly:
 * no longer spelling of a shorter sequence, no surrogate, nothing above U+10FFFF. */
static bool is_second(unsigned char first, unsigned char second)
{
    unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    return second >= least && second <= most;
}

int stk_text_sequence(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    int length = *at < 0x80                  ? 1
                 : *at >= 0xc2 && *at < 0xe0 ? 2
                 : *at >= 0xe0 && *at < 0xf0 ? 3
                 : *at >= 0xf0 && *at < 0xf5 ? 4
                                             : 0;
    if (length > 1 && !is_second(at[0], at[1])) {
        return 0;
    }
    for (int i = 2; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return length;
}
