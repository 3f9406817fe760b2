"""Plans: the crop, resize and flip of a JPEG, in the place of a Pillow image's core image.

A plan does not change, but for notes: `used` is set when another image was made of it, `is_counted` when again.py has
counted it, and `cell` gets the ordinary core image once it is wanted. Each image has a plan of its own.
"""

from PIL import Image

from .. import _core
from .._store import sources
from . import versions

# Pillow's numbers of the filters, and the decoder's.
FILTERS = {1: 5, 2: 2, 3: 4, 4: 1, 5: 3}
PILLOWS_FILTERS = {ours: number for number, ours in FILTERS.items()}

# {Pillow's method of a transpose: what the decoder does with the image: flips (1: left to right, 2: top to bottom), then
# an exchange of the axes (4)}
TURNS = {0: 1, 1: 2, 2: 5, 3: 3, 4: 6, 5: 4, 6: 7}
_METHODS = {turn: method for method, turn in TURNS.items()}
_EXCHANGE = 4

HWC, CHW = 0, 1
U8, F32 = 0, 1


class Plan:
    __slots__ = ("source", "crop", "target", "window", "size", "filter", "flip", "turn", "used",
                 "is_counted", "cell")

    # Attributes of a core image that Pillow's own Python code reads without wanting pixels.
    mode = "RGB"
    bands = 3
    readonly = 0

    def __init__(self, source, crop, target, filter, flip, window=None, turn=0):
        self.source = source  # of the JPEG (_store/sources.py)
        self.crop = crop
        self.target = target  # the size that the crop is resized to
        self.filter = filter  # of the resize, in the decoder's numbers; 0: none
        self.window = window  # what is wanted of the resized image; None: all
        self.flip = flip  # 1: left to right, 2: top to bottom, 3: both
        self.turn = turn  # of the whole image, before all else (TURNS)
        self.size = target if window is None else (window[2] - window[0], window[3] - window[1])
        self.used = False
        self.is_counted = True  # only images as a whole are counted
        self.cell = {"core": None}

    @classmethod
    def whole(cls, source, size, turn=0):
        """Returns the plan of a whole image as it is, or turned."""
        plan = cls(source, (0, 0) + size, size, 0, 0, None, turn)
        plan.is_counted = False
        return plan

    @property
    def geometry(self):
        """Returns what to do with the source, as core/decode/plan_request.h describes it."""
        return self.crop, self.target, self.filter, self.flip, self.window, self.turn

    def is_whole(self, size):
        """Returns true if this is the plan of a whole image of that size as it is."""
        return self.crop == (0, 0) + size and not (self.filter or self.flip)

    def of(self, source, crop):
        """Returns the plan of another source, which does the rest with this region of it."""
        return Plan(source, crop, self.target, self.filter, self.flip, self.window)

    def again(self):
        plan = Plan(self.source, *self.geometry)
        plan.is_counted = self.is_counted
        return plan

    def turned(self, turn):
        """Returns the plan of the whole turned image, or None if this is not the plan of an image as it is."""
        size = self.source.examine()[:2]
        if self.turn or not self.is_whole(size):
            return None
        return Plan.whole(self.source, size[::-1] if turn & _EXCHANGE else size, turn)

    def cropped(self, box):
        """Returns the plan of a box in this plan's result."""
        left, top, right, bottom = box
        step = _core.STEP_BOX, 0, bottom - top, right - left, (left, top, 0, 0, 0, 0)
        return Plan(self.source, *_core.note((step,), 0, self.geometry, 0, None)[1])

    def resized(self, size, filter):
        """Returns the resized plan of a plan that neither resizes nor flips."""
        return Plan(self.source, self.crop, size, filter, 0, None, self.turn)

    def flipped(self, directions):
        return Plan(self.source, self.crop, self.target, self.filter, self.flip ^ directions,
                    self.window, self.turn)

    def request(self, channels, layout=HWC, type=U8, table=None, resizer=None):
        """Returns the plan as the decoder takes it (core/decode/plan_request.h). `resizer` is the resizer, if it is not
        this Pillow's."""
        return self.geometry, versions.RESIZER if resizer is None else resizer, (channels, layout, type, table)

    def pixels(self, channels, out=None):
        """Returns rows of pixels as bytes, or in `out`. Returns an int if the JPEG cannot be decoded."""
        pixels = self.source.decode(self.request(channels), out)
        _core.count(_core.DAMAGED if type(pixels) is int else _core.IMAGES)
        return pixels

    def core(self):
        """Returns an ordinary core image, or None if the JPEG cannot be decoded."""
        core = versions.empty_core(self.size)
        memory = _core.memory(core, self.size)
        pixels = self.pixels(4, memory)
        if type(pixels) is int:
            return None
        return versions.core_from_pixels(self.size, pixels) if memory is None else core


