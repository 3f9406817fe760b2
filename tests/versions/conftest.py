"""Where the tests of versions find their helpers."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]

from covered import (  # noqa: E402, F401
    agents, build, jobs, place, scratch, session_scratch)
