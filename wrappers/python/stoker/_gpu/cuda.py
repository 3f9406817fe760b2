"""All calls of torch for a GPU. No other module here needs a torch with CUDA."""

import torch

from . import device as devices
from .uploads import are_counted


def find(device):
    """Returns the GPU's number for a `device=` argument, or None for the processor. Raises NoDevice."""
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
    devices.of(index).collect()  # raises an error in a child of the process that has opened the device
    _check_torch()
    return index


def _usual():
    """Returns the number of the GPU that torch would use, or None if none works."""
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
        """Returns a context in which torch's work and memory belong to this stream."""
        return torch.cuda.stream(self._side)

    def empty(self, shape, dtype):
        return torch.empty(shape, dtype=dtype, device=self.device)

    def move(self, tensor):
        return tensor.to(self.device, non_blocking=True)

    def fence(self):
        """Returns a fence behind all work that this stream has begun."""
        return self._side.record_event(torch.cuda.Event(enable_timing=are_counted()))

    def hand_over(self, fence, tensors):
        """Makes the current stream wait for the fence, and the tensors' memory wait for work of that stream."""
        current = torch.cuda.current_stream(self.device)
        current.wait_event(fence)
        for tensor in tensors:
            tensor.record_stream(current)

    # ---- for uploads.py: these functions do not wait ----

    def is_locked(self, tensor):
        return tensor.layout is torch.strided and tensor.is_pinned()

    def is_idle(self):
        """Returns true if the consumer's stream has no work left."""
        return torch.cuda.current_stream(self.device).query()

    def note(self):
        """Returns an event for the moment at which the current stream comes here."""
        event = torch.cuda.Event(enable_timing=True)
        return torch.cuda.current_stream(self.device).record_event(event)

    def between_ns(self, noted, fence):
        """Returns the time from such an event to a fence that is past; 0 if the event came later."""
        return max(0, int(noted.elapsed_time(fence) * 1e6)) if noted.query() else 0
