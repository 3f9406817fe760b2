"""What `stoker run` puts in the place of some of torchvision's functions.

Each gives the same bits and leaves the generator the same, does so only for what it knows exactly
(Pillow's and torch's own classes, torchvision's own transforms), and calls torchvision's own
function for everything else. `stoker run --no-torchvision` does without them.
"""

import functools
import os
import sys

import PIL.JpegImagePlugin  # noqa: F401  (the hook waits for it, and must not meet itself half-way)
from PIL import Image

from .._own import is_own
from . import draws, exact, normalize, pipeline, tails
from .exact import F, T

SWITCH = "STOKER_TORCHVISION"
PLAIN = {}  # torchvision's own functions
_kinds = {}  # torchvision's own classes


def is_wanted():
    return os.environ.get(SWITCH, "") != "off"


def install():
    """To be called once torchvision.transforms.transforms has been imported."""
    if is_wanted() and "compose" not in PLAIN:
        _replace(F, "to_tensor", _to_tensor)
        _replace(F, "normalize", _normalize_tensor)
        _replace(T.RandomResizedCrop, "get_params", _get_params)
        _replace(T.Compose, "__call__", _compose, "compose")


def install_v2():
    """To be called once torchvision.transforms.v2 has been imported."""
    install()
    if is_wanted() and "compose_v2" not in PLAIN:
        v2 = sys.modules["torchvision.transforms.v2"]
        tails.know_v2()
        _kinds["v2"] = v2.Compose
        for name in ("make_params", "_get_params"):
            if name in v2.RandomResizedCrop.__dict__:
                _replace(v2.RandomResizedCrop, name, _make_params, "make_params")
        _replace(v2.Compose, "forward", _compose_v2, "compose_v2")


def install_loader():
    """To be called once torchvision.datasets.folder has been imported."""
    if is_wanted() and "pil_loader" not in PLAIN:
        _replace(sys.modules["torchvision.datasets.folder"], "pil_loader", _pil_loader)


def _replace(owner, name, new, key=None):
    plain = owner.__dict__[name]
    function = getattr(plain, "__func__", plain)
    if not exact.is_own(plain):
        return
    PLAIN[key or name] = function
    new = functools.wraps(function)(new)
    # What torch.jit.script is to compile instead.
    new.__script_if_tracing_wrapper = True
    new.__original_fn = function
    setattr(owner, name, staticmethod(new) if isinstance(plain, staticmethod) else new)
    exact.expect_again(owner, name)


# ---- images of a folder ----

def _pil_loader(path):
    """By its name: an image whose form is kept need not be opened. torchvision opens the file itself."""
    try:
        if type(path) is str:  # of files Pillow takes more than torchvision does
            with Image.open(path) as image:
                return image.convert("RGB")
    except Exception:  # torchvision's own says what is wrong, in its own words
        pass
    return PLAIN["pil_loader"](path)


# ---- functions ----

def _to_tensor(pic):
    try:
        tail = tails.of_to_tensor(pic)
        result = None if tail is None else tails.of_image(pic, tail)
    except Exception as error:
        if not is_own(error):
            raise
        result = None
    return PLAIN["to_tensor"](pic) if result is None else result


def _normalize_tensor(tensor, mean, std, inplace=False):
    try:
        result = None if inplace else normalize.normalized(tensor, mean, std)
    except Exception as error:
        if not is_own(error):
            raise
        result = None
    return PLAIN["normalize"](tensor, mean, std, inplace) if result is None else result


# ---- RandomResizedCrop ----

def _is_pair(values):
    return (type(values) in (tuple, list) and len(values) == 2
            and type(values[0]) in (float, int) and type(values[1]) in (float, int))


def _region(img, scale, ratio, log_ratio=None):
    """None where torchvision is to draw it."""
    if not tails.is_pillows(img) or not _is_pair(scale) or not _is_pair(ratio):
        return None
    return draws.region(*img.size, scale, ratio, draws.log_ratio(ratio) if log_ratio is None else log_ratio.tolist())


def _get_params(img, scale, ratio):
    found = draws.as_one(_region, img, scale, ratio)
    return PLAIN["get_params"](img, scale, ratio) if found is None else found


def _make_params(self, flat_inputs):
    found = None
    if len(flat_inputs) == 1:
        found = draws.as_one(_region, flat_inputs[0], self.scale, self.ratio, self._log_ratio)
    if found is None:
        return PLAIN["make_params"](self, flat_inputs)
    top, left, height, width = found
    return dict(top=top, left=left, height=height, width=width)


# ---- Compose ----

def _compose(self, img):
    if type(self) is not T.Compose or type(self.transforms) not in (list, tuple):
        return PLAIN["compose"](self, img)
    return pipeline.run(self.transforms, img)


def _compose_v2(self, *inputs):
    if (type(self) is not _kinds["v2"] or type(self.transforms) not in (list, tuple)
            or len(inputs) != 1 or not self.transforms):
        return PLAIN["compose_v2"](self, *inputs)
    return pipeline.run(self.transforms, inputs[0])
