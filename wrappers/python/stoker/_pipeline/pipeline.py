"""Runs transforms one after the other, as many of them as possible at once.

An inspection shows which transforms can run at once (inspection.py). Geometry is noted in a lazy image
(lazy_images.py), the chain that makes a tensor is one pass (tensor_tail.py), and any other transform is called as it
is, with an image of Pillow's.
"""

import itertools
import operator

import torch

from .._base import cache
from .._base.own import attempt
from . import colours, lazy_images, lazy_tensors, rng, tensor_tail, timms
from .calls import called
from .exact import functions_are_own
from .inspection import NOTHING, inspect, is_unknown
from .lazy_images import LazyImage
from .lazy_tensors import LazyTensor

_MOST_STEPS = 16  # STEPS_MOST

_chains = {}  # {the Inspections from the beginning of a chain on: its key}


def run(transforms, image, end=None):
    """Returns the result of the transforms for a lazy image or any other value. If there is a function `end`, it makes
    the result of a lazy image of which only the end is left: end(lazy, tail), or end(lazy, None) for an image."""
    known, at = attempt(_are_known), 0
    while at < len(transforms):
        if known and not attempt(is_unknown, transforms[at]):
            image, at = _at_once(transforms, at, image, end)
        if at < len(transforms):
            image = called(transforms[at], _ordinary(image) if isinstance(image, LazyImage) else image)
            at += 1
    return _ended(image, end) if isinstance(image, LazyImage) else image


def _are_known():
    """Returns true if the functions are torchvision's own."""
    return functions_are_own() and lazy_images.is_float32()


def _at_once(transforms, at, image, end):
    """Runs transforms at once as far as possible. Returns (the result, the place of the transform to be called next).
    After an error of the package's own, an image that can be done again is returned unchanged."""
    if end is not None or type(image) is LazyImage:
        return _noted(transforms, at, image, end, False)
    return rng.as_one(_noted, transforms, at, image, None, True) or (image, at)


def _noted(transforms, at, image, end, is_kept):
    """`is_kept`: after an error the image is done again, so it may become a lazy tensor."""
    found = inspect(transforms)
    while at < len(transforms):
        each = found[at] if at < len(found) else NOTHING
        if each.step is not None:
            if not isinstance(image, LazyImage):
                image = lazy_images.of_waiting(image) or (is_kept and _of_memory(image)) or image
            noted = image.note(_steps(found[at:], image.step)) if isinstance(image, LazyImage) else 0
            if noted:
                at += noted
                continue
        elif each.filters is not None or each.drawing is not None:
            done = _drawn(transforms[at], each, image)
            if done is not None:
                image, at = done, at + 1
                continue
        elif each.start is not None or each.link is not None:
            done = _end(transforms, found, at, image, end, is_kept)
            if done is not None:
                image, at = done
                continue
        return _ordinary(image), at
    return _ended(image, end), at


def _drawn(transform, found, image):
    """Returns the image after a transform whose numbers are not those of a step, or None if the transform is to be called."""
    if found.filters is not None:
        return timms.cropped(transform, found.filters, image)
    return colours.changed(image, found.drawing) if isinstance(image, LazyImage) else None


def _of_memory(image):
    """Returns the lazy image of a tensor, or of an image of Pillow's in memory; else None."""
    return lazy_tensors.of_tensor(image) or lazy_images.of_loaded(image)


class Analysis:
    """The transforms as they treat images of one mode. Valid until the program changes one of them."""

    __slots__ = ("is_known", "steps", "tail", "is_whole")

    def __init__(self, is_known=False, steps=(), tail=None, is_whole=False):
        self.is_known = is_known  # true if no code of the program runs in the transforms
        self.steps = steps  # the first transforms, as steps
        self.tail = tail  # the TensorTail of all further transforms, or None
        self.is_whole = is_whole  # true if the steps and the tail are all transforms


def analyse(transforms, mode):
    """Returns the Analysis of these transforms for images of a mode."""
    if not _are_known():
        return Analysis()
    found = inspect(transforms)
    steps = _steps(found, operator.attrgetter("step"))
    tail = _tail_from(transforms, found, len(steps), mode)
    return Analysis(all(map(_is_known, found)), steps, tail, tail is not None or len(steps) == len(found))


