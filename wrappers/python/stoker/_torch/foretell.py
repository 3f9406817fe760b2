"""The order in which a pass over a DataLoader is going to ask for samples, known before it begins."""

from array import array

from . import samplers
from .plain import is_plain

_INTS = {int}  # what nearly all batches consist of


def order_of(iterator):
    """Returns the Foretold of an iterator that gives indices, one by one or in batches, or None if its order is unknown.
    The iterator does not move, nor does any generator of random numbers."""
    try:
        return Foretold(samplers.copy_of_iterator(iterator))
    except samplers.Unknown:
        return None


class Foretold:
    """The indices of a pass, first to last. They are made when they are taken."""

    def __init__(self, batches):
        self._batches = batches
        self.is_over = False

    def take(self, least):
        """Returns the next indices as an array.array("q"): fewer than `least` only at the end."""
        taken = array("q")
        for each in self._batches:
            batch = each if type(each) is list else (each,)
            if set(map(type, batch)) != _INTS and not is_plain(batch, 1):
                break
            taken.extend(batch)
            if len(taken) >= least:
                return taken
        self.is_over = True
        return taken
