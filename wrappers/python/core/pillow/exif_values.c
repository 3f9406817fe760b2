/*
 * Directories of EXIF data (TIFF 6.0, section 2), as Pillow reads them: tags, the bytes of their
 * values, and the values. Pillow keeps what it would warn of: these functions return None for it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "wrappers/python/core/common/functions.h"
#include "wrappers/python/core/pillow/exif.h"

static uint32_t take_number(const uint8_t *from, size_t bytes, bool little)
{
    uint32_t number = 0;
    for (size_t i = 0; i < bytes; i++) {
        number = number << 8 | from[little ? bytes - 1 - i : i];
    }
    return number;
}

/* ---- tags ---- */

struct directory {
    const uint8_t *body;
    size_t bytes;
    bool little;
    const uint8_t *units; /* bytes of a value of each type, 0 for one that Pillow does not know */
    size_t types;
    PyObject *data, *kinds; /* dictionaries: for each tag its bytes, and its type */
    uint64_t elsewhere;     /* bytes that do not lie in an entry */
};

/* The functions below return EXIF_DONE, EXIF_LEFT to Pillow, or EXIF_ERROR with an exception. */

static int put(PyObject *dictionary, PyObject *key, PyObject *value)
{
    return value != NULL && PyDict_SetItem(dictionary, key, value) == 0 ? EXIF_DONE : EXIF_ERROR;
}

static int add_entry(struct directory *directory, const uint8_t *entry)
{
    uint32_t kind = take_number(entry + 2, 2, directory->little);
    uint32_t number = take_number(entry + 4, 4, directory->little);
    uint64_t size = kind < directory->types ? (uint64_t)number * directory->units[kind] : 0;
    const uint8_t *value = entry + 8;
    if (size > 4) {
        uint64_t place = take_number(value, 4, directory->little);
        directory->elsewhere += size;
        if (place + size > directory->bytes) {
            return EXIF_LEFT;
        }
        value = directory->body + place;
    }
    if (size == 0) {
        return EXIF_LEFT;
    }
    HELD PyObject *tag = PyLong_FromUnsignedLong(take_number(entry, 2, directory->little));
    HELD PyObject *bytes = PyBytes_FromStringAndSize((const char *)value, (Py_ssize_t)size);
    HELD PyObject *type = PyLong_FromUnsignedLong(kind);
    bool added = tag != NULL && put(directory->data, tag, bytes) == EXIF_DONE &&
                 put(directory->kinds, tag, type) == EXIF_DONE;
    return added ? EXIF_DONE : EXIF_ERROR;
}

static int read_directory(struct directory *directory, size_t begin)
{
    if (begin + 2 > directory->bytes) {
        return EXIF_LEFT;
    }
    size_t count = take_number(directory->body + begin, 2, directory->little);
    if (begin + 2 + EXIF_ENTRY_BYTES * count + 4 > directory->bytes) {
        return EXIF_LEFT;
    }
    int status = EXIF_DONE;
    for (size_t i = 0; i < count && status == EXIF_DONE; i++) {
        status = add_entry(directory, directory->body + begin + 2 + EXIF_ENTRY_BYTES * i);
    }
    bool whole =
        (size_t)PyDict_Size(directory->data) == count && directory->elsewhere <= directory->bytes;
    return status == EXIF_DONE && !whole ? EXIF_LEFT : status;
}

static PyObject *result_of(int status, PyObject *found)
{
    if (status == EXIF_DONE) {
        return Py_NewRef(found);
    }
    return status == EXIF_LEFT ? Py_NewRef(Py_None) : NULL;
}

/*
 * exif_directory(body, begin, is_little, units): the tags of a directory that lies there in TIFF
 * data. `units`: the bytes of a value of each type. Returns ({tag: bytes}, {tag: type}, how many
 * bytes lie elsewhere), or None.
 */
PyObject *core_exif_directory(PyObject *module, PyObject *arguments)
{
    HELD_BUFFER Py_buffer body = {0};
    Py_ssize_t begin, types;
    int little;
    const char *units;
    if (!PyArg_ParseTuple(arguments, "y*npy#", &body, &begin, &little, &units, &types)) {
        return NULL;
    }
    HELD PyObject *data = PyDict_New(), *kinds = PyDict_New();
    struct directory directory = {
        body.buf, (size_t)body.len, little != 0, (const uint8_t *)units, (size_t)types, data, kinds,
        0};
    bool made = data != NULL && kinds != NULL;
    int status =
        made ? begin >= 0 ? read_directory(&directory, (size_t)begin) : EXIF_LEFT : EXIF_ERROR;
    HELD PyObject *found =
        made ? Py_BuildValue("OOK", data, kinds, (unsigned long long)directory.elsewhere) : NULL;
    return found == NULL ? NULL : result_of(status, found);
}

