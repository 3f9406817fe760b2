"""Where the tests with CPython's own tests find their helpers."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]

from covered import build, jobs, place, scratch, session_scratch  # noqa: E402, F401
