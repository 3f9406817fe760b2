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

typedef int create_posix(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
typedef int create_c11(thrd_t *, thrd_start_t, void *);

STK_EXPORT(int, pthread_create,
           (pthread_t * thread, const pthread_attr_t *attributes, void *(*begin)(void *),
            void *argument))
{
    stk_next_find_all();
    create_posix *next = STK_NEXT(pthread_create, create_posix *);
    return next != NULL ? next(thread, attributes, begin, argument) : EAGAIN;
}

STK_EXPORT(int, thrd_create, (thrd_t * thread, thrd_start_t begin, void *argument))
{
    stk_next_find_all();
    create_c11 *next = STK_NEXT(thrd_create, create_c11 *);
    return next != NULL ? next(thread, begin, argument) : thrd_error;
}
