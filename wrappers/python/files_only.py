"""The command and its library alone: for a Python before 3.11, other than CPython, or without the GIL.

`stoker run` serves files to it, and leaves images and batches as they are. (Installed as the package's
__init__.py there: setup.py.)
"""

__version__ = "0.1.0"


def __getattr__(name):
    """`from stoker import Image` shall say why, not that it was not found."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise ImportError(f"{__name__}.{name} wants CPython 3.11 or later, with the GIL: on this Python "
                      "`stoker run` serves files, and leaves images as they are")
