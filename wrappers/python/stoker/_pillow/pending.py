"""The images that wait as plans. No image waits for long if Pillow's would have had its pixels.

An image that a program keeps is decoded once, in the process that keeps it: when 48 further images have begun to wait,
or before the process forks. Otherwise each child would decode it again and keep the pixels. Images of other threads
than the main one do not wait at all: they are mostly made for another thread, which would then decode all of them.
"""

import os
import threading
from _thread import get_ident
from collections import deque
from weakref import ref

from .._base.own import attempt, attempt_beside
from . import versions
from .plan import Plan, materialise

_MOST = 48

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


def may_wait(plan):
    """Returns true if a program that calls load() may get a plan: it cannot fail, and no other thread is likely to use
    the image."""
    return get_ident() == _main_thread and plan.source.is_certain()


def new_image(image, plan):
    """Returns a new image with this plan, as Pillow makes an image of another one."""
    new = image._new(plan)
    if get_ident() == _main_thread:
        wait(new)
    else:
        materialise(new, plan)
    return new


def _end(image):
    """Materialises the image, if it still is a plan."""
    plan = image.__dict__.get(versions.FIELD)
    if type(plan) is Plan:
        attempt_beside(materialise, image, plan)  # the caller that wants the pixels gets an error


def _end_all():
    """Materialises all waiting images before a fork."""
    for _ in range(_MOST):
        _images.append(_no_image)
        image = _images.popleft()()
        if image is not None:
            _end(image)


def _be_main_thread():
    global _main_thread
    _main_thread = get_ident()


def heed_forks():
    # The fork prints errors that are raised here.
    os.register_at_fork(before=lambda: attempt(_end_all), after_in_child=_be_main_thread)