def make_tensor(transforms, base):
    """Returns true if these are transforms of this base class, no code of the program runs in them, and one of them
    makes a tensor."""
    if not _are_known() or not all(isinstance(transform, base) for transform in transforms):
        return False
    found = inspect(transforms)
    return all(map(_is_known, found)) and any(each.start is not None or each.link is not None for each in found)


def _steps(found, step_of):
    """Returns the steps at the beginning of these Inspections: step_of() returns that of an Inspection, or None."""
    return tuple(itertools.takewhile(lambda step: step is not None, map(step_of, found[:_MOST_STEPS])))


def _is_known(each):
    """Returns true if nothing of the program's runs in the inspected transform."""
    return each.step is not None or each.start is not None or each.link is not None


def _tail_from(transforms, found, at, mode):
    """Returns the TensorTail that all transforms from the at-th on are together, or None."""
    if at == len(found) or found[at].start is None:
        return None
    key = _chain(tuple(found[at:]))
    return tensor_tail.tail_of(transforms, at, key, mode) if at + len(key) == len(found) else None


def _ended(image, end):
    return end(image, None) if end is not None and isinstance(image, LazyImage) else _ordinary(image)


def _ordinary(image):
    return image.image() if isinstance(image, LazyImage) else image


def _chain(found, kind=LazyImage):
    """Returns the key of the longest chain at the beginning of these Inspections, for this kind of lazy image: a tuple
    with an element for each transform of the chain."""
    key = _chains.get((found, kind))
    if key is None:
        links = itertools.takewhile(lambda link: link is not None, [each.link for each in found[1:]])
        key = cache.put(_chains, (found, kind), (found[0].link if kind is LazyTensor else found[0].start, *links))
    return key


def _end(transforms, found, at, image, end, is_kept):
    """Returns (tensor, the next transform's place) if a chain that makes a tensor begins here; else None. If a step
    follows, the tensor is a lazy one."""
    lazy = _lazy_of(image, is_kept)
    key = (None,) if lazy is None else _chain(tuple(found[at:]), type(lazy))
    tail = None if key[0] is None else tensor_tail.tail_of(transforms, at, key, lazy.mode)
    if tail is None:
        return None
    after = at + len(key)
    if lazy is image and end is not None and after == len(transforms):
        return end(image, tail), after
    like = tail.like or torch.Tensor
    if is_kept and tail.is_bytes() and after < len(found) and lazy_tensors.step_for(like, found[after]) is not None:
        made = lazy_tensors.of_lazy(lazy, like)
        if made is not None:
            return made, after
    if type(lazy) is LazyTensor and tail.is_bytes() and not lazy.is_new():
        return None
    return lazy.tensor(tail), after


def chain_at(transforms, at, image):
    """Returns (the tensor that a chain of transforms makes of an image, the chain's key), or None if none begins at this
    place."""
    found = inspect(transforms) if _are_known() else ()
    lazy = _lazy_of(image) if at < len(found) and found[at].start is not None else None
    if lazy is None:
        return None
    key = _chain(tuple(found[at:]))
    tail = tensor_tail.tail_of(transforms, at, key, lazy.mode)
    return None if tail is None else (lazy.tensor(tail), key)


def _lazy_of(image, is_kept=False):
    """Returns the lazy image for an image of which a tensor is to be made in one pass, or None."""
    lazy = image if isinstance(image, LazyImage) else lazy_images.of_image(image) or (
        is_kept and lazy_tensors.of_tensor(image)) or None
    return None if lazy is None or min(lazy.size) < 2 else lazy  # the strides of thin tensors have rules of their own


def to_tensor(image):
    """Returns the tensor of ToTensor alone, or None if torchvision is to make it."""
    lazy = _lazy_of(image) if functions_are_own() else None
    tail = None if lazy is None else tensor_tail.of_to_tensor(lazy.mode)
    return None if tail is None else lazy.tensor(tail)
