"""An image with its boxes, their labels, and values that v2's transforms hand on: as many transforms as possible at once.

The image's part is noted as without boxes (lazy_images.py), up to the tensor. The boxes' part is done on numbers
(box_numbers.py), with the parameters that the image's part has shown. Each part of a pipeline first makes
the same as torchvision's own transforms, of a small image beside the sample's other values.
"""

import sys

import numpy
import torch
from PIL import Image

from .. import _core
from .._base import cache
from .._torch import rows
from .._pipeline import box_steps, exact, inspection, lazy_images, steps, tensor_tail
from . import boxes
from .box_numbers import Boxes
from .trees import is_learned, tree_flatten, tree_unflatten

_HANDED_ON = (int, float, str, bytes, bool, type(None), torch.Tensor)
_SIZE = 23, 31
_TRIES = 8

_parts = {}  # {Inspections: the _Part at their beginning, or None}
_labels = {}  # {(getter, the structure's id, classes of the leaves): (structure, the label's place or None)}
_proven = {}  # {(Inspections, the sample's structure, what its leaves are): true if the samples are torchvision's}


class _Part:
    """Transforms that are done at once."""

    __slots__ = ("count", "steps", "ending", "key", "is_pure", "getter", "noted")

    def __init__(self, found):
        self.steps = []  # (an image's step or None, what is done with boxes) of each that does not make the tensor
        self.noted = ()  # the steps of images, if the plan of all of them shows what each has done
        self.ending = []  # the places of those that make it
        self.key = ()  # of the chain that they are (tensor_tail.py)
        self.getter = None  # the function that finds the labels, if boxes are dropped
        self.is_pure = False  # true if boxes lose their class at the end
        self.count = 0  # transforms
        while self.count < len(found) and not self.is_pure and self._takes(found[self.count], self.count):
            self.count += 1
        steps = [step for step, _ in self.steps if step is not None]
        flips = [step[1] for step in steps if step[0] == _core.STEP_FLIP]
        if len(flips) == len(set(flips)) and all([step[0] == _core.STEP_FLIP for step in steps[1:]]):
            self.noted = tuple(steps)

    def _takes(self, each, place):
        """Adds an inspected transform, or returns false."""
        link = each.link if self.key else each.start if each.boxes == "image" else None
        if link is not None:
            self.ending.append(place)
            self.key = *self.key, link
            self.is_pure = each.boxes == "pure"
        elif each.step is not None:
            if self.key or each.step[0] not in (_core.STEP_RESIZE, _core.STEP_FLIP):
                return False
            self.steps.append((each.step, None))
        else:
            return type(each.boxes) is tuple and self._takes_boxes(each.boxes)
        return True

    def _takes_boxes(self, change):
        if change[0] == "sanitize":
            if self.getter is not None:
                return False
            self.getter = change[2]
        self.steps.append((None, change))
        return True


def run(transforms, at, inputs):
    """Returns (the outputs, the next transform's place), or None if the transforms from the at-th on are torchvision's, or
    make no tensor."""
    transforms = transforms[at:]
    found = inspection.first_lasting(transforms) if _are_own() else None
    part = _part_of(found) if found else None
    if part is None:
        return None
    whole = inputs[0] if len(inputs) == 1 else inputs
    values, tree = tree_flatten(whole)
    sample = _Sample.of(values, whole, part, tree) if is_learned(tree) else None
    if sample is None or not _is_proven((found, id(tree)), part, transforms, sample, tree, len(inputs) == 1):
        return None
    return tree_unflatten(sample.outputs(part, transforms), tree), at + part.count


def begins(transform):
    """Returns true if a part may begin with the transform."""
    return steps.knows(type(transform)) or box_steps.knows(type(transform))


def _are_own():
    """Returns true if the functions are torchvision's own, and no code but torch's own sees tensors."""
    return exact.functions_are_own() and exact.boxes_are_own() and boxes.are_tensors_plain()


def _part_of(found):
    if found not in _parts:
        part = _Part(found)
        cache.put(_parts, found, part if part.key else None)
    return _parts[found]


