"""What each transform of a pipeline was found to be, for as long as nothing of it changes.

Most pipelines are the same for every image. So a transform is looked at once; from then on it is only
asked whether it still consists of the same objects.
"""

from .. import _core
from . import exact, steps, tails

_MOST = 256

_finds = {}  # {a transform's id: (what was seen of it, its Look)}. Not the transform: it may end.


class Look:
    __slots__ = ("step", "told", "start", "link")

    def __init__(self, step=None, told=None, start=None, link=None):
        self.step = step  # step(picture, transform) notes it in a picture, or says no (steps.py)
        self.told = told  # told(transform): what that is for threads
        self.start = start  # the key of a chain that begins with it (tails.py)
        self.link = link  # the same, for one that does not


NOTHING = Look()


def look_at(transforms):
    """A Look for each. To be asked after functions_are_own(), and again when something of the program's
    has run."""
    looks = _core.found(transforms, _finds)
    if None in looks:
        looks = [look or _new_look(transform) for look, transform in zip(looks, transforms)]
    return looks


def _new_look(transform):
    kind = type(transform)
    if not steps.knows(kind) and not tails.knows(kind):
        return NOTHING
    seen = exact.seen(transform)  # first: it may be changed meanwhile
    if not exact.is_bare(transform):
        return NOTHING
    look = Look(*steps.step_of(transform), *tails.keys_of(transform))
    if seen is not None:
        if len(_finds) >= _MOST:
            _finds.clear()
        _finds[id(transform)] = seen, look
    return look
