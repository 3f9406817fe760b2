/* All regions of the process, and what is called at their ends. */
#include "wrappers/python/core/common/region.h"

#include "base/invariant.h"
#include "wrappers/python/core/common/functions.h"

static struct region *known;

void region_begin(struct region *region, void *address, size_t bytes)
{
    region->address = address;
    region->bytes = bytes;
    region->next = known;
    known = region;
}

struct region *region_find(const void *address)
{
    const unsigned char *at = address;
    struct region *region = known;
    while (region != NULL && (at < region->address || at >= region->address + region->bytes)) {
        region = region->next;
    }
    return region;
}

static void call_all(PyObject *ends)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (Py_ssize_t i = 0; i < PyList_Size(ends); i++) {
        Py_XDECREF(PyObject_CallNoArgs(PyList_GetItem(ends, i)));
        PyErr_Clear();
    }
    PyErr_Restore(type, value, traceback);
}

void region_end(struct region *region)
{
    struct region **at = &known;
    while (*at != region) {
        STK_INVARIANT(*at != NULL);
        at = &(*at)->next;
    }
    *at = region->next;
    PyObject *ends = region->ends;
    *region = (struct region){.address = NULL};
    if (ends != NULL) {
        call_all(ends);
        Py_DECREF(ends);
    }
}

/* region_at(address): (where it begins, bytes) of the region that the address lies in, or None. */
PyObject *core_region_at(PyObject *module, PyObject *object)
{
    const void *address = PyLong_AsVoidPtr(object);
    if (PyErr_Occurred() != NULL) {
        return NULL;
    }
    const struct region *region = region_find(address);
    return region != NULL ? Py_BuildValue("KK", (unsigned long long)(uintptr_t)region->address,
                                          (unsigned long long)region->bytes)
                          : Py_NewRef(Py_None);
}

/* region_before_unmap(address, function): has the function called once, when the region that the
 * address lies in is about to be unmapped, by whatever thread ends the last object over it. */
PyObject *core_region_before_unmap(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    const void *address = count == 2 ? PyLong_AsVoidPtr(arguments[0]) : NULL;
    struct region *region = PyErr_Occurred() == NULL ? region_find(address) : NULL;
    if (region == NULL) {
        return PyErr_Occurred() != NULL
                   ? NULL
                   : PyErr_Format(PyExc_ValueError, "there is no such region any more");
    }
    if (region->ends == NULL) {
        region->ends = PyList_New(0);
    }
    return region->ends == NULL || PyList_Append(region->ends, arguments[1]) != 0
               ? NULL
               : Py_NewRef(Py_None);
}