class _Sample:
    """A sample, flat: an image, boxes, their labels, and values that are handed on."""

    __slots__ = ("values", "image", "place", "boxes", "label")

    def __init__(self, values, image, place, boxes, label):
        self.values = values
        self.image, self.place = image, place  # of the image and the boxes, or None
        self.boxes = boxes
        self.label = label  # the tensor of labels, or None

    @classmethod
    def of(cls, values, whole, part, tree):
        """Returns the sample, or None if torchvision is to transform it."""
        kind = sys.modules["torchvision.tv_tensors"].BoundingBoxes
        image = place = None
        for at, value in enumerate(values):
            if type(value) is kind and place is None:
                place = at
            elif image is None and isinstance(value, Image.Image):
                image = at
            elif type(value) not in _HANDED_ON:
                return None
        if image is None:
            return None
        boxes = None if place is None else Boxes.of(values[place])
        label = None if part.getter is None or boxes is None else _label_of(
            _label_place(part.getter, whole, values, tree), values, boxes.count())
        is_known = (place is None or boxes is not None and boxes.canvas == values[image].size[::-1]) and (
            part.getter is None or label is not None)
        return cls(values, image, place, boxes, label) if is_known else None

    def kinds(self):
        """Returns what the leaves are."""
        return tuple(map(type, self.values)), None if self.boxes is None else self.boxes.kind()

    def outputs(self, part, transforms):
        """Returns the values behind the part's transforms."""
        image = self.values[self.image]
        lazy = lazy_images.of_waiting(image) or lazy_images.of_loaded(image)
        if lazy is None or min(lazy.size) < 2:
            raise ValueError("no image whose operations are noted")
        tail = tensor_tail.tail_of([transforms[at] for at in part.ending], 0, part.key, lazy.mode)
        beside = self.boxes
        outputs = list(self.values)
        is_noted = part.noted and not (lazy._plan.filter or lazy._plan.flip)
        if is_noted:
            _note(lazy, part.noted)
        for step, change in part.steps:
            if step is not None:
                _step(lazy, step, beside, is_noted)
            elif change[0] == "convert" and beside is not None:
                beside.converted(change[1])
            elif change[0] == "sanitize":
                self._sanitized(outputs, beside.kept(change[1]))
        if tail is None or min(lazy.size) < 2:
            raise ValueError("the tensor is torchvision's")
        if beside is not None:
            outputs[self.place] = beside.tensor() if part.is_pure else beside.wrapped()
        outputs[self.image] = lazy.tensor(tail)
        return outputs

    def _sanitized(self, outputs, mask):
        label = self.label if all(mask) else self.label[torch.tensor(mask, device="cpu")]
        for place, value in enumerate(self.values):
            if value is self.label:
                outputs[place] = label.clone() if label is self.label else label


def _note(lazy, steps):
    if lazy.note(steps) != len(steps):
        raise ValueError("one of these steps is torchvision's")


def _step(lazy, step, beside, is_noted):
    """Does with the boxes what a step does with the image, and notes that, unless all steps are noted."""
    flip = 0 if is_noted else lazy._plan.flip
    if not is_noted:
        _note(lazy, (step,))
    if beside is None:
        return
    if step[0] == _core.STEP_RESIZE:
        beside.resized(lazy.size[::-1])
    elif (lazy._plan.flip ^ flip) & step[1]:
        beside.flipped(step[1])


def _label_of(place, values, count):
    """Returns the tensor of labels at this place, or None if it is torchvision's to sanitize."""
    label = None if place is None else values[place]
    is_fit = (type(label) is torch.Tensor and label.shape == (count,) and label.is_cpu and label.layout is torch.strided
              and label.is_contiguous() and not label.requires_grad)
    return label if is_fit else None


def _label_place(getter, whole, values, tree):
    """Returns the place of the labels that SanitizeBoundingBoxes treats, or None if it is not certain. torchvision looks for
    them in the sample's structure and classes."""
    key = getter, id(tree), tuple(map(type, values))
    if key not in _labels:
        places = _label_places(getter, whole, values)
        if len(places) > 1:
            return None
        cache.put(_labels, key, (tree, *places, None))
    return _labels[key][1]


def _label_places(getter, whole, values):
    try:
        label = getter(whole)
    except Exception:  # torchvision will raise it where it belongs
        return []
    return [place for place, value in enumerate(values) if value is label]


# ---- the comparison ----

def _is_proven(name, part, transforms, sample, tree, is_one):
    key = *name, sample.kinds()
    if key not in _proven:
        cache.put(_proven, key, (tree, _is_same(part, transforms, sample, tree, is_one)))
    return _proven[key][1]


def _is_same(part, transforms, sample, tree, is_one):
    """Makes some samples with a small image in both ways. The generator keeps its state."""
    image = Image.fromarray(numpy.random.RandomState(5).randint(0, 256, (*_SIZE, 3)).astype("uint8"))
    values = list(sample.values)
    values[sample.image] = image.convert(sample.values[sample.image].mode)
    generator = torch._C.default_generator
    state = generator.get_state()
    try:
        with rows.paused():
            return all(_is_once_the_same(part, transforms, values, sample, tree, is_one) for _ in range(_TRIES))
    except Exception:  # torchvision will raise it where it belongs
        return False
    finally:
        generator.set_state(state)


def _is_once_the_same(part, transforms, values, sample, tree, is_one):
    boxes = None if sample.boxes is None else sample.boxes.again()
    small = _Sample(values, sample.image, sample.place, boxes, sample.label)
    generator = torch._C.default_generator
    before = generator.get_state()
    ours = small.outputs(part, transforms)
    after = generator.get_state()
    generator.set_state(before)
    theirs = tree_unflatten(list(values), tree)
    for transform in transforms[:part.count]:
        theirs = transform(theirs) if is_one else transform(*theirs)  # as v2.Compose calls them
    theirs, structure = tree_flatten(theirs)
    return (structure == tree and torch.equal(after, generator.get_state()) and len(ours) == len(theirs)
            and all(map(_are_alike, ours, theirs, values)))


def _are_alike(ours, theirs, before):
    if not isinstance(theirs, torch.Tensor):
        return ours is theirs is before
    return (type(ours) is type(theirs) and ours.__dict__ == theirs.__dict__ and ours.dtype is theirs.dtype
            and ours.stride() == theirs.stride() and (ours is before) == (theirs is before) and torch.equal(
                ours.as_subclass(torch.Tensor), theirs.as_subclass(torch.Tensor)))
