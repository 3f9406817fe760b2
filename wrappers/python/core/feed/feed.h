/*
 * Batches that threads read and decode, for Python (stoker/_feeding). There is a ThreadPool, its
 * Files (the items of one batch), and a BufferPool of the batches' memory. Python decides which
 * steps an image goes through.
 *
 * The GIL must be held, except for the work of the pool's threads on items of Files that are under
 * way. thread_pool.h says what a child of fork may do.
 */
#pragma once

#include "wrappers/python/core/common/limited_api.h"

extern PyType_Spec feed_thread_pool_spec;                   /* py_thread_pool.c */
extern PyType_Spec feed_files_spec;                         /* files.c */
extern PyType_Spec feed_buffer_pool_spec, feed_memory_spec; /* buffer_pool.c */

/* pool.files(): returns empty Files (files.c). */
PyObject *py_pool_files(PyObject *py_pool, PyObject *unused);
