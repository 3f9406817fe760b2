"""Transforms one after the other, with as many of them as possible done at once.

What is done at once is found out of each transform (looks.py). Geometry is noted in a picture
(pictures.py), what makes a tensor of it is one pass (tails.py), and any other transform is called as it
is, with an image of Pillow's.
"""

import itertools

from .._own import is_own
from . import draws, pictures, tails
from .exact import functions_are_own
from .looks import NOTHING, look_at
from .pictures import Picture

_MOST = 64

_chains = {}  # {the Looks from where a chain may begin: its key}


def run(transforms, image, end=None):
    """What the transforms make of a picture, or of anything else. Where it still is a picture when only
    its end is left to do, that is what end(picture, tail) gives, if there is such a function; the tail is
    None if the end is an image."""
    known, at = _are_known(), 0
    while at < len(transforms):
        if known:
            image, at = _at_once(transforms, at, image, end)
        if at < len(transforms):
            image = transforms[at](_ordinary(image) if type(image) is Picture else image)
            at += 1
    return _ended(image, end) if type(image) is Picture else image


def _are_known():
    """Returns true if the functions are torchvision's own."""
    try:
        return functions_are_own() and pictures.is_float32()
    except Exception as error:
        if not is_own(error):
            raise
        return False


def _at_once(transforms, at, image, end):
    """Does what can be done at once from here on: (what came of it, the place of the transform to be called next).
    What fails, of an image that can be done again, is as if nothing had been tried."""
    if end is not None or type(image) is Picture:
        return _noted(transforms, at, image, end)
    return draws.as_one(_noted, transforms, at, image, None) or (image, at)


def _noted(transforms, at, image, end):
    looks = look_at(transforms)
    while at < len(transforms):
        look = looks[at] if at < len(looks) else NOTHING
        if look.step is not None:
            if type(image) is not Picture:
                image = pictures.of_waiting(image) or image
            if type(image) is Picture and look.step(image, transforms[at]):
                at += 1
                continue
        elif look.start is not None:
            done = _end(transforms, looks, at, image, end)
            if done is not None:
                image, at = done
                continue
        return _ordinary(image), at
    return _ended(image, end), at


class Outlook:
    """What images of one mode go through. It holds until the program changes something."""

    __slots__ = ("is_known", "steps", "tail", "told")

    def __init__(self, is_known=False, steps=(), tail=None, told=None):
        self.is_known = is_known  # nothing of the program's runs in it
        self.steps = steps  # that it begins with, each with its transform
        self.tail = tail  # the Tail that all the rest is, or None
        self.told = told  # the steps for threads, if with these and the tail all is said; or None


def outlook(transforms, mode):
    """Of these transforms."""
    if not functions_are_own() or not pictures.is_float32():
        return Outlook()
    looks = look_at(transforms)
    known = all(look.step or look.start is not None or look.link is not None for look in looks)
    at = 0
    while at < len(looks) and looks[at].step is not None:
        at += 1
    begins = at < len(looks) and looks[at].start is not None
    key = _chain(tuple(looks[at:])) if begins else ()
    tail = tails.tail_of(transforms, at, key, mode) if key and at + len(key) == len(looks) else None
    steps = list(zip(looks[:at], transforms))
    told = None
    if tail is not None or at == len(looks):
        told = tuple(look.told(transform) for look, transform in steps)
    return Outlook(known, [(look.step, transform) for look, transform in steps], tail,
                   None if told is None or None in told else told)


def _ended(image, end):
    return end(image, None) if end is not None and type(image) is Picture else _ordinary(image)


def _ordinary(image):
    return image.image() if type(image) is Picture else image


def _chain(looks):
    """The key of the longest chain that they begin with, where they do: a tuple with an element for each
    transform of it."""
    key = _chains.get(looks)
    if key is None:
        if len(_chains) >= _MOST:
            _chains.clear()
        links = itertools.takewhile(lambda link: link is not None, [look.link for look in looks[1:]])
        key = _chains[looks] = looks[0].start, *links
    return key


def _end(transforms, looks, at, image, end):
    """(tensor, the next transform's place) if what makes a tensor begins here, else None."""
    is_picture = type(image) is Picture
    if not is_picture and not tails.is_pillows(image) or min(image.size) < 2:
        return None
    key = _chain(tuple(looks[at:]))
    tail = tails.tail_of(transforms, at, key, image.mode)
    if tail is None:
        return None
    if is_picture and end is not None and at + len(key) == len(transforms):
        return end(image, tail), len(transforms)
    result = image.tensor(tail) if is_picture else tails.of_image(image, tail)
    return None if result is None else (result, at + len(key))
