"""Batches that stay in this processor's memory."""

import torch

from .. import _gpu_core
from .leaves import mapped


class Here:
    """All is done when a batch is begun."""

    def __init__(self, recipe):
        self.device = torch.device("cpu")
        self._recipe = recipe

    def begin(self, batch):
        made = mapped(batch, self._leaf)
        if made is batch:
            self._recipe.check_none(batch)
        return made

    def give(self, batch):
        return batch

    def let_go(self):
        pass

    def finish(self):
        pass

    def _leaf(self, leaf, name):
        layout = self._recipe.layout_of(leaf, name) if isinstance(leaf, torch.Tensor) else None
        if layout is None:
            return leaf
        if leaf.is_floating_point():
            return self._recipe.normalised(leaf, layout)
        return self._bytes(leaf, layout)

    def _bytes(self, tensor, layout):
        if len(tensor) == 0:
            return self._recipe.empty(tensor, layout, self.device)
        work = self._recipe.work(tensor, layout)
        out = torch.empty(work.shape, dtype=self._recipe.dtype, device=self.device)
        _gpu_core.run(work.batch(out), 0, len(work.told))
        return self._recipe.shaped(out, work)
