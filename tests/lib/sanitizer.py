"""The library under a sanitizer: STOKER_SANITIZER names the runtime that must be loaded first."""

import os

RUNTIME = os.environ.get("STOKER_SANITIZER", "")

# A finding ends the program with a status of its own; leaks are the programs' own business, and a
# thread that a forked child has only in memory is none.
_OPTIONS = {"ASAN_OPTIONS": "exitcode=99:detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1",
            "TSAN_OPTIONS": "exitcode=99:atexit_sleep_ms=0:report_thread_leaks=0"}


def environment(library=None):
    """What a program's environment needs, to run with the runtime and the library."""
    loaded = " ".join(str(one) for one in (RUNTIME, library) if one)
    return {**(_OPTIONS if RUNTIME else {}), "LD_PRELOAD": loaded}
