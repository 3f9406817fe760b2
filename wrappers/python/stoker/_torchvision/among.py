"""An image among values that v2's transforms treat, too, such as boxes, masks and tensors.

Where an image and its boxes can be done at once, boxed.py does it. Otherwise each transform is called as it is: crops,
resizes and flips of a JPEG only change its plan. Where a chain that makes a tensor of the image begins, the image is done
in one pass. At first the chain's own transforms get the same sample with a tiny image in its place. If they hand all other
values on, they are not called again for values of the same classes.
"""

import torch
from PIL import Image

from .._base import cache
from .._base.own import attempt
from .._pipeline import pipeline, rng, tensor_tail
from . import boxed
from .trees import tree_flatten, tree_unflatten

_SIDE = 2

_handed_on = {}  # {(the chain, the image's place, what the values are): true if all other values are handed on}


def run(transforms, inputs):
    """Returns the result of the transforms of a v2.Compose for these inputs."""
    is_one, at, begins = len(inputs) == 1, 0, False
    while at < len(transforms):
        may_begin = attempt(boxed.begins, transforms[at])
        done = rng.as_one(boxed.run, transforms, at, inputs) if may_begin and not begins else None
        begins = done is None and may_begin  # so each row of such transforms is tried once
        done = done or attempt(_at_once, transforms, at, inputs)
        outputs, at = (transforms[at](*inputs), at + 1) if done is None else done
        inputs = (outputs,) if is_one else outputs
    return outputs


def _at_once(transforms, at, inputs):
    """Returns (the outputs, the next transform's place) if a chain begins here; else None."""
    if not tensor_tail.knows(type(transforms[at])):
        return None
    is_one = len(inputs) == 1
    values, tree = tree_flatten(inputs[0] if is_one else inputs)
    places = [place for place, value in enumerate(values) if isinstance(value, Image.Image)]
    made = pipeline.chain_at(transforms, at, values[places[0]]) if len(places) == 1 else None
    if made is None:
        return None
    tensor, chain = made
    rest = _rest_of(chain, transforms, at, values, places[0], tree, is_one)
    return None if rest is None else (tree_unflatten(_with(rest, places[0], tensor), tree), at + len(chain))


def _rest_of(chain, transforms, at, values, place, tree, is_one):
    """Returns all values behind a chain but the image's, which is any. Returns None if the structure changes, or if the
    chain makes another tensor of the image here: another value may be taken for the image."""
    key = chain, place, tuple(map(_kind, values))
    if _handed_on.get(key):
        return values
    mode = values[place].mode
    tiny = Image.frombytes(mode, (_SIDE, _SIDE), bytes(range(1, 1 + _SIDE * _SIDE * len(mode))))
    alone = pipeline.chain_at(transforms, at, tiny)
    outputs = tree_unflatten(_with(values, place, tiny), tree)
    for transform in transforms[at:at + len(chain)]:
        outputs = transform(outputs) if is_one else transform(*outputs)  # as v2.Compose calls them
    rest, after = tree_flatten(outputs)
    if after != tree or alone is None or not _is_same(rest[place], alone[0]):
        return None
    are_same = all(new is old for index, (new, old) in enumerate(zip(rest, values)) if index != place)
    cache.put(_handed_on, key, are_same)
    return rest


def _kind(value):
    """Returns what a chain may look at: ConvertImageDtype changes boxes of other numbers than its own."""
    return type(value), value.dtype if isinstance(value, torch.Tensor) else None


def _is_same(value, tensor):
    return type(value) is type(tensor) and value.dtype is tensor.dtype and torch.equal(value, tensor)


def _with(values, place, value):
    return [*values[:place], value, *values[place + 1:]]
