"""Where the tests of faults find their helpers."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), *(str(HERE.parent / name) for name in ("lib", "slowfs"))]

from covered import build, jobs, place, scratch, session_scratch  # noqa: E402, F401
