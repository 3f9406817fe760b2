"""Functions that `stoker run` puts in the place of some of torchvision's.

Each gives the same bits and leaves the generator in the same state. It does so only for classes that it knows exactly:
Pillow's and torch's own classes, and torchvision's own transforms. In any other case it calls torchvision's own
function. `stoker run --no-torchvision` does without them.
"""

import functools
import os
import sys

import PIL.JpegImagePlugin  # noqa: F401  (the hook waits for it, and must not meet itself half-way)
from PIL import Image

from .._base.own import attempt, attempt_beside, tried
from .._pillow import hook
from .._pillow.plan import Plan
from .._pipeline import box_steps, colours, exact, lazy_tensors, pipeline, rng, steps, tensor_tail, timms
from . import among, arrays, boxes, choices, normalize, others, recolouring, resizes, spaces, trees
from .._pipeline.exact import F, T

SWITCH = "STOKER_TORCHVISION"
PLAIN = {}  # torchvision's own functions
_kinds = {}  # torchvision's own classes


def is_wanted():
    return os.environ.get(SWITCH, "") != "off"


def install():
    """Called once torchvision.transforms.transforms has been imported."""
    if is_wanted() and "compose" not in PLAIN:
        hook.install()
        exact.watch_pillow()
        _replace(F, "to_tensor", _to_tensor)
        _replace(F, "normalize", _normalize_tensor)
        _replace(T.RandomResizedCrop, "get_params", _get_params)
        for name in filter(resizes.has_antialias, resizes.FUNCTIONS):
            _replace(F, name, tried(getattr(resizes, name), F.__dict__[name]))
        _replace(T.Compose, "__call__", _compose, "compose")
        _replace(T.ColorJitter, "forward", _jitter, "jitter")
        for kind, name in enumerate(colours.FUNCTIONS):
            _replace(F.F_pil, name, _adjuster(kind, name))
        _replace(F.F_pil, colours.GREY, _to_grayscale)
        exact.watch(F, (*colours.FUNCTIONS, "rgb_to_grayscale"))
        exact.watch(F.F_pil, (*colours.FUNCTIONS, colours.GREY))
        colours.know(T)


def install_v2():
    """Called once torchvision.transforms.v2 has been imported."""
    install()
    if is_wanted() and "compose_v2" not in PLAIN:
        v2 = sys.modules["torchvision.transforms.v2"]
        tensor_tail.know_v2()
        colours.know(v2)
        exact.watch(v2.functional, (*colours.FUNCTIONS, "rgb_to_grayscale"))
        _kinds["v2"] = v2.Compose
        for name in ("make_params", "_get_params"):
            if name in v2.RandomResizedCrop.__dict__:
                _replace(v2.RandomResizedCrop, name, _make_params, "make_params")
        for kind, transformed in ((v2.Resize, resizes.transformed), (v2.RandomResizedCrop, resizes.transformed),
                                  (v2.Normalize, normalize.transformed)):
            if "transform" in kind.__dict__:
                _replace(kind, "transform", tried(transformed, kind.__dict__["transform"]), kind)
        _replace(v2.Compose, "forward", _compose_v2, "compose_v2")
        trees.install()
        if boxes.NAME in getattr(getattr(v2.functional, "_misc", None), "__dict__", ()):
            _replace(v2.functional._misc, boxes.NAME, _boxes_mask, "boxes_mask")
        exact.watch_boxes(box_steps.functions(v2.functional))


def install_timm():
    """Called once timm.data.transforms has been imported."""
    install()
    module = sys.modules["timm.data.transforms"]
    for name, know in (("MaybeToTensor", tensor_tail.know_timm), ("RandomResizedCropAndInterpolation", timms.know)):
        kind = getattr(module, name, None)
        if is_wanted() and isinstance(kind, type):
            know(kind)


def install_timms_choices():
    """Called once timm.data.auto_augment has been imported."""
    module = sys.modules["timm.data.auto_augment"]
    kind, operation = (getattr(module, name, None) for name in ("RandAugment", "AugmentOp"))
    plain = getattr(kind, "__call__", None)
    if is_wanted() and operation is not None and exact.has_names(plain, choices.TIMMS_NAMES) and module.np is choices.numpy:
        kind.__call__ = functools.wraps(plain)(_choosing(kind, operation, plain))


def install_loader():
    """Called once torchvision.datasets.folder has been imported."""
    if is_wanted() and "pil_loader" not in PLAIN:
        _replace(sys.modules["torchvision.datasets.folder"], "pil_loader", _pil_loader)


def install_arrays():
    """Called once torchvision.datasets.cifar has been imported."""
    module = sys.modules["torchvision.datasets.cifar"]
    kinds = module.CIFAR10, module.CIFAR100
    if is_wanted() and "of_array" not in PLAIN and "__getitem__" not in kinds[1].__dict__ and arrays.is_known(
            kinds[0].__getitem__):
        _kinds["arrays"] = kinds
        _replace(kinds[0], "__getitem__", _of_array, "of_array")


def install_spaces():
    """Called once torchvision.transforms.autoaugment has been imported."""
    module = sys.modules["torchvision.transforms.autoaugment"]
    for name in spaces.CLASSES:
        kind = getattr(module, name, None)
        if is_wanted() and kind is not None and spaces.NAME in kind.__dict__ and name not in PLAIN:
            _replace(kind, spaces.NAME, spaces.remembering(kind, kind.__dict__[spaces.NAME]), name)
            if name == "TrivialAugmentWide" and exact.has_names(kind.forward, choices.TRIVIAL_NAMES):
                _replace(kind, "forward", _trivial(module, kind, kind.__dict__[spaces.NAME]), "trivial")


