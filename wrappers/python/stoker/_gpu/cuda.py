"""All that a loader asks torch for on a GPU. Nothing else here needs torch to have CUDA."""

import torch

from . import device as devices
from .uploads import are_counted


def find(device):
    """What `device=` says: a number of a GPU, or None for this processor; NoDevice."""
    if device is None:
        return _usual()
    device = torch.device("cuda", int(device)) if hasattr(device, "__index__") else torch.device(device)
    if device.type == "cpu":
        return None
    if device.type != "cuda":
        raise ValueError(f"device is cuda or cpu, not {device.type}")
    index = 0 if device.index is None else device.index
    if device.index is None and torch.cuda.is_available():
        index = torch.cuda.current_device()
    devices.of(index).collect()  # says if this is a child of who has opened it
    _check_torch()
    return index


def _usual():
    """The GPU that torch would take, where there is one that does."""
    for begun in devices.begun():
        begun.collect()
    if not torch.cuda.is_available():
        return None
    index = torch.cuda.current_device()
    try:
        devices.of(index)
    except devices.NoDevice:
        return None
    return index


def _check_torch():
    if not torch.cuda.is_available():
        raise devices.NoDevice("no GPU for torch: this torch has no CUDA, or finds no device "
                               "(torch.cuda.is_available() is False)")


class Place:
    """A GPU, and a stream on it."""

    def __init__(self, index):
        self.device = torch.device("cuda", index)
        self._side = torch.cuda.Stream(self.device)
        self.stream = self._side.cuda_stream

    def inside(self):
        """As long as it lasts, what is begun and what is taken is the stream's."""
        return torch.cuda.stream(self._side)

    def empty(self, shape, dtype):
        return torch.empty(shape, dtype=dtype, device=self.device)

    def move(self, tensor):
        return tensor.to(self.device, non_blocking=True)

    def mark(self):
        """What all that has been begun is before."""
        return self._side.record_event(torch.cuda.Event(enable_timing=are_counted()))

    def hand_over(self, mark, tensors):
        """Has the current stream wait for the mark, and the tensors' memory for what is begun there."""
        current = torch.cuda.current_stream(self.device)
        current.wait_event(mark)
        for tensor in tensors:
            tensor.record_stream(current)

    # ---- for uploads.py: nothing of this waits ----

    def is_locked(self, tensor):
        return tensor.layout is torch.strided and tensor.is_pinned()

    def is_idle(self):
        """Whether whoever takes batches has nothing left to do there."""
        return torch.cuda.current_stream(self.device).query()

    def note(self):
        """The moment at which the current stream has come so far."""
        event = torch.cuda.Event(enable_timing=True)
        return torch.cuda.current_stream(self.device).record_event(event)

    def between_ns(self, noted, mark):
        """From that moment to a mark, which is past; 0 where the stream came there later."""
        return max(0, int(noted.elapsed_time(mark) * 1e6)) if noted.query() else 0
