/* Directories of EXIF data (TIFF 6.0, section 2), as Pillow writes them: entries by their tags, and
 * behind these what has no room in one. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wrappers/python/core/common/functions.h"
#include "wrappers/python/core/common/objects.h"
#include "wrappers/python/core/pillow/exif.h"

#define MOST_TAGS     256
#define STRIP_OFFSETS 0x0111 /* Pillow changes its value */
#define DEEPEST       3      /* directories within directories */

struct writing {
    PyObject *out; /* a bytearray */
    bool little;
    uint64_t offset; /* of its first byte in the data */
};

struct tagged {
    uint32_t tag;
    PyObject *entry; /* (type, count, bytes), or a dictionary of such */
};

static size_t used(const struct writing *writing)
{
    return (size_t)PyByteArray_Size(writing->out);
}

static uint8_t *at(const struct writing *writing, size_t place)
{
    return (uint8_t *)PyByteArray_AsString(writing->out) + place;
}

/* Adds so many zeros. Returns false with an exception set. */
static bool add_zeros(const struct writing *writing, size_t bytes)
{
    size_t before = used(writing);
    if (PyByteArray_Resize(writing->out, (Py_ssize_t)(before + bytes)) != 0) {
        return false;
    }
    memset(at(writing, before), 0, bytes);
    return true;
}

static void set_number(const struct writing *writing, size_t place, size_t bytes, uint64_t number)
{
    exif_put_number(at(writing, place), bytes, (uint32_t)number, writing->little);
}

static int by_tag(const void *one, const void *other)
{
    uint32_t a = ((const struct tagged *)one)->tag, b = ((const struct tagged *)other)->tag;
    return (a > b) - (a < b);
}

/* Puts the entries in order. Returns EXIF_LEFT for tags that Pillow is to write. */
static int sort(PyObject *entries, struct tagged tags[MOST_TAGS], size_t *out)
{
    PyObject *key, *entry;
    Py_ssize_t next = 0;
    size_t count = 0;
    while (PyDict_Next(entries, &next, &key, &entry)) {
        unsigned long tag = PyLong_CheckExact(key) ? PyLong_AsUnsignedLong(key) : UINT16_MAX + 1ul;
        PyErr_Clear();
        if (count == MOST_TAGS || tag > UINT16_MAX || tag == STRIP_OFFSETS) {
            return EXIF_LEFT;
        }
        tags[count++] = (struct tagged){(uint32_t)tag, entry};
    }
    qsort(tags, count, sizeof *tags, by_tag);
    *out = count;
    return EXIF_DONE;
}

static int write_directory(const struct writing *writing, PyObject *entries, unsigned depth);

/* Writes what is behind the directory, and its place. */
static int write_further(const struct writing *writing, size_t place, const struct tagged *tagged,
                         const char *bytes, Py_ssize_t size, unsigned depth)
{
    size_t end = used(writing);
    set_number(writing, place + 8, 4, writing->offset + end);
    if (PyDict_CheckExact(tagged->entry)) {
        return write_directory(writing, tagged->entry, depth + 1);
    }
    if (!add_zeros(writing, (size_t)(size + size % 2))) {
        return EXIF_ERROR;
    }
    memcpy(at(writing, end), bytes, (size_t)size);
    return EXIF_DONE;
}

static int write_entry(const struct writing *writing, size_t place, const struct tagged *tagged,
                       unsigned depth)
{
    unsigned long type = EXIF_LONG, count = 1;
    const char *bytes = NULL;
    Py_ssize_t size = 0;
    bool is_directory = PyDict_CheckExact(tagged->entry);
    if (!is_directory && !PyArg_ParseTuple(tagged->entry, "kky#", &type, &count, &bytes, &size)) {
        return EXIF_ERROR;
    }
    set_number(writing, place, 2, tagged->tag);
    set_number(writing, place + 2, 2, type);
    set_number(writing, place + 4, 4, count);
    if (is_directory || size > 4) {
        return write_further(writing, place, tagged, bytes, size, depth);
    }
    memcpy(at(writing, place + 8), bytes, (size_t)size);
    return EXIF_DONE;
}

static int write_directory(const struct writing *writing, PyObject *entries, unsigned depth)
{
    struct tagged tags[MOST_TAGS];
    size_t count = 0, begin = used(writing);
    int status = depth < DEEPEST ? sort(entries, tags, &count) : EXIF_LEFT;
    if (status != EXIF_DONE) {
        return status;
    }
    if (!add_zeros(writing, 2 + EXIF_ENTRY_BYTES * count + 4)) {
        return EXIF_ERROR;
    }
    set_number(writing, begin, 2, count);
    for (size_t i = 0; i < count && status == EXIF_DONE; i++) {
        status = write_entry(writing, begin + 2 + EXIF_ENTRY_BYTES * i, &tags[i], depth);
    }
    return status;
}

/*
 * exif_write(entries, is_little, offset): a directory as a bytearray, which will lie at this
 * offset. `entries`: {tag: (type, count, bytes)}; a dictionary of such in the place of an entry is
 * a directory. Returns None if Pillow is to write it.
 */
PyObject *core_exif_write(PyObject *module, PyObject *arguments)
{
    PyObject *entries;
    int little;
    uint32_t offset;
    if (!PyArg_ParseTuple(arguments, "O!pO&", &PyDict_Type, &entries, &little, take_u32, &offset)) {
        return NULL;
    }
    HELD PyObject *out = PyByteArray_FromStringAndSize(NULL, 0);
    struct writing writing = {out, little != 0, offset};
    int status = out != NULL ? write_directory(&writing, entries, 0) : EXIF_ERROR;
    if (status == EXIF_DONE && writing.offset + used(&writing) > UINT32_MAX) {
        status = EXIF_LEFT;
    }
    return status == EXIF_DONE ? Py_NewRef(out) : status == EXIF_LEFT ? Py_NewRef(Py_None) : NULL;
}
