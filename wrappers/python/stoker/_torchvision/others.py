"""An image among values that torchvision.transforms.v2 hands on as they are, such as its label."""

from .._pipeline import exact, lazy_tensors, pipeline
from .._pipeline.tensor_tail import is_pillows

_HANDED_ON = (int, float, str, bytes, bool, type(None))


def takes(inputs):
    """Returns true if inputs of a v2.Compose are (image, label, ...), or one such tuple, list or dict."""
    return _image_at(_parts(inputs)[1]) is not None


def _parts(inputs):
    """Returns (the container, its values)."""
    whole = inputs if len(inputs) > 1 else inputs[0]
    return whole, list(whole.values()) if type(whole) is dict else whole


def run(transforms, inputs):
    """Returns the result of these transforms of a v2.Compose for inputs that this module takes, or None if torchvision is to
    make it. If the transforms make no tensor, torchvision may return the very object that was passed, so torchvision
    runs these."""
    if not pipeline.make_tensor(transforms, exact.v2().Transform):
        return None
    whole, parts = _parts(inputs)
    at, results = _image_at(parts), list(parts)
    results[at] = pipeline.run(transforms, parts[at])
    return dict(zip(whole, results)) if type(whole) is dict else type(whole)(results)


def _image_at(parts):
    """Returns the place of the only image, if all else is handed on; else None."""
    images = [at for at, part in enumerate(parts) if type(part) not in _HANDED_ON]
    if len(images) != 1 or not (is_pillows(parts[images[0]]) or lazy_tensors.is_image(parts[images[0]])):
        return None
    return images[0]
