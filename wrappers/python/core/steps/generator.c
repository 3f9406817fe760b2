#include "wrappers/python/core/steps/generator.h"

#include "wrappers/python/core/steps/step_request.h"

/* Returns a number that a method of the tensor returns, or 0 with an exception set. */
static unsigned long long ask(PyObject *tensor, const char *method)
{
    HELD PyObject *number = PyObject_CallMethod(tensor, method, NULL);
    unsigned long long value = number != NULL ? PyLong_AsUnsignedLongLong(number) : 0;
    return PyErr_Occurred() == NULL ? value : 0;
}

int generator_draw(PyObject *generator, bool (*draw)(void *context, struct numbers *numbers),
                   void *context)
{
    HELD PyObject *state = PyObject_CallMethod(generator, "get_state", NULL);
    size_t bytes = state != NULL ? (size_t)ask(state, "numel") : 0;
    void *memory = bytes != 0 ? (void *)(uintptr_t)ask(state, "data_ptr") : NULL;
    struct numbers *numbers = memory != NULL ? numbers_in(memory, bytes) : NULL;
    HELD PyObject *done = NULL;
    if (numbers != NULL) {
        done = draw(context, numbers) ? PyObject_CallMethod(generator, "set_state", "O", state)
                                      : Py_NewRef(Py_None);
    }
    return done != NULL ? 0 : -1;
}