def _replace(owner, name, new, key=None):
    plain = owner.__dict__[name]
    function = getattr(plain, "__func__", plain)
    if not exact.is_own(plain):
        return
    PLAIN[key or name] = function
    new = functools.wraps(function)(exact.if_torch_is_alone(new, function))
    # torch.jit.script compiles the original function instead.
    new.__script_if_tracing_wrapper = True
    new.__original_fn = function
    setattr(owner, name, staticmethod(new) if isinstance(plain, staticmethod) else new)
    exact.expect_again(owner, name)


# ---- images of a folder ----

def _open_by_name(path):
    with Image.open(path) as image:
        return image.convert("RGB")


def _pil_loader(path):
    """Opens an image by its name: a file with a form need not be opened. torchvision always opens the file."""
    image = None
    if type(path) is str and hook.opens_here():  # Pillow takes more kinds of file objects than torchvision does
        image = attempt_beside(_open_by_name, path)
    return PLAIN["pil_loader"](path) if image is None else image


# ---- data sets that hold an array ----

def _of_array(self, index):
    made = attempt(arrays.sample, self, index, _kinds["arrays"], PLAIN["of_array"])
    if made is None:
        return PLAIN["of_array"](self, index)
    image, target = made
    return image, target if self.target_transform is None else self.target_transform(target)


# ---- functions ----

def _to_tensor(pic):
    result = attempt(pipeline.to_tensor, pic)
    return PLAIN["to_tensor"](pic) if result is None else result


def _normalize_tensor(tensor, mean, std, inplace=False):
    result = None if inplace else attempt(normalize.normalized, tensor, mean, std)
    return PLAIN["normalize"](tensor, mean, std, inplace) if result is None else result


def _boxes_mask(bounding_boxes, *arguments, **named):
    plain = PLAIN["boxes_mask"]
    result = None if arguments else attempt(boxes.mask, plain, bounding_boxes, named)
    return plain(bounding_boxes, *arguments, **named) if result is None else result


# ---- colours ----

def _adjuster(kind, name):
    factor_name = name.replace("adjust_", "") + "_factor"  # v2 hands it over by its name

    def adjust(*arguments, **named):
        given = (*arguments, named[factor_name]) if list(named) == [factor_name] else () if named else arguments
        result = attempt(recolouring.adjusted, kind, *given) if len(given) == 2 else None
        return PLAIN[name](*arguments, **named) if result is None else result
    return adjust


def _to_grayscale(img, num_output_channels):
    result = attempt(recolouring.grey, img, num_output_channels)
    return PLAIN[colours.GREY](img, num_output_channels) if result is None else result


def _jitter(self, img):
    wanted = attempt(recolouring.drawn, self, img)
    if wanted is None:
        return PLAIN["jitter"](self, img)
    new = attempt(recolouring.changed, img, wanted)
    return colours.one_by_one(img, wanted) if new is None else new


# ---- automatic augmentations ----

def _trivial(module, kind, space):
    def forward(self, img):
        found = attempt(choices.drawn, kind, space, self, img)
        if found is None:
            return PLAIN["trivial"](self, img)
        return module._apply_op(img, *found, interpolation=self.interpolation, fill=self.fill)
    return forward


def _choosing(kind, operation, plain):
    def choosing(self, img):
        ops = attempt(choices.chosen, kind, operation, self)
        if ops is None:
            return plain(self, img)
        for op in ops:
            img = op(img)
        return img
    return choosing


# ---- RandomResizedCrop ----

def _size_of(img):
    """Returns (width, height) of an image, or None if torchvision is to find it."""
    if lazy_tensors.is_image(img):
        return (img.shape[2], img.shape[1]) if img.ndim == 3 and img.numel() > 0 and lazy_tensors.is_torch_alone() else None
    return img.size if tensor_tail.is_pillows(img) else None


def _region(img, scale, ratio, log_ratio=None):
    """Draws the region, or returns None if torchvision is to draw it."""
    size = _size_of(img) if rng.is_pair(scale) and rng.is_pair(ratio) else None
    if size is None:
        return None
    step = steps.region(scale, ratio, rng.log_ratio(ratio) if log_ratio is None else log_ratio.tolist())
    if step is None:
        return None
    noted, geometry, _ = rng.note((step,), 0, Plan.whole(None, size).geometry, 0)
    if not noted:
        return None
    left, top, right, bottom = geometry[0]
    return top, left, bottom - top, right - left


def _get_params(img, scale, ratio):
    found = rng.as_one(_region, img, scale, ratio)
    return PLAIN["get_params"](img, scale, ratio) if found is None else found


def _make_params(self, flat_inputs):
    found = None
    if len(flat_inputs) == 1:
        found = rng.as_one(_region, flat_inputs[0], self.scale, self.ratio, self._log_ratio)
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
    if type(self) is not _kinds["v2"] or type(self.transforms) not in (list, tuple) or not self.transforms:
        return PLAIN["compose_v2"](self, *inputs)
    if len(inputs) == 1 and type(inputs[0]) not in (tuple, list, dict):
        return pipeline.run(self.transforms, inputs[0])
    if not inputs:
        return PLAIN["compose_v2"](self)
    result = rng.as_one(others.run, self.transforms, inputs) if attempt(others.takes, inputs) else None
    return among.run(self.transforms, inputs) if result is None else result
