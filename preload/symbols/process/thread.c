/*
 * A process with a second thread may fork while that thread holds the loader's lock, and the child
 * could look up no symbol any more. So pthread_create and thrd_create look up all symbols first.
 */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <threads.h>

#include "preload/interpose/export.h"
#include "preload/interpose/next.h"

/* Defines a symbol. MISSING is its result if there is no next one. */
#define CREATE_SYMBOL(name, MISSING, PARAMETERS, ARGUMENTS)                                        \
    STK_DEFINE_NEXT_OR(MISSING, int, name, PARAMETERS, ARGUMENTS)                                  \
    STK_EXPORT(int, name, PARAMETERS)                                                              \
    {                                                                                              \
        stk_next_find_all();                                                                       \
        return name##_next ARGUMENTS;                                                              \
    }

CREATE_SYMBOL(pthread_create, EAGAIN,
              (pthread_t * thread, const pthread_attr_t *attributes, void *(*begin)(void *),
               void *argument),
              (thread, attributes, begin, argument))
CREATE_SYMBOL(thrd_create, thrd_error, (thrd_t * thread, thrd_start_t begin, void *argument),
              (thread, begin, argument))
