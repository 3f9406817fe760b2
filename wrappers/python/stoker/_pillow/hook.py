"""Replaces methods of Pillow's image classes, so that JPEGs wait as plans until pixels are wanted.

Each function here first checks if the image's core is a plan. If it is not, or if the operation cannot be part of a
plan, Pillow's own function does the work, on an ordinary core image, which the property `im` makes. Nothing else of
Pillow is changed, and no class is added.
"""

import functools
import sys

from PIL import Image, ImageFile

from .._base import ending
from .._base.own import attempt, is_own, tried
from .._store import setting
from . import again, callers, check, exif, exif_bytes, operations, ordinary, pending, take, versions
from .pending import new_image
from .plan import FILTERS, TURNS, Access, GreyPlan, Plan, reference, materialise

_FIELD = versions.FIELD
_PLAIN = versions.PLAIN
_FORMATS = "JPEG", "MPO"
_installed = False
_hooked_load = None  # ImageFile.load in its place
_hooked_open = None  # Image.open in its place

# Whole numbers only: Pillow rounds, or refuses, what else may come.
_LARGEST = 0x7fffffff  # beyond that Pillow refuses it at once
_FLIP_TYPES = (int, getattr(Image, "Transpose", int))
# FLIP_LEFT_RIGHT, FLIP_TOP_BOTTOM, ROTATE_180: as the decoder's two directions.
_FLIPS = {0: 1, 1: 2, 3: 3}
_FILTER_TYPES = (int, getattr(Image, "Resampling", int))


def _plan_of(image):
    """Returns the image's plan, or None. An untouched JPEG becomes a plan here, if it can."""
    core = image.__dict__.get(_FIELD)
    if core is None and take.is_jpeg(image) and image.tile:
        if _is_loaded_here(image):
            return _taken_plan(image)
        image.load()
        core = image.__dict__.get(_FIELD)
    return core if type(core) is Plan and not image.__dict__.get("tile") else None  # an MPO may be at another image now


def _is_loaded_here(image):
    return type(image).load is _hooked_load and "load" not in image.__dict__ and image.palette is None


def _taken_plan(image, mode="RGB"):
    """Loads the image as its load() does. Returns its plan, or None if it has pixels now."""
    plan = take.take(image, mode)
    if plan is None:
        take.load_plainly(image)
    return plan


def unused_plan(image, is_copy=False):
    """Returns the image's plan if no other image was made of it yet. From the second use on pixels are cheaper, as for a
    script that takes several crops of each image. They are made, also where a second use is expected of the image.
    Nothing is expected of one that is copied."""
    plan = _plan_of(image)
    if plan is None or not plan.used and (is_copy or not again.is_expected(plan)):
        return plan
    again.note()
    _materialise(image, plan)
    return None


def first_use(image, is_copy=False):
    """Returns the plan at its first use, as unused_plan()."""
    plan = unused_plan(image, is_copy)
    if plan is not None:
        plan.used = True
    return plan


def _are_ints(values, count):
    return len(values) == count and all(type(value) is int for value in values)


def _materialise(image, plan):
    try:
        materialise(image, plan)
    except Exception as error:
        if not is_own(error):
            raise
        image.__dict__[_FIELD] = reference(plan)


def _get_im(self):
    core = self.__dict__.get(_FIELD)
    if type(core) is Plan:
        _materialise(self, core)
    elif type(core) is GreyPlan:
        materialise(self, core)
    return _PLAIN["im"](self)


def _get_plain_im(self):
    """Returns `im` in Pillow before 11.0, where it is an ordinary attribute."""
    try:
        return self.__dict__["im"]
    except KeyError:
        raise AttributeError("im") from None


def _set_plain_im(self, core):
    self.__dict__["im"] = core


def _delete_plain_im(self):
    try:
        del self.__dict__["im"]
    except KeyError:
        raise AttributeError("im") from None


def _loaded(image, plan, caller):
    """Returns the result of load(). A program that calls load() wants pixels or the errors, at once. Pillow's own
    functions call it before each operation, and for many of these the image may wait. It may also wait if there can be
    no error, and the program drops the result: most such programs close the file next."""
    may_wait = callers.is_pillows(caller) or (pending.may_wait(plan) and callers.drops_result(caller))
    if image.palette is None and may_wait:
        return Access(image, plan)
    _materialise(image, plan)
    return _PLAIN["load"](image)


def _loaded_file(image, caller):
    if not take.is_jpeg(image):
        return None
    plan = take.take(image)
    return take.load_plainly(image) if plan is None else _loaded(image, plan, caller)


# ---- in the place of Pillow's functions: after an error of ours Pillow's own function runs ----

def _load(self):
    core = self.__dict__.get(_FIELD)
    access = attempt(_loaded, self, core, sys._getframe().f_back) if type(core) is Plan else None
    return _PLAIN["load"](self) if access is None else access


def _load_file(self):
    access = None
    if self.format in _FORMATS and self.tile and self.__dict__.get(_FIELD) is None:
        access = attempt(_loaded_file, self, sys._getframe().f_back)
    elif self.format == "PNG" and self.tile:
        access = attempt(_loaded_png, self)
    return _PLAIN["ImageFile.load"](self) if access is None else access


@functools.cache
def _png():
    from . import png, png_decoder  # not before there is a PNG: they import Pillow's plugin
    png_decoder.install()
    return png


