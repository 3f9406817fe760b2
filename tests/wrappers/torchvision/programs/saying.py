"""The programs describe tensors and images so that two runs can be compared."""

import array
import hashlib
import random
import re
import sys
import warnings

import numpy
import torch
from PIL import Image


def digest(data):
    return hashlib.sha1(data).hexdigest()[:16]


def show(value):
    if isinstance(value, torch.Tensor):
        plain = value.detach().as_subclass(torch.Tensor).contiguous()
        return [type(value).__name__, str(value.dtype), list(value.shape), list(value.stride()),
                digest(plain.numpy().tobytes())]
    if isinstance(value, Image.Image):
        return [type(value).__name__, value.mode, value.size, digest(value.tobytes())]
    if isinstance(value, (list, tuple)):
        return [show(each) for each in value]
    if isinstance(value, dict):
        return {str(key): show(each) for key, each in value.items()}
    if isinstance(value, (int, float, str, type(None))):
        return value
    return type(value).__name__


def seed(number):
    random.seed(number)
    numpy.random.seed(number)
    torch.manual_seed(number)


def state():
    """Returns a digest of every generator. (numpy takes milliseconds to make text of an array.)"""
    version, words, *others = random.getstate()
    kind, keys, *more = numpy.random.get_state()
    return digest(array.array("Q", words).tobytes() + keys.tobytes() + torch.get_rng_state().numpy().tobytes()
                  + repr((version, others, kind, more)).encode())


def outcome(function):
    """Returns a call's outcome: the value or the error, the warnings, the generators."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = ["returned", show(function())]
        except Exception as error:
            result = ["raised", type(error).__name__, re.sub(r"0x[0-9a-fA-F]+", "0x", str(error))]
    return result + [sorted({str(each.message) for each in caught}), state()]


def package():
    """Stoker's, by the name that the hook gave it, if it is here."""
    return next((sys.modules[name] for name in ("stoker", "_stoker") if name in sys.modules), None)


def counts():
    """Returns Stoker's counters in this process, and the numbers of tensors and crops that it made of images."""
    package_ = package()
    return {**package_.counts(), **made} if package_ else None


made = {"tensors": 0, "crops": 0, "colours": 0}


def count_tensors():
    """To be called when torchvision has been imported."""
    tail = package() and sys.modules.get(package().__name__ + "._pipeline.tensor_tail")
    if tail is not None:
        finished = tail.TensorTail.finished

        def counting(of, tensor):
            made["tensors"] += 1
            return finished(of, tensor)
        tail.TensorTail.finished = counting


def count_lazy(name, function, kind):
    """To be called when torchvision has been imported: counts the lazy images that a function of _pipeline makes, as this
    kind."""
    module = package() and sys.modules.get(f"{package().__name__}._pipeline.{name}")
    if module is not None:
        plain = getattr(module, function)

        def counting(*arguments):
            done = plain(*arguments)
            made[kind] += type(done) is module.lazy_images.LazyImage
            return done
        setattr(module, function, counting)