class GreyPlan:
    """The core image of a grey JPEG that became an RGB image, until the grey one itself is wanted."""

    __slots__ = ("source", "size", "cell")

    mode = "L"
    bands = 1
    readonly = 0

    def __init__(self, source, size):
        self.source = source
        self.size = size
        self.cell = {"core": None}

    def core(self):
        """Returns an ordinary core image. Raises what Pillow raises."""
        data = self.source.read()
        if data is not None:
            return versions.core(versions.load_plainly(data))
        pixels = self.source.decode(Plan.whole(self.source, self.size).request(1), None)
        if type(pixels) is int:
            raise sources.error_of(pixels)
        return versions.core(Image.frombytes("L", self.size, pixels))


def core_of(plan):
    """Returns the ordinary core image. The first thread that publishes one wins, without a lock."""
    core = plan.cell["core"]
    if core is None:
        core = plan.core()
        if core is None:
            core = reference(plan)
        _core.publish(plan.cell, "core", None, core)
    return plan.cell["core"]


def materialise(image, plan):
    """Gives the image its pixels, unless it got another core meanwhile."""
    core = core_of(plan)
    _core.publish(image.__dict__, versions.FIELD, plan, core)


def image_of(source):
    """Returns the whole JPEG as an ordinary RGB image, decoded by Pillow."""
    data = source.read()
    if data is not None:
        image = versions.load_plainly(data)
        return image if image.mode == "RGB" else versions.plainly("convert", image, "RGB")
    size = source.examine()[:2]
    pixels = Plan.whole(source, size).pixels(4)
    if type(pixels) is int:
        raise sources.error_of(pixels)
    return versions.image_from_pixels(size, pixels)


def turned_image(plan):
    """Returns the whole JPEG of a plan, decoded and turned by Pillow."""
    image = image_of(plan.source)
    return versions.plainly("transpose", image, _METHODS[plan.turn]) if plan.turn else image


def reference(plan):
    """Returns the core image that Pillow makes of a plan, with its errors and warnings."""
    image = turned_image(plan)
    if plan.crop != (0, 0) + image.size:
        image = versions.plainly("crop", image, plan.crop)
    if plan.filter:
        image = versions.plainly("resize", image, plan.target, PILLOWS_FILTERS[plan.filter])
    if plan.window is not None:
        image = versions.plainly("crop", image, plan.window)
    for direction in (1, 2):
        if plan.flip & direction:
            image = versions.plainly("transpose", image, direction - 1)
    return versions.core(image)


class Access:
    """The result of load() for a plan: Pillow's pixel access, once a pixel is wanted."""

    __slots__ = ("_image", "_plan", "_access")

    def __init__(self, image, plan):
        self._image = image
        self._plan = plan
        self._access = None

    def _materialised(self):
        if self._access is None:
            materialise(self._image, self._plan)
            self._access = self._plan.cell["core"].pixel_access(0)
            self._image = None
        return self._access

    def __getitem__(self, xy):
        return self._materialised()[xy]

    def __setitem__(self, xy, color):
        self._materialised()[xy] = color
