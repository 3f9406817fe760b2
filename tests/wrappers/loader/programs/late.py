"""Memory of the GPU of the tests (fake.py) that torch works on."""

import ctypes
import weakref

import fake
import torch
from cuda_world import give, take
from fake import library


class Late(torch.Tensor):
    """Bytes of the device. Whatever torch does with them it does when all that was begun before is done, as
    on a stream."""

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), named=None):
        if library.cuStreamSynchronize(None) != 0:
            raise RuntimeError("the consumer's own call has failed")
        with torch._C.DisableTorchFunction():
            made = function(*arguments, **(named or {}))
        return made.as_subclass(torch.Tensor) if isinstance(made, cls) else made


class Place(fake.Place):
    """That also has memory for torch."""

    def empty(self, shape, dtype):
        if dtype is not torch.uint8:
            return super().empty(shape, dtype)
        size = torch.Size(shape).numel()
        address = take(size)
        memory = (ctypes.c_uint8 * size).from_address(address)
        weakref.finalize(memory, give_late, address)
        return torch.frombuffer(memory, dtype=dtype).view(shape).as_subclass(Late)


def give_late(address):
    """When all that was begun is done, as torch's allocator does."""
    library.cuStreamSynchronize(None)
    try:
        give(address)
    except RuntimeError:  # the device has failed, and takes all along
        pass


def install():
    fake.install(Place)
