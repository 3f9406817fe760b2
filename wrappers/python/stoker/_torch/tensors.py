"""Plain tensors and their storages, in every version of torch."""

import torch

_has_names = getattr(torch.Tensor, "has_names", lambda tensor: False)  # the newest torch has no names
storage_of = getattr(torch.Tensor, "untyped_storage", None) or torch.Tensor._storage

# The types whose values are only their bytes.
_DTYPES = frozenset(
    dtype for name in ("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32",
                       "uint64", "float16", "bfloat16", "float32", "float64", "complex32",
                       "complex64", "complex128", "float8_e4m3fn", "float8_e5m2")
    if (dtype := getattr(torch, name, None)) is not None)


def is_plain(tensor):
    """Returns true if a tensor is values in ordinary memory and nothing else: no gradient, no names, no bit that
    changes the meaning of its values."""
    return (type(tensor) is torch.Tensor and tensor.layout is torch.strided
            and tensor.dtype in _DTYPES and tensor.device.type == "cpu"
            and not tensor.requires_grad and not tensor.is_nested and not tensor.is_conj()
            and not tensor.is_neg() and not tensor._is_zerotensor() and not _has_names(tensor))


def over(memory):
    """Returns a storage over a buffer, which it holds."""
    return storage_of(torch.frombuffer(memory, dtype=torch.uint8))


def tensor_of(storage, dtype, offset, shape, strides):
    """Returns a tensor as torch's own _rebuild_tensor makes it: a view of no other tensor."""
    empty = torch.empty((0,), dtype=dtype, device="cpu")
    return empty.set_(storage, offset, shape, strides)


def contiguous(shape):
    """Returns the strides of a tensor of this shape without gaps."""
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))


def pixel_strides(shape):
    """Returns the strides of an image of shape (3, height, width) whose pixels' three values lie side by side; None for
    another shape."""
    if len(shape) != 3 or shape[0] != 3:
        return None
    return 1, 3 * shape[2], 3


def bytes_of(storage):
    """Returns a tensor of the bytes of a storage."""
    return tensor_of(storage, torch.uint8, 0, (storage.nbytes(),), (1,))
