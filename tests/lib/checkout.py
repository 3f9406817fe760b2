"""The directory of this checkout, and that of its build. Both are absolute, whatever the working directory."""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("STOKER_BUILD", "build")
