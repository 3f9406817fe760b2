/* The environment by which the Pythons of a run find the package `stoker`. */
#pragma once

#include <stdbool.h>

/* Returns the value of PYTHONPATH with our site.zip in front of the present value. Returns NULL if
 * the package is not installed beside this program, or if PYTHONPATH cannot name its path. The
 * caller frees. */
char *python_path(void);

/* Returns our part of that value, or NULL. The caller frees. */
char *python_site(void);

/* Returns the directory of the package, or NULL. The caller frees. */
char *python_package_path(void);

/* Returns true if the package decodes. It does not if it was installed for a Python before 3.11. */
bool python_decodes(void);

/* Returns true if the package has a sample store. A build without LMDB has none. */
bool python_keeps_samples(void);

/*
 * Keeps the command's own Pythons from importing modules of the working directory, which may belong
 * to any user. Each program for `python3 -c` begins with this text.
 *
 * From 3.11 on Python imports modules before the program begins, so the environment has to forbid
 * that directory as well. The user's own modules (~/.local) are imported before the program, too.
 * They are left out if another user controls the path to them, as when root runs with that user's
 * HOME.
 */
#define PYTHON_ISOLATED "import sys\nif sys.path[:1] == ['']:\n    del sys.path[0]\n"
/* Sets this process's environment for the command's own Pythons. PYTHONPATH gets the absolute
 * directories of `path`, which is a value of PYTHONPATH or NULL. Never call it in a process that
 * starts a user's job later. */
void python_set_isolated(const char *path);