/* ---- values ---- */

/* An entry of Pillow's tables. */
struct tag_info {
    long type, length; /* 0, or -1, if they say nothing */
    bool has_names;    /* of values */
    bool is_odd;       /* of a class, or with names, that Pillow's tables do not have */
};

/* One value, or several, of a tag. */
struct tag_value {
    uint32_t kind;
    size_t count;
    const uint8_t *bytes;
    size_t size;
    bool little;
    PyObject *raw, *rational;
};

static long number_in(PyObject *info, Py_ssize_t at, long otherwise)
{
    PyObject *item = PyTuple_GetItem(info, at);
    return item == NULL || item == Py_None ? otherwise : PyLong_AsLong(item);
}

/* Returns true for {text: value}: an older Pillow looks up numbers in it, too, and finds none. */
static bool are_names(PyObject *names)
{
    PyObject *name, *value;
    Py_ssize_t at = 0;
    bool are = PyDict_CheckExact(names);
    while (are && PyDict_Next(names, &at, &name, &value)) {
        are = PyUnicode_CheckExact(name);
    }
    return are;
}

/* Reads an entry of a table of Pillow's: (number, name, type, length, names of values). `class`: of
 * the entry. */
static bool find_info(PyObject *table, PyObject *tag, PyObject *class, struct tag_info *out)
{
    PyObject *info = PyDict_GetItemWithError(table, tag);
    *out = (struct tag_info){0, -1, false, false};
    if (info == NULL) {
        return PyErr_Occurred() == NULL;
    }
    if ((PyObject *)Py_TYPE(info) != class || !PyTuple_Check(info) || PyTuple_Size(info) != 5) {
        out->is_odd = true;
        return true;
    }
    PyObject *names = PyTuple_GetItem(info, 4);
    out->type = number_in(info, 2, 0);
    out->length = number_in(info, 3, -1);
    out->is_odd = !are_names(names);
    out->has_names = !out->is_odd && PyDict_Size(names) > 0;
    return PyErr_Occurred() == NULL;
}

static uint32_t part(const struct tag_value *value, size_t i)
{
    size_t unit = value->kind == EXIF_SHORT ? 2 : 4;
    return take_number(value->bytes + unit * i, unit, value->little);
}

static PyObject *number_at(const struct tag_value *value, size_t i)
{
    if (value->kind == EXIF_SHORT || value->kind == EXIF_LONG) {
        return PyLong_FromUnsignedLong(part(value, i));
    }
    uint32_t numerator = part(value, 2 * i), denominator = part(value, 2 * i + 1);
    return value->kind == EXIF_RATIONAL
               ? PyObject_CallFunction(value->rational, "kk", (unsigned long)numerator,
                                       (unsigned long)denominator)
               : PyObject_CallFunction(value->rational, "ii", (int)numerator, (int)denominator);
}

static PyObject *numbers_of(const struct tag_value *value)
{
    if (value->count == 1) {
        return number_at(value, 0);
    }
    PyObject *numbers = PyTuple_New((Py_ssize_t)value->count);
    for (size_t i = 0; numbers != NULL && i < value->count; i++) {
        PyObject *number = number_at(value, i);
        if (number == NULL || PyTuple_SetItem(numbers, (Py_ssize_t)i, number) != 0) {
            Py_CLEAR(numbers);
        }
    }
    return numbers;
}

/* Returns the value as Exif gives it. */
static PyObject *object_of(const struct tag_value *value)
{
    switch (value->kind) {
    case EXIF_BYTE:
    case EXIF_UNDEFINED:
        return Py_NewRef(value->raw);
    case EXIF_ASCII:
        return PyUnicode_DecodeLatin1(
            (const char *)value->bytes,
            (Py_ssize_t)value->size - (value->bytes[value->size - 1] == '\0'), NULL);
    default:
        return numbers_of(value);
    }
}

/* Returns true if Pillow would neither warn of the value nor call code for its names. */
static bool is_plain(const struct tag_value *value, const struct tag_info *info)
{
    if (value->kind == EXIF_BYTE || value->kind == EXIF_UNDEFINED) {
        return true;
    }
    if (value->kind == EXIF_ASCII) {
        return !info->has_names;
    }
    bool is_rational = value->kind == EXIF_RATIONAL || value->kind == EXIF_SIGNED_RATIONAL;
    for (size_t i = 0; is_rational && i < value->count; i++) {
        if (part(value, 2 * i + 1) == 0) {
            return false;
        }
    }
    return info->length != 1 || value->count == 1;
}

