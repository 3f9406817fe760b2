"""Makes batches in the processor's memory."""

import torch

from .. import _gpu_core
from .tensors import mapped


class HostSink:
    """Does all work when a batch is begun."""

    def __init__(self, recipe):
        self.device = torch.device("cpu")
        self._recipe = recipe

    def begin(self, batch):
        made = mapped(batch, self._item)
        if made is batch:
            self._recipe.check_none(batch)
        return made

    def give(self, batch):
        return batch

    def let_go(self):
        pass

    def finish(self):
        pass

    def _item(self, item, name):
        layout = self._recipe.layout_of(item, name) if isinstance(item, torch.Tensor) else None
        if layout is None:
            return item
        if item.is_floating_point():
            return self._recipe.normalised(item, layout)
        return self._bytes(item, layout)

    def _bytes(self, tensor, layout):
        if len(tensor) == 0:
            return self._recipe.empty(tensor, layout, self.device)
        work = self._recipe.work(tensor, layout)
        out = torch.empty(work.shape, dtype=self._recipe.dtype, device=self.device)
        _gpu_core.run(work.batch(out), 0, len(work.image_table))
        return self._recipe.shaped(out, work)
