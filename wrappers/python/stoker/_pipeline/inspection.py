"""Inspects each transform of a pipeline, once, and keeps the finding for as long as the transform does not change.

Most pipelines are the same for every image. So a transform is inspected once; from then on a check of its parts shows
that it still consists of the same objects.
"""

import itertools
import weakref

from .. import _core
from .._base import cache
from . import box_steps, colours, exact, steps, tensor_tail, timms

_MOST = 256

_known = {}  # {a transform's id: (its parts, its Inspection)}. The transform itself is not held: it may end.
_unknown = set()  # classes whose transforms are always called as they are


class Inspection:
    __slots__ = ("step", "start", "link", "tensor_step", "image_step", "boxes", "filters", "drawing", "end")

    def __init__(self, step=None, start=None, link=None, tensor_step=None, image_step=None, boxes=None,
                 filters=None, drawing=None):
        self.step = step  # the tuple for core/steps (steps.py)
        self.tensor_step = tensor_step  # the same for a tensor of bytes of torch's own class,
        self.image_step = image_step  # and for one of another class
        self.start = start  # the key of a chain that begins with it (tensor_tail.py)
        self.link = link  # the key of a further transform in a chain
        self.boxes = boxes  # what it does with boxes (box_steps.py)
        self.filters = filters  # of timm's crops (timms.py)
        self.drawing = drawing  # draws its changes of colours (colours.py)
        self.end = None  # a weak reference to a transform with another one inside, which is forgotten with it


NOTHING = Inspection()


def inspect(transforms):
    """Returns an Inspection of each transform. Called after functions_are_own(), and again after code of the program
    has run."""
    found = _core.found(transforms, _known)
    if None in found:
        found = [each or (NOTHING if is_unknown(transform) else _inspect(transform))
                 for each, transform in zip(found, transforms)]
    return found


def is_unknown(transform):
    """Returns true if an inspection has shown that transforms of this class are called as they are."""
    return type(transform) in _unknown


def lasting(transforms):
    """Returns a tuple of the Inspections, or None if one of them is not kept. Called as inspect()."""
    found = first_lasting(transforms)
    return found if len(found) == len(transforms) else None


def first_lasting(transforms):
    """Returns a tuple of the Inspections up to the first one that is not kept. Called as inspect()."""
    found = _core.found(transforms, _known)
    if None in found:
        inspect(transforms)
        found = _core.found(transforms, _known)
    return tuple(itertools.takewhile(lambda each: each is not None, found))


def _inspect(transform):
    kind = type(transform)
    if not any(each.knows(kind) for each in (steps, tensor_tail, box_steps, timms, colours)):
        _unknown.add(kind)
        return NOTHING
    inside = colours.inside(transform)
    seen = exact.seen(transform, inside)  # first: another thread may change the transform meanwhile
    if not exact.is_bare(transform):
        return NOTHING
    step = steps.step_of(transform)
    each = Inspection(step, *tensor_tail.keys_of(transform), *steps.tensor_steps_of(transform, step),
                      box_steps.of(transform), timms.filters_of(transform), colours.drawing(transform))
    if inside:
        each.end = _end_of(transform, _known)
    if seen is not None:
        cache.put(_known, id(transform), (seen, each), _MOST)
    return each


def _end_of(transform, known):
    """Returns a weak reference that drops the finding on a transform, which holds the transform inside. It may do so when
    this module's globals are gone."""
    key = id(transform)
    return weakref.ref(transform, lambda _: known.pop(key, None))