/* ---- as Pillow writes them ---- */

/* Returns (type, count, bytes), or NULL. */
static PyObject *entry_of(long type, size_t count, PyObject *bytes)
{
    PyObject *entry = bytes != NULL ? Py_BuildValue("lnO", type, (Py_ssize_t)count, bytes) : NULL;
    Py_XDECREF(bytes);
    return entry;
}

static PyObject *left(void)
{
    return Py_NewRef(Py_None);
}

static PyObject *write_text(const struct tag_value *value, long type)
{
    bool ends = value->bytes[value->size - 1] == '\0';
    size_t size = value->size - ends + (type == EXIF_ASCII);
    PyObject *text = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (text == NULL || (type != EXIF_ASCII && type != EXIF_UNDEFINED)) {
        Py_XDECREF(text);
        return text == NULL ? NULL : left();
    }
    uint8_t *to = (uint8_t *)PyBytes_AsString(text);
    for (size_t i = 0; i < size; i++) {
        uint8_t letter = i < value->size - ends ? value->bytes[i] : 0;
        to[i] = letter < 128 ? letter : '?';
    }
    return entry_of(type, size, text);
}

static PyObject *write_integers(const struct tag_value *value, long type)
{
    uint32_t most = 0;
    for (size_t i = 0; i < value->count; i++) {
        most = part(value, i) > most ? part(value, i) : most;
    }
    type = type != 0 ? type : most <= UINT16_MAX ? EXIF_SHORT : EXIF_LONG;
    if ((type != EXIF_SHORT && type != EXIF_LONG) || (type == EXIF_SHORT && most > UINT16_MAX)) {
        return left();
    }
    size_t unit = type == EXIF_SHORT ? 2 : 4;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(unit * value->count));
    uint8_t *to = bytes != NULL ? (uint8_t *)PyBytes_AsString(bytes) : NULL;
    for (size_t i = 0; to != NULL && i < value->count; i++) {
        exif_put_number(to + unit * i, unit, part(value, i), value->little);
    }
    return entry_of(type, value->count, bytes);
}

/* A fraction: reduced, with a denominator above zero, or as it is. */
struct ratio {
    int64_t numerator, denominator;
};

static struct ratio ratio_at(const struct tag_value *value, size_t i)
{
    uint32_t one = part(value, 2 * i), other = part(value, 2 * i + 1);
    return value->kind == EXIF_RATIONAL ? (struct ratio){one, other}
                                        : (struct ratio){(int32_t)one, (int32_t)other};
}

static struct ratio reduced(struct ratio ratio)
{
    int64_t a = ratio.numerator < 0 ? -ratio.numerator : ratio.numerator;
    int64_t b = ratio.denominator < 0 ? -ratio.denominator : ratio.denominator;
    int64_t sign = ratio.denominator < 0 ? -1 : 1;
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return (struct ratio){sign * ratio.numerator / a, sign * ratio.denominator / a};
}

static bool is_negative(const struct tag_value *value)
{
    bool any = false;
    for (size_t i = 0; i < value->count; i++) {
        any = any || reduced(ratio_at(value, i)).numerator < 0;
    }
    return any;
}

/* Pillow reduces fractions without a sign. */
static PyObject *write_ratios(const struct tag_value *value, long type)
{
    bool negative = is_negative(value);
    type = type != 0 ? type : negative ? EXIF_SIGNED_RATIONAL : EXIF_RATIONAL;
    if ((type == EXIF_RATIONAL && negative) ||
        (type != EXIF_RATIONAL && type != EXIF_SIGNED_RATIONAL)) {
        return left();
    }
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(8 * value->count));
    uint8_t *to = bytes != NULL ? (uint8_t *)PyBytes_AsString(bytes) : NULL;
    for (size_t i = 0; to != NULL && i < value->count; i++) {
        struct ratio ratio = ratio_at(value, i);
        ratio = type == EXIF_RATIONAL ? reduced(ratio) : ratio;
        if (type == EXIF_SIGNED_RATIONAL &&
            (ratio.numerator > INT32_MAX || ratio.denominator > INT32_MAX)) {
            Py_DECREF(bytes);
            return left();
        }
        exif_put_number(to + 8 * i, 4, (uint32_t)ratio.numerator, value->little);
        exif_put_number(to + 8 * i + 4, 4, (uint32_t)ratio.denominator, value->little);
    }
    return entry_of(type, value->count, bytes);
}

