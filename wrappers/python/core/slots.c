/* What the types of slots share. See slots.h. */
#include "wrappers/python/core/slots.h"

#include "wrappers/python/core/feed/area.h"
#include "wrappers/python/core/feed/feed.h"

PyObject *slots_new(PyObject *module, const char *name)
{
    PyObject *type = PyObject_GetAttrString(module, name);
    if (type == NULL) {
        return NULL;
    }
    PyObject *object = PyType_GenericAlloc((PyTypeObject *)type, 0);
    Py_DECREF(type); /* the object has its own reference */
    return object;
}

void slots_free(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

int slots_add_types(PyObject *module)
{
    PyType_Spec *const specs[] = {&lend_piece_spec, &borrow_slot_spec, &borrow_loan_spec,
                                  &feed_crew_spec,  &feed_files_spec,  &feed_stock_spec,
                                  &feed_area_spec,  &feed_memory_spec, NULL};
    for (PyType_Spec *const *spec = specs; *spec != NULL; spec++) {
        PyObject *type = PyType_FromModuleAndSpec(module, *spec, NULL);
        int status = type == NULL ? -1 : PyModule_AddType(module, (PyTypeObject *)type);
        Py_XDECREF(type);
        if (status != 0) {
            return -1;
        }
    }
    return 0;
}
