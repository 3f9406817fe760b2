"""Flattens samples for v2's transforms, and puts them together again: dicts, lists and tuples of a few values.

Each of v2's transforms does both, and torch's own functions take more time than the transform of a box. Here a sample
becomes its structure and its leaves. torch's TreeSpec is made once for each structure.
"""

import operator
import sys

from torch.utils import _pytree

from .. import _core
from .._base.own import attempt
from .._pipeline import exact

_MOST_LEAVES = 64
_MOST = 64  # structures that are remembered
_MOST_NEW = 512  # structures of samples that are never alike

_flatten, _unflatten = _pytree.tree_flatten, _pytree.tree_unflatten
_nodes = _pytree.SUPPORTED_NODES

_specs = {}  # {structure: (torch's TreeSpec, structure)}, or None if torch sees another structure
_structures = {}  # {the TreeSpec's id: the same pair}
_new = 0


def _taken(value, leaves):
    """Returns the structure of a value, and appends its leaves. Raises ValueError for all that torch is to flatten."""
    return _core.flatten(value, leaves, _nodes, _MOST_LEAVES)


def _learned(value, leaves, structure):
    """Returns the pair for a new structure, or None if torch sees another one."""
    global _new
    _new += 1
    if len(_specs) >= _MOST:
        _specs.clear()
        _structures.clear()
    theirs, spec = _flatten(value)
    is_same = (len(theirs) == len(leaves) and all(map(operator.is_, theirs, leaves))
               and _taken(_unflatten(theirs, spec), []) == structure)
    pair = _specs[structure] = (spec, structure) if is_same else None
    if is_same:
        _structures[id(spec)] = pair
    return pair


def _flat(value):
    if _new >= _MOST_NEW:
        return None
    leaves = []
    structure = _taken(value, leaves)
    pair = _specs.get(structure, _specs)
    pair = _learned(value, leaves, structure) if pair is _specs else pair
    return None if pair is None else (leaves, pair[0])


def _whole(leaves, spec):
    """Returns (value,), or None if torch is to build it."""
    pair = _structures.get(id(spec))
    if pair is None or pair[0] is not spec or type(leaves) is not list or len(leaves) != spec.num_leaves:
        return None
    return (_core.unflatten(pair[1], leaves),)


def tree_flatten(tree):
    """Does torch's function of this name."""
    return attempt(_flat, tree) or _flatten(tree)


def tree_unflatten(leaves, treespec):
    """Does torch's function of this name."""
    made = attempt(_whole, leaves, treespec)
    return _unflatten(leaves, treespec) if made is None else made[0]


def is_learned(spec):
    """Returns true for the one TreeSpec that all samples of a structure get from tree_flatten()."""
    pair = _structures.get(id(spec))
    return pair is not None and pair[0] is spec


def install():
    """Puts the functions into v2's modules that have torch's."""
    home = "torchvision.transforms.v2."
    ours = exact.if_torch_is_alone(tree_flatten, _flatten), exact.if_torch_is_alone(tree_unflatten, _unflatten)
    for module in [module for name, module in list(sys.modules.items()) if name.startswith(home)]:
        names = getattr(module, "__dict__", {})
        if names.get("tree_flatten") is _flatten and names.get("tree_unflatten") is _unflatten:
            module.tree_flatten, module.tree_unflatten = ours
