"""An epoch's random numbers: those that a DataLoader's only worker would draw.

A worker seeds the generators of torch, random and NumPy by a number that its loader draws when an epoch begins. Here
these generators have the worker's states while images are drawn, and their former states afterwards. So the program's
own draws meanwhile change nothing, and are those that it would make beside a worker.
"""

import contextlib
import random

import numpy
import torch

from .._pipeline import rng

try:
    from torch.utils.data._utils.worker import _generate_state
except ImportError:
    _generate_state = None


class WorkerRng:
    """The generators of one epoch. It is made when a DataLoader would make its iterator, and like that draws one number
    from the loader's generator, or torch's own."""

    def __init__(self, generator):
        self._seed = torch.empty((), dtype=torch.int64).random_(generator=generator).item()
        self._keep(torch.Generator().manual_seed(self._seed).get_state())
        self._others = None

    def _keep(self, state):
        self._torch = state
        self.memory = rng.memory_of(state)  # of torch's generator, to be drawn from where it lies

    @contextlib.contextmanager
    def drawn(self, by_anybody):
        """Sets the worker's states while images are drawn. With `by_anybody` also those of random and NumPy."""
        torchs, others = torch.get_rng_state(), by_anybody and _get_others()
        torch.set_rng_state(self._torch)
        if by_anybody:
            _set_others(self._others or _first_others(self._seed))
        try:
            yield
        finally:
            self._keep(torch.get_rng_state())
            torch.set_rng_state(torchs)
            if by_anybody:
                self._others = _get_others()
                _set_others(others)


def _get_others():
    return random.getstate(), numpy.random.get_state()


def _set_others(states):
    random.setstate(states[0])
    numpy.random.set_state(states[1])


def _first_others(seed):
    """Returns the states that torch.utils.data gives to worker 0. Before 1.9 it left NumPy's unchanged."""
    ours = numpy.random.RandomState(
        seed % 2**32 if _generate_state is None else _generate_state(seed, 0))
    return random.Random(seed).getstate(), ours.get_state()