def _loaded_png(image):
    return _png().loaded(image)


# ---- what can be part of a plan: each function returns None where Pillow is to do it ----

def _copied(image):
    plan = first_use(image, True)
    return None if plan is None else new_image(image, plan.again())


def _converted(image, mode=None, *arguments, **named):
    if type(mode) is not str or arguments or named:
        return None
    new = _converted_plan(image) if mode == "RGB" else None
    return operations.converted(image, mode) if new is None else new


def _converted_plan(image):
    if image.mode == "L" and image.__dict__.get(_FIELD) is None and take.is_jpeg(image) and image.tile:
        return _of_grey(image)
    return _copied(image)


def _of_grey(image):
    """Returns the RGB image of a grey JPEG that was not loaded. The grey image is loaded then, without pixels."""
    plan = None
    if _is_loaded_here(image) and "transparency" not in image.info:
        plan = _taken_plan(image, "L")
    return None if plan is None else new_image(image, plan)


def _cropped(image, box=None):
    if type(box) is not tuple or not _are_ints(box, 4):
        return None
    width, height = image.size
    if not (0 <= box[0] < box[2] <= width and 0 <= box[1] < box[3] <= height):
        return None
    plan = first_use(image)
    if plan is None:
        return None
    Image._decompression_bomb_check((box[2] - box[0], box[3] - box[1]))
    return new_image(image, plan.cropped(box))


def _transposed(image, method):
    plan = first_use(image) if type(method) in _FLIP_TYPES and method in TURNS else None
    if plan is None:
        return None
    turned = plan.turned(TURNS[method])
    if turned is None and method in _FLIPS:
        turned = plan.flipped(_FLIPS[method])
    return None if turned is None else new_image(image, turned)


def _as_bytes(image, encoder_name="raw", *arguments):
    is_plain = encoder_name == "raw" and (not arguments or arguments == ("RGB",))
    plan = first_use(image) if is_plain else None
    pixels = None if plan is None else plan.pixels(3)
    return pixels if type(pixels) is bytes else None


def _resized(image, size, resample=None, box=None, reducing_gap=None):
    filter = 3 if resample is None else resample
    if not _is_size(size) or type(filter) not in _FILTER_TYPES or filter not in FILTERS:
        return None
    size, filter = tuple(size), int(filter)
    new = _resized_plan(image, size, filter) if box is None and reducing_gap is None else None
    return ordinary.resized(image, size, filter, box, reducing_gap) if new is None else new


def _is_size(size):
    return (type(size) in (tuple, list) and _are_ints(size, 2)
            and 0 < size[0] <= _LARGEST and 0 < size[1] <= _LARGEST)


def _resized_plan(image, size, filter):
    """Returns the new image; None if the resize cannot be part of the image's plan."""
    plan = first_use(image)
    if plan is None or plan.flip:
        return None
    if size == plan.size:
        return new_image(image, plan.again())
    if plan.filter or filter not in check.proven().filters:
        return None
    return new_image(image, plan.resized(size, FILTERS[filter]))


def _replace(owner, name, new, key=None):
    """Puts a function in the place of Pillow's. A function of the program's stays."""
    plain = owner.__dict__.get(name)
    if not versions.is_pillows(plain):
        return
    _PLAIN[key or name] = plain
    setattr(owner, name, functools.wraps(plain)(new))


def opens_here():
    """Returns true if Image.open() is the hook's, and no function of the program's is in between."""
    return _hooked_open is not None and Image.open is _hooked_open


def _replace_im():
    if versions.HAS_PROPERTY:
        plain = Image.Image.__dict__["im"]
        _PLAIN["im"] = plain.fget
        Image.Image.im = property(_get_im, plain.fset, plain.fdel, plain.__doc__)
    else:
        _PLAIN["im"] = _get_plain_im
        Image.Image.im = property(_get_im, _set_plain_im, _delete_plain_im)


def install():
    """Puts the hook in place; once. Where a program has replaced functions before, images are counted and left to Pillow."""
    global _installed, _hooked_load, _hooked_open
    if _installed or hasattr(Image.Image, "_stoker"):
        return
    _installed = True
    is_whole = versions.are_unchanged()
    _replace(ImageFile.ImageFile, "load", _load_file, "ImageFile.load")
    _hooked_load = ImageFile.ImageFile.load
    if not is_whole:
        return
    _replace(Image.Image, "load", _load)
    for name, ours in (("copy", _copied), ("convert", _converted), ("crop", _cropped), ("resize", _resized),
                       ("transpose", _transposed), ("tobytes", _as_bytes)):
        _replace(Image.Image, name, tried(ours, Image.Image.__dict__[name]))
    operations.install(_replace)
    _replace(Image.Exif, "load", exif.load, "Exif.load")
    _replace(Image.Exif, "tobytes", exif_bytes.tobytes, "Exif.tobytes")
    _replace(Image.Exif, "__getitem__", exif_bytes.item, "Exif.item")
    Image.Image.__copy__ = Image.Image.copy
    _replace_im()
    pending.heed_forks()
    ending.hold_modules()
    if setting() and versions.is_pillows(Image.open):
        from .open import open_image, see_files
        see_files()
        _replace(Image, "open", open_image)
        _hooked_open = Image.open
    Image.Image._stoker = True
