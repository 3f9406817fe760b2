"""torchvision's changes of colours, of Pillow's images: each in one call, and all of ColorJitter in one."""

from .._pillow import operate, operations
from .._pipeline import colours, exact, rng
from .._pipeline.tensor_tail import is_pillows


def _is_fit(image):
    return is_pillows(image) and image.mode == "RGB" and exact.functions_are_own()


def adjusted(kind, image, factor):
    """Returns the new image, or None if torchvision is to make it."""
    changes = colours.changes(kind, factor) if _is_fit(image) and colours.FUNCTIONS[kind] in colours.proven() else None
    return None if changes is None else operations.recoloured(image, changes, kind == operate.SATURATION)


def grey(image, channels):
    """Returns the grey image with three bands, or None if torchvision is to make it."""
    if type(channels) is not int or channels != 3 or not _is_fit(image) or colours.GREY not in colours.proven():
        return None
    return operations.recoloured(image, colours.WITHOUT_COLOURS)


def drawn(jitter, image):
    """Draws ColorJitter's numbers for an image. Returns [(kind, factor)] in their order, or None: nothing is drawn then."""
    if not _is_fit(image) or not exact.is_bare(jitter) or not rng.can_draw_colours():
        return None
    draw = colours.drawing(jitter)
    return draw and draw()


def changed(image, wanted):
    """Returns the image after the wanted changes, or None if torchvision is to make them."""
    numbers = colours.numbers_of(wanted)
    return None if numbers is None else operations.recoloured(image, numbers, colours.hand_on_info(wanted))
