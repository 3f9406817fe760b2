#include "wrappers/python/core/pillow/image_memory.h"

#include <string.h>

/* Where an image's description has its parts, in bytes. */
struct layout {
    size_t bands, width, height;    /* int */
    size_t image8, image32, image;  /* rows: those of the size that a pixel has, and all the same */
    size_t pixel_bytes, line_bytes; /* int */
};

static const struct layout layouts[] = {
    {16, 20, 24, 40, 48, 56, 80, 84}, /* begins with the mode's name: to 11.3 */
    {12, 16, 20, 32, 40, 48, 72, 76}, /* with its number */
};

static bool has_int(const char *image, size_t at, uint32_t expected)
{
    int value;
    memcpy(&value, image + at, sizeof value);
    return value > 0 && (uint32_t)value == expected;
}

static const void *pointer_at(const char *image, size_t at)
{
    const void *value;
    memcpy(&value, image + at, sizeof value);
    return value;
}

/* The rows, if the description is of this layout and agrees. */
static const void *const *rows_by(const struct layout *layout, const char *image,
                                  const struct image_memory *known)
{
    uint32_t pixel_bytes = known->bands == 1 ? 1 : 4;
    bool is_wide = pixel_bytes == 4;
    const void *rows = pointer_at(image, layout->image);
    bool agrees = has_int(image, layout->bands, known->bands) &&
                  has_int(image, layout->width, known->width) &&
                  has_int(image, layout->height, known->height) &&
                  has_int(image, layout->pixel_bytes, pixel_bytes) &&
                  has_int(image, layout->line_bytes, known->width * pixel_bytes) &&
                  pointer_at(image, layout->image8) == (is_wide ? NULL : rows) &&
                  pointer_at(image, layout->image32) == (is_wide ? rows : NULL);
    return agrees ? rows : NULL;
}

/* The description's address, which Pillow hands out for extensions; NULL without an exception. */
static const char *address_of(PyObject *core)
{
    PyObject *capsule = PyObject_GetAttrString(core, "ptr");
    const char *name = capsule != NULL ? PyCapsule_GetName(capsule) : NULL;
    const char *address = NULL;
    if (name != NULL && (strcmp(name, "Pillow Imaging") == 0 || strcmp(name, "PIL Imaging") == 0)) {
        address = PyCapsule_GetPointer(capsule, name);
    }
    PyErr_Clear();
    Py_XDECREF(capsule); /* the core image keeps the memory */
    return address;
}

bool find_rows(struct image_memory *memory, PyObject *core)
{
    const char *image = address_of(core);
    memory->rows = NULL;
    for (size_t i = 0; image != NULL && i < sizeof layouts / sizeof *layouts; i++) {
        const void *const *rows = rows_by(&layouts[i], image, memory);
        memory->rows = memory->rows != NULL ? memory->rows : rows;
    }
    return memory->rows != NULL;
}
