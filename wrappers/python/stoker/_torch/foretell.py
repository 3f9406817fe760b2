"""The order in which a pass over a DataLoader is going to ask for samples, known before it begins."""

from array import array
from itertools import chain, islice

from . import samplers
from .plain import is_plain

_INTS = {int}  # what nearly all batches consist of


def order_of(iterator):
    """Returns the Foretold of an iterator that gives indices, one by one or in batches, or None if its order is unknown.
    The iterator does not move, nor does any generator of random numbers."""
    try:
        return Foretold(samplers.copy_of_order(iterator))
    except samplers.Unknown:
        return None


class Foretold:
    """The indices of a pass, first to last. They are made when they are taken."""

    def __init__(self, batches):
        self._batches = batches
        self.is_over = False

    def take(self, least):
        """Returns the next indices as an array.array, each time of the same type: fewer than `least` only at the end."""
        if type(self._batches) is samplers.Permutation:
            taken = self._batches.take(least)
            self.is_over = len(taken) < least
            return taken
        return self._take_batches(least)

    def _take_batches(self, least):
        taken, each = array("q"), least  # indices of a batch, so far
        while len(taken) < least and not self.is_over:
            batches = list(islice(self._batches, max(1, (least - len(taken)) // each)))
            indices, are_all = _flat(batches)
            taken.extend(indices)
            self.is_over = not batches or not are_all
            each = max(1, len(indices) // max(1, len(batches)))
        return taken


def _flat(batches):
    """Returns the indices of batches, or of single ones, up to the first batch that is none, and whether there was none
    such."""
    kinds = set(map(type, batches))
    indices = batches if kinds == _INTS else list(chain.from_iterable(batches)) if kinds == {list} else None
    if indices is not None and set(map(type, indices)) == _INTS:
        return indices, True
    indices = []
    for each in batches:
        batch = each if type(each) is list else (each,)
        if not is_plain(batch, 1):
            return indices, False
        indices += batch
    return indices, True
