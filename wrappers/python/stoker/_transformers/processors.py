"""Image processors resize, crop and normalise Pillow's images in one pass, from the JPEG if it is not decoded yet.

The processor's own code does all that comes after that, with these steps switched off. A processor is served if the
steps are its backend's own code, and if that gives the same bytes (proof.py).
"""

import functools
import sys

import PIL.JpegImagePlugin  # noqa: F401  (the hook waits for it, and must not meet itself half-way)

from .. import _core
from .._base.own import attempt
from .._pillow import check
from .._pillow.plan import FILTERS
from .._pipeline import exact, rng, tensor_resize, tensor_tail
from .._torchvision.replaced import is_wanted
from . import arguments, backends, proof, values

_ENTRY = "_preprocess_image_like_inputs"
_DONE = {"do_resize": False, "do_center_crop": False}
_NO_VALUES = (0.0,) * 6
_FILTER_TYPES = (int, getattr(PIL.Image, "Resampling", int))

# All names that the code of _preprocess uses. A version that uses others does more than is known here.
_NAMES = {"group_images_by_shape", "items", "resize", "reorder_images", "center_crop", "rescale_and_normalize", "pad",
          "BatchFeature"}
_OF_RESULTS = "__init__", "__setitem__", "convert_to_tensors"  # methods of a BatchFeature

_backends = []
_plain = None  # transformers' own function
_feature = None  # the class of its results
_watched = ()  # what of transformers' modules must be as it was imported, as _core.are_as_seen() takes it


# ---- what a processor is to do ----

def _height_width(size):
    """Returns (height, width) of a size that is given by them alone, (shortest edge, 0), or None."""
    given = {name: value for name, value in getattr(size, "__dict__", size).items() if value is not None}
    numbers = given.get("height", given.get("shortest_edge")), given.get("width", 0)
    if set(given) not in ({"height", "width"}, {"shortest_edge"}) or not all(type(each) is int for each in numbers):
        return None
    return numbers if numbers[0] > 0 and (numbers[1] > 0 or "width" not in given) else None


def _steps(named, filters):
    """Returns (the step of the resize, the size of the crop or None); None for all that is transformers' own."""
    if named["do_resize"] is not True or not (named["do_rescale"] or named["do_normalize"]) or named.get("device") is not None:
        return None
    resample, wanted = named["resample"], _height_width(named["size"])
    if type(resample) not in _FILTER_TYPES or FILTERS.get(int(resample)) not in filters or wanted is None:
        return None
    crop = _height_width(named["crop_size"]) if named["do_center_crop"] else None
    if named["do_center_crop"] and (crop is None or not crop[1]):
        return None
    return (_core.STEP_RESIZE, FILTERS[int(resample)], *wanted, _NO_VALUES), crop


def _are_colours(images):
    return bool(images) and all(tensor_tail.is_pillows(each) and each.mode == "RGB" and "transparency" not in each.info
                                for each in images)


def prepared(processor, images, named, filters_of):
    """Returns (the images as the processor has them behind these steps, {a step's name: false}), or (a tensor of them, None)
    if all is done. Returns None if the processor is to make them."""
    images = images if type(images) in (list, tuple) else [images]
    backend = next((each for each in _backends if isinstance(processor, each.kind)), None)
    if (backend is None or not exact.functions_are_own() or not _core.are_as_seen(_watched)
            or not backend.is_own(processor) or not rng.can_draw() or not _are_colours(images)):
        return None
    steps = _steps(named, filters_of(backend))
    if steps is None:
        return None
    lazies = [backend.lazy(image, steps) for image in images]
    if None in lazies:
        return None
    end, done = values.ending(backend, processor, named)
    batch = backend.batch(lazies, end) if done and _is_stacked(processor, named) else None
    if batch is not None:
        return batch, None
    return [backend.image(lazy, end) for lazy in lazies], {**_DONE, **done}


def _is_stacked(processor, named):
    """Returns true if a processor whose steps are done does nothing but stack its images."""
    wanted = named.get("return_tensors")
    return (type(wanted) is str and wanted == "pt" and not named.get("do_pad")
            and _NAMES.issuperset(type(processor)._preprocess.__code__.co_names))


# ---- in the place of transformers' function ----

def _preprocess(self, images, *arguments, **named):
    found = None if arguments else attempt(prepared, self, images, named, _proven)
    return _plain(self, images, *arguments, **named) if found is None else _finished(self, named, *found)


def _finished(processor, named, images, done):
    if done is None:
        return _feature({"pixel_values": images})
    return processor._preprocess(images, **{**named, **done})


def _proven(backend):
    """Returns the filters with which a backend gives the same bytes."""
    if backend.proven is None:
        backend.proven = proof.find(backend, _ENTRY, _plain, _unproven)
    return backend.proven


def _unproven(self, images, **named):
    """Is compared. Raises TypeError if the images are transformers' to make."""
    return _finished(self, named, *prepared(self, images, named, lambda backend: backend.filters()))


def _names_of(function):
    """Returns what a function uses of its module: (the module, its names and their values)."""
    own = function.__globals__
    return sys.modules[function.__module__], tuple(
        part for name in function.__code__.co_names if name in own for part in (name, own[name]))


def _pillows_filters():
    return {FILTERS[number] for number in check.proven().filters}


def install():
    """Called once transformers.image_processing_backends has been imported."""
    global _plain, _feature, _watched
    module, transforms = (sys.modules["transformers." + name] for name in ("image_processing_backends", "image_transforms"))
    if _plain is not None or not is_wanted() or exact.v2() is None:
        return
    torchs = backends.Torchs(module.TorchvisionBackend, tensor_resize.proven)
    pillows = backends.Pillows(module.PilBackend, _pillows_filters)
    functions = [each for backend in (torchs, pillows) for each in backend.methods if each is not None]
    functions += [getattr(transforms, name) for name in backends.FUNCTIONS]
    v2 = exact.v2().functional
    _watched = tuple(part for each in functions for part in _names_of(each))
    _watched += v2, ("resize", v2.resize, "crop", v2.crop, "normalize", v2.normalize)
    _plain, _feature = module.BaseImageProcessor.__dict__[_ENTRY], module.BatchFeature
    _watched += _feature, tuple(part for name in _OF_RESULTS for part in (name, getattr(_feature, name)))
    _backends[:] = torchs, pillows
    setattr(module.BaseImageProcessor, _ENTRY, functools.wraps(_plain)(_preprocess))
    arguments.install(sys.modules["transformers.image_processing_utils"])
