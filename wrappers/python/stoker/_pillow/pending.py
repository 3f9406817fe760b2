"""Which images wait as plans, so that none waits for long where Pillow's would have had its pixels.

An image that a program keeps is decoded once, where it is kept: when so many others have come to wait
after it, or before the process forks, since each child would do it again and keep what it got.
Whatever another thread than the main one makes does not wait at all: it is mostly made there for
somebody else, who would then do the work of all of them.
"""

import os
import threading
from _thread import get_ident
from collections import deque
from weakref import ref

from PIL import Image

from .._own import is_own
from . import versions
from .plan import Plan, settle

_MOST = 48

_nothing = Image.new("L", (1, 1))
_no_image = type(None)  # called as a reference is, it gives None

# Weak references, the oldest first; most are soon dead. As many go out as come in.
_images = deque([_no_image] * _MOST)

_main_thread = threading.main_thread().ident


def wait(image):
    """Notes an image that has just become a plan."""
    _images.append(ref(image))
    oldest = _images.popleft()()
    if oldest is not None:
        _end(oldest)


def new_image(image, plan):
    """A new image, as Pillow makes them of another one."""
    new = image._new(plan)
    if get_ident() == _main_thread:
        wait(new)
    else:
        settle(new, plan)
    return new


def image_with(plan):
    """A new image that comes from no other."""
    return new_image(_nothing, plan)


def _end(image):
    """Settles it, if it still is a plan."""
    plan = image.__dict__.get(versions.FIELD)
    if type(plan) is Plan:
        try:
            settle(image, plan)
        except Exception:  # it is raised where the pixels are wanted
            pass


def _end_all():
    """Before a fork, which tells of what is raised here."""
    try:
        for _ in range(_MOST):
            _images.append(_no_image)
            image = _images.popleft()()
            if image is not None:
                _end(image)
    except Exception as error:
        if not is_own(error):
            raise


def _be_main_thread():
    global _main_thread
    _main_thread = get_ident()


def heed_forks():
    os.register_at_fork(before=_end_all, after_in_child=_be_main_thread)
