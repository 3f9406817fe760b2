/* What lets the Pythons of a run find the package `stoker`. */
#ifndef STK_CLI_PYTHON_H
#define STK_CLI_PYTHON_H

#include <stdbool.h>

/* The value of PYTHONPATH with our site.zip in front of what is there already; NULL when the
 * package is not installed beside this program, or lies where PYTHONPATH cannot name it. The caller
 * frees. */
char *python_path(void);

/* What of that is ours, or NULL; the caller frees. */
char *python_site(void);

/* The directory that the package lies in, or NULL. The caller frees. */
char *python_package_path(void);

/* Whether that package decodes: not where it was installed for a Python before 3.11. */
bool python_decodes(void);

/* Whether it has a sample store: it is built without one where LMDB is missing. */
bool python_keeps_samples(void);

/*
 * Keeps the command's own Pythons from importing modules of the working directory, which may
 * belong to any user. Each program for `python3 -c` begins with this text. A Python from 3.11 on
 * imports modules before the program begins, so its environment, too, has to forbid that directory.
 * The user's own modules (~/.local) are imported before it, too. They are left out if another user
 * controls the way to them, as when root runs with the HOME of that user.
 */
#define PYTHON_APART "import sys\nif sys.path[:1] == ['']:\n    del sys.path[0]\n"
/* Sets this process's environment for the command's own Pythons. PYTHONPATH gets the absolute
 * directories of `path`, a value of PYTHONPATH or NULL. Never call it in a process that starts a
 * user's job later. */
void python_set_apart(const char *path);

#endif
