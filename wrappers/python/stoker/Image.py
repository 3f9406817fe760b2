"""PIL.Image itself, with JPEGs decoded by Stoker: `from stoker import Image`.

The module that importing this gives is PIL.Image, so classes, functions and settings are the same
objects whichever way a program comes by them.
"""

import sys

import PIL.Image
import PIL.JpegImagePlugin  # noqa: F401

from ._pillow import hook

hook.install()
sys.modules[__name__] = PIL.Image
