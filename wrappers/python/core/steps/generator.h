/* The generator of torch's, as Python has it. */
#pragma once

#include <stdbool.h>

#include "wrappers/python/core/common/limited_api.h"
#include "wrappers/python/core/steps/numbers.h"

/* Calls draw(context, numbers) with a copy of the generator's state, in which it draws. If it
 * returns true the copy becomes the state, else nothing is drawn. The caller holds the GIL, and
 * `draw` keeps it: no other thread of Python's draws in between. Returns 0, or -1 with an exception
 * set and nothing drawn. */
int generator_draw(PyObject *generator, bool (*draw)(void *context, struct numbers *numbers),
                   void *context);
