/*
 * Python.h with the limited API: the part that every Python from 3.11 on has. So one binary serves
 * all of them.
 */
#pragma once

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000
#endif
#include <Python.h>
