"""Does torchvision's normalize with one pass over memory less, and keeps the tensors of mean and std."""

import torch

from .._base import cache
from .._pipeline import exact, inspection, lazy_tensors
from .._torch import rows

_constants = {}
_lines = {}  # {(mean, std, channels, width): those of each number of a line of pixels}


def _is_numbers(values):
    return type(values) in (list, tuple) and all(type(value) in (int, float) for value in values)


def _find(mean, std):
    """Returns the tensors that torchvision makes of mean and std, or None if it raises an error."""
    mean, std = (torch.as_tensor(values, dtype=torch.float32, device="cpu")
                 for values in (mean, std))
    if (std == 0).any() or mean.ndim != 1 or std.ndim != 1:
        return None
    return mean.view(-1, 1, 1), std.view(-1, 1, 1)


def _constants_for(mean, std):
    if not _is_numbers(mean) or not _is_numbers(std):
        return None
    key = (tuple(mean), tuple(std))
    found = _constants.get(key, _constants)
    if found is _constants:
        with torch.inference_mode(False):
            found = cache.put(_constants, key, _find(mean, std))
    return found


def _is_of_planes(tensor):
    _, height, width = tensor.shape
    return tensor.stride() == (height * width, width, 1)


def _is_of_pixels(tensor):
    """Returns true for the order of an image's pixels, which torch's operations keep, unless the tensor is thin."""
    channels, height, width = tensor.shape
    return tensor.stride() == (1, channels * width, channels) and min(channels, height, width) > 1


def _lines_of(constants, key, channels, width):
    """Returns mean and std of each number of a line of pixels."""
    found = _lines.get(key)
    if found is None:
        with torch.inference_mode(False):
            found = cache.put(_lines, key, [each.flatten().expand(channels).repeat(width) for each in constants])
    return found


def _of_pixels(tensor, lines):
    """Returns the result for pixels, line by line: torch's own loop would be over the three numbers of a pixel."""
    channels, height, width = tensor.shape
    result = torch.empty_strided(tensor.shape, tensor.stride(), dtype=torch.float32, device="cpu")
    flat, out = (each.permute(1, 2, 0).view(height, width * channels) for each in (tensor, result))
    torch.sub(flat, lines[0], out=out).div_(lines[1])
    return result


def _is_plain(tensor):
    return (type(tensor) is torch.Tensor and tensor.dtype is torch.float32 and tensor.ndim == 3
            and tensor.device.type == "cpu" and (_is_of_planes(tensor) or _is_of_pixels(tensor))
            and not tensor.requires_grad and not torch.jit.is_tracing())


def transformed(transform, tensor, params):
    """Returns what v2's Normalize makes of a tensor, or None if torchvision is to make it."""
    if (not lazy_tensors.is_image(tensor) or not exact.functions_are_own() or not lazy_tensors.is_torch_alone()
            or inspection.inspect((transform,))[0].link is None or transform.inplace is not False):
        return None
    result = normalized(tensor.as_subclass(torch.Tensor), transform.mean, transform.std)
    return result if result is None or type(tensor) is torch.Tensor else result.as_subclass(type(tensor))


def normalized(tensor, mean, std):
    """Returns a new tensor, or None if torchvision is to make it."""
    if not _is_plain(tensor):
        return None
    constants = _constants_for(mean, std)
    if constants is None or any(len(each) not in (1, tensor.shape[0]) for each in constants):
        return None
    channels, _, width = tensor.shape
    if not _is_of_planes(tensor):
        return _of_pixels(tensor, _lines_of(constants, (tuple(mean), tuple(std), channels, width), channels, width))
    row = rows.empty(tuple(tensor.shape), torch.float32)
    return torch.sub(tensor, constants[0], out=row).div_(constants[1])
