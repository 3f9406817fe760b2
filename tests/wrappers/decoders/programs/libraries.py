"""The replaced functions of each library, and what can be seen of their results."""

import hashlib
import re
import sys
import warnings

FLAGS = (-1, 0, 1, 2, 3, 4, 5, 6, 16, 17, 20, 32, 33, 48, 64, 65, 80, 128, 129, 131, 132, 134, 144, 145, 160, 193, 256, 257, 273, 384,
         1000)


def package():
    """Stoker's, by the name that the hook gave it, if it is here."""
    return next((sys.modules[name] for name in ("stoker", "_stoker") if name in sys.modules), None)


def images():
    """Returns how many images Stoker decoded in this process."""
    return package().counts()["images"] if package() else 0


def pngs():
    """Returns how many PNGs Stoker decoded in this process."""
    return package().counts()["pngs"] if package() else 0


def digest(data):
    return hashlib.sha1(data).hexdigest()[:16]


def show(value):
    """All that a program can see of a result."""
    if type(value).__name__ == "ndarray":
        flags = value.flags
        return [str(value.dtype), value.shape, value.strides, flags.owndata, flags.writeable, flags.aligned,
                value.base is None, digest(value.tobytes())]
    if type(value).__name__ == "Tensor":
        return [str(value.dtype), list(value.shape), list(value.stride()), value.storage_offset(), value._is_view(),
                value.requires_grad, str(value.device), value.is_inference(), value._version,
                digest(value.contiguous().numpy().tobytes())]
    return repr(value)


def outcome_alone(function, *arguments, **named):
    """The result or the error."""
    try:
        return ["returned", show(function(*arguments, **named))]
    except Exception as error:
        return ["raised", type(error).__name__, re.sub(r"0x[0-9a-fA-F]+", "0x", str(error))]


def outcome(function, *arguments, **named):
    """The result or the error, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = outcome_alone(function, *arguments, **named)
    return result + [[[each.category.__name__, str(each.message)[:60], each.filename, each.lineno] for each in caught]]


class _Library:
    def plain(self, name):
        """Returns the library's own function. Its functions call each other by their names in the module."""
        replaced = {each: getattr(self.module, each) for each in self.names}

        def call(*arguments, **named):
            for each, function in replaced.items():
                setattr(self.module, each, function.__wrapped__)
            try:
                return replaced[name].__wrapped__(*arguments, **named)
            finally:
                for each, function in replaced.items():
                    setattr(self.module, each, function)
        return call

    def both(self, name, arguments, named):
        """Returns the outcomes of the library's own function, and of the function in its place."""
        return (outcome(self.plain(name), *arguments, **named),
                outcome(getattr(self.module, name), *arguments, **named))


class OpenCV(_Library):
    takes_damaged_pngs = True

    def __init__(self):
        import cv2
        import numpy
        self.module, self.numpy = cv2, numpy
        self.names = "imread", "imdecode"

    def calls(self, data, path):
        """Yields (a function's name, its arguments, its named ones) for one file."""
        buffer = self.numpy.frombuffer(data, self.numpy.uint8)
        for flags in FLAGS:
            yield "imdecode", (buffer, flags), {}
            yield "imread", (path, flags), {}
        yield "imread", (path,), {}
        yield "imread", (path,), {"flags": 1}


class TorchVision(_Library):
    takes_damaged_pngs = False  # at some of them 0.29 ends by a segmentation fault, without Stoker

    def __init__(self):
        import torch
        import torchvision
        import torchvision.io.image as module
        self.module, self.torch, self.version = module, torch, torchvision.__version__
        self.names = "decode_jpeg", "decode_image", "read_image"
        self.has_turns = "apply_exif_orientation" in module.read_image.__code__.co_varnames or \
            "apply_exif_orientation" in getattr(module.read_image, "__wrapped__", module.read_image).__code__.co_varnames

    def calls(self, data, path):
        """Yields (a function's name, its arguments, its named ones) for one file."""
        tensor = self.torch.frombuffer(bytearray(data or b"\0"), dtype=self.torch.uint8)
        turns = ({}, {"apply_exif_orientation": True}) if self.has_turns else ({},)
        for named in turns:
            for mode in self._modes(data):
                yield "decode_jpeg", (tensor, mode), named
                yield "decode_image", (tensor, mode), named
                yield "read_image", (path, mode), named
            yield "read_image", (path,), named
            yield "decode_image", (path,), {"mode": "RGB", **named}
            yield "decode_jpeg", (tensor, "gray"), named

    def _modes(self, data):
        """Returns the modes whose pixels are the same each time. The alpha that torchvision adds to a PNG is memory that it
        never wrote."""
        return [mode for mode in self.module.ImageReadMode if data[1:4] != b"PNG" or "ALPHA" not in mode.name]


LIBRARIES = {"opencv": OpenCV, "torchvision": TorchVision}
