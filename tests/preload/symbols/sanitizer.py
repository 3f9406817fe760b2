"""The library under a sanitizer: STOKER_SANITIZER names the runtime that must be loaded first."""

import os

RUNTIME = os.environ.get("STOKER_SANITIZER", "")

# A finding ends the program with a status of its own. Leaks are the programs' own business. A
# thread that a forked child has only in memory is no leak.
_OPTIONS = {"ASAN_OPTIONS": "exitcode=99:detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1",
            "TSAN_OPTIONS": "exitcode=99:atexit_sleep_ms=0:report_thread_leaks=0"}


def environment(library=None):
    """Returns the environment that a program needs to run with the runtime and the library."""
    loaded = " ".join(str(one) for one in (RUNTIME, library) if one)
    return {**(_OPTIONS if RUNTIME else {}), "LD_PRELOAD": loaded}
