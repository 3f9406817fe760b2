"""Transforms one after the other, with as many of them as possible done at once.

What is done at once is found out at each call. Geometry is noted in a picture (pictures.py), what
makes a tensor of it is one pass (tails.py), and any other transform is called as it is, with an
image of Pillow's.
"""

from . import pictures, steps, tails
from .exact import functions_are_own
from .pictures import Picture


def run(transforms, image):
    """What the transforms make of a picture, or of anything else."""
    fusing = functions_are_own() and pictures.is_float32()
    at = 0
    while at < len(transforms):
        transform = transforms[at]
        if fusing:
            if type(image) is not Picture and steps.knows(transform):
                image = pictures.of_waiting(image) or image
            if type(image) is Picture and steps.note(image, transform):
                at += 1
                continue
            done = _end(transforms, at, image)
            if done is not None:
                image, at = done
                continue
        image = transform(_ordinary(image))
        at += 1
    return _ordinary(image)


def _ordinary(image):
    return image.image() if type(image) is Picture else image


def _end(transforms, at, image):
    """(tensor, the next transform's place) if what makes a tensor begins here, else None."""
    if not tails.begins_with(transforms[at]):
        return None
    if type(image) is not Picture:
        return tails.apply(transforms, at, image)
    if min(image.size) < 2:
        return None
    key = tails.chain(transforms, at)
    tail = tails.tail_of(transforms, at, key, "RGB" if image.channels == 3 else "L") if key else None
    return None if tail is None else (image.tensor(tail), at + len(key))
