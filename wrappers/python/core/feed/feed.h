/*
 * Batches that are read and decoded by threads, for Python (stoker/_feeding): a Crew, its Files
 * (the items of one batch), and a Stock of the memory that batches lie in. What is drawn and
 * planned of an image is Python's matter.
 *
 * All of it is under the GIL, but for what the crew's threads do with the items of Files that are
 * underway. See crew.h for what a child of fork may do.
 */
#ifndef STK_PYTHON_FEED_FEED_H
#define STK_PYTHON_FEED_FEED_H

#include "wrappers/python/core/core.h"

extern PyType_Spec feed_crew_spec;                    /* team.c */
extern PyType_Spec feed_files_spec;                   /* files.c */
extern PyType_Spec feed_stock_spec, feed_memory_spec; /* stock.c */

PyObject *core_feed_crew(PyObject *module, PyObject *arguments);
PyObject *core_feed_stock(PyObject *module, PyObject *arguments);
PyObject *core_feed_words(PyObject *module, PyObject *arguments);

#endif
