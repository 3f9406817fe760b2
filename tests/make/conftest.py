"""Where the tests of the build find their helpers."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lib")]

from covered import build, jobs, place, scratch, session_scratch  # noqa: E402, F401