/* Returns (type, count, bytes), None if Pillow is to write the value, or NULL. */
static PyObject *written(const struct tag_value *value, const struct tag_info *info)
{
    if (!is_plain(value, info)) {
        return left();
    }
    switch (value->kind) {
    case EXIF_BYTE:
    case EXIF_UNDEFINED: {
        long type = info->type != 0 ? info->type : EXIF_BYTE;
        return type == EXIF_BYTE || type == EXIF_UNDEFINED
                   ? entry_of(type, value->size, Py_NewRef(value->raw))
                   : left();
    }
    case EXIF_ASCII:
        return write_text(value, info->type != 0 ? info->type : EXIF_ASCII);
    case EXIF_SHORT:
    case EXIF_LONG:
        return write_integers(value, info->type);
    default:
        return write_ratios(value, info->type);
    }
}

/* ---- a directory ---- */

static size_t unit_of(uint32_t kind)
{
    switch (kind) {
    case EXIF_BYTE:
    case EXIF_ASCII:
    case EXIF_UNDEFINED:
        return 1;
    case EXIF_SHORT:
        return 2;
    case EXIF_LONG:
        return 4;
    case EXIF_RATIONAL:
    case EXIF_SIGNED_RATIONAL:
        return 8;
    default:
        return 0;
    }
}

/* A directory that is converted, and its results. */
struct conversion {
    PyObject *kinds, *read_table, *write_table, *rational, *info; /* that are given */
    bool little;
    PyObject *values, *entries; /* dictionaries by tag */
};

static int convert(const struct conversion *to, PyObject *tag, PyObject *raw)
{
    PyObject *kind = PyDict_GetItemWithError(to->kinds, tag);
    struct tag_info reading, writing;
    if (kind == NULL || !PyBytes_CheckExact(raw)) {
        return PyErr_Occurred() != NULL ? EXIF_ERROR : EXIF_LEFT;
    }
    struct tag_value value = {.kind = (uint32_t)PyLong_AsUnsignedLong(kind),
                              .bytes = (const uint8_t *)PyBytes_AsString(raw),
                              .size = (size_t)PyBytes_Size(raw),
                              .little = to->little,
                              .raw = raw,
                              .rational = to->rational};
    if (PyErr_Occurred() != NULL || !find_info(to->read_table, tag, to->info, &reading) ||
        !find_info(to->write_table, tag, to->info, &writing)) {
        return EXIF_ERROR;
    }
    size_t unit = reading.is_odd || writing.is_odd ? 0 : unit_of(value.kind);
    if (unit == 0 || value.size == 0 || value.size % unit != 0) {
        return EXIF_LEFT;
    }
    value.count = value.size / unit;
    if (!is_plain(&value, &reading)) {
        return EXIF_LEFT;
    }
    HELD PyObject *object = object_of(&value), *entry = written(&value, &writing);
    if (entry == Py_None && object != NULL) {
        return EXIF_LEFT;
    }
    bool put_both =
        put(to->values, tag, object) == EXIF_DONE && put(to->entries, tag, entry) == EXIF_DONE;
    return put_both ? EXIF_DONE : EXIF_ERROR;
}

/* Converts a copy: a fraction is made by code of Python's, in which other threads may run. */
static int convert_all(const struct conversion *to, PyObject *data)
{
    PyObject *tag, *raw;
    Py_ssize_t at = 0;
    HELD PyObject *copy = PyDict_Copy(data);
    int status = copy != NULL ? EXIF_DONE : EXIF_ERROR;
    while (status == EXIF_DONE && PyDict_Next(copy, &at, &tag, &raw)) {
        status = convert(to, tag, raw);
    }
    return status;
}

/*
 * exif_values(data, kinds, is_little, read_table, write_table, rational, info): the values in {tag:
 * bytes}, whose types are in {tag: type}. The tables are Pillow's, for reading and for writing;
 * `rational` is its class for fractions, `info` that of a table's entries. Returns ({tag: value},
 * {tag: (type, count, bytes)}): what Exif gives, and what it writes of that; or None.
 */
PyObject *core_exif_values(PyObject *module, PyObject *arguments)
{
    PyObject *data;
    int little;
    struct conversion to = {0};
    if (!PyArg_ParseTuple(arguments, "O!O!pO!O!OO", &PyDict_Type, &data, &PyDict_Type, &to.kinds,
                          &little, &PyDict_Type, &to.read_table, &PyDict_Type, &to.write_table,
                          &to.rational, &to.info)) {
        return NULL;
    }
    HELD PyObject *values = PyDict_New(), *entries = PyDict_New();
    if (values == NULL || entries == NULL) {
        return NULL;
    }
    to.little = little != 0;
    to.values = values;
    to.entries = entries;
    HELD PyObject *found = Py_BuildValue("OO", values, entries);
    int status = found != NULL ? convert_all(&to, data) : EXIF_ERROR;
    return result_of(status, found);
}
