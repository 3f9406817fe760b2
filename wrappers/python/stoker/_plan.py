"""A plan: what is to be done to a JPEG, in the place of a Pillow image's core image.

Plans do not change, but for two notes: `used`, that something was made from it already, and
`cell`, the ordinary core image once somebody wanted it. Each image has a plan of its own.
"""

from . import _core, _pillow

# Pillow's numbers of the filters, and the decoder's.
FILTERS = {1: 5, 2: 2, 3: 4, 4: 1, 5: 3}

HWC, CHW = 0, 1
U8, F32 = 0, 1
IMAGES, MODE, SCANS, DRAFT, LENIENT, STREAM, DAMAGED, UNPROVEN, CUSTOMISED = range(9)


class Plan:
    __slots__ = ("source", "crop", "size", "filter", "flip", "used", "cell")

    # What Pillow's own Python code asks a core image for without wanting its pixels.
    mode = "RGB"
    bands = 3
    readonly = 0

    def __init__(self, source, crop, size, filter, flip):
        self.source = source  # the JPEG's bytes
        self.crop = crop
        self.size = size
        self.filter = filter  # of the resize, in Pillow's numbers; 0: none
        self.flip = flip
        self.used = False
        self.cell = {"core": None}

    def again(self):
        return Plan(self.source, self.crop, self.size, self.filter, self.flip)

    def cropped(self, box):
        left, top = self.crop[0], self.crop[1]
        crop = (left + box[0], top + box[1], left + box[2], top + box[3])
        return Plan(self.source, crop, (box[2] - box[0], box[3] - box[1]), 0, False)

    def resized(self, size, filter):
        return Plan(self.source, self.crop, size, filter, False)

    def flipped(self):
        return Plan(self.source, self.crop, self.size, self.filter, True)

    def order(self, channels):
        """The plan as the decoder takes it."""
        left, top, right, bottom = self.crop
        whole = (0.0, 0.0, right - left, bottom - top)
        return (self.crop, self.size, whole, FILTERS.get(self.filter, 0), _pillow.PASS_ORDER,
                1 if self.flip else 0, channels, HWC, U8, None)

    def pixels(self, channels):
        """Rows of pixels as bytes; an int when it cannot be decoded."""
        pixels = _core.decode(self.source, self.order(channels), None)
        _core.count(IMAGES if type(pixels) is bytes else DAMAGED)
        return pixels


def core_of(plan):
    """The ordinary core image. Whoever comes first makes it, without a lock."""
    core = plan.cell["core"]
    if core is None:
        pixels = plan.pixels(4)
        core = (_pillow.core_from_pixels(plan.size, pixels) if type(pixels) is bytes
                else reference(plan))
        _core.publish(plan.cell, "core", None, core)
    return plan.cell["core"]


def settle(image, plan):
    """Turns the image into an ordinary one, unless somebody gave it another core meanwhile."""
    core = core_of(plan)
    _core.publish(image.__dict__, _pillow.FIELD, plan, core)


def reference(plan):
    """What Pillow makes of it, errors and warnings included."""
    image = _pillow.load_plainly(plan.source)
    if plan.crop != (0, 0) + image.size:
        image = image.crop(plan.crop)
    if plan.filter:
        image = image.resize(plan.size, plan.filter)
    return _pillow.core(image.transpose(0) if plan.flip else image)


class Access:
    """What load() returns for a plan: Pillow's pixel access, once a pixel is wanted."""

    __slots__ = ("_image", "_plan", "_access")

    def __init__(self, image, plan):
        self._image = image
        self._plan = plan
        self._access = None

    def _settled(self):
        if self._access is None:
            settle(self._image, self._plan)
            self._access = self._plan.cell["core"].pixel_access(0)
            self._image = None
        return self._access

    def __getitem__(self, xy):
        return self._settled()[xy]

    def __setitem__(self, xy, color):
        self._settled()[xy] = color
