"""Batches of a DataLoader as normalised tensors on a GPU, or here.

    loader = stoker.Loader(dataloader, mean=MEAN, std=STD)
    for images, labels in loader: ...
"""

import collections
import os

from ._gpu import cuda
from ._gpu.device import of as open_device
from ._gpu.here import Here
from ._gpu.images import NCHW, Recipe
from ._gpu.jpegs import Jpegs
from ._gpu.there import There
from ._numbers import whole_number

__all__ = ["Loader"]

UNDER_WAY = 4  # batches whose copies a device has begun: gpu/gpu.h
NVJPEG = "nvjpeg"


class Loader:
    """The batches of a torch DataLoader, or of anything else that has batches, in its order, as they are
    needed: on a device, with images of bytes made numbers of.

    `source` is what has the batches; `loader.sampler`, `loader.batch_size` and all else that is not here are
    its own. It may also be a list of paths: then files are decoded in threads of this process, by
    the further arguments that stoker.Loader(paths, labels, transform=, batch_size=, ...) has.

    `device` is a GPU ("cuda", "cuda:1", a number, a torch.device): NoDevice, with the reason, where it
    cannot be used. "cpu" stays here. None is the GPU that torch would use, or here where there is none that
    does. The numbers are the same to the last bit: (byte / 255 - mean) / std, as torchvision's ToTensor and
    Normalize have it, in float32, or as `dtype` (torch.float16, torch.bfloat16) rounded once more.

    Images are tensors of four dimensions whose channels, as many as `mean` and `std` have values (1 or 3 if
    they have one), are the second or the last dimension: of uint8, and with a mean or a std floats as well,
    which torch normalises. Where either dimension could be the channels it is an error, and `input_layout`
    ("NCHW", "NHWC") says which it is. `images` names those that are meant, by their keys, indices or fields
    in the batch, where others look like images as well. They come as count x channels x height x width,
    in the memory format channels_last if `layout` is "NHWC". A batch without
    images whose bytes look as if they were meant is a ValueError, where a mean, a std or `images` is said.

    All other tensors are moved as they are; strings, numbers, None and objects without a to() stay. Dicts,
    lists, deques, tuples and named tuples stay what they are.

    So many batches as `prefetch` says are on their way to a GPU before they are asked for; none where the
    DataLoader has no workers, and none here. Slots (docs/batches.md) are locked for the GPU the first time
    that a batch lies in them, and so is the memory into which files are decoded here (MemoryError if they may
    not be; not with pin=False).

    `decode="nvjpeg"`, with a list of paths and a GPU: that decodes the JPEGs, by NVIDIA's nvJPEG, which gives
    pixels that are not Pillow's (docs/gpu.md says how far off they are). What it does not take is decoded here;
    `decoder` says how many images each has had. NoDevice, with what to do, where there is no nvJPEG."""

    def __init__(self, source, labels=None, *, device=None, mean=None, std=None, dtype=None,
                 layout=NCHW, input_layout=None, images=None, prefetch=2, pin=True, decode=None,
                 **further):
        prefetch = whole_number("prefetch", prefetch, 0)
        recipe = Recipe(mean, std, dtype, layout, input_layout, _names(images))
        self.source = _source(source, labels, further, decode)
        index = cuda.find(device)
        if decode and index is None:
            raise ValueError(f'decode="{decode}" needs a GPU (device="cuda"): where there is none leave it '
                             "out, and this processor decodes")
        self.decoder = None
        self._side = Here(recipe) if index is None else self._there(index, recipe, pin, decode)
        self.device = self._side.device
        # Without workers the data set draws its chances from the generators of who asks, in the order in
        # which both do.
        waits = index is None or getattr(self.source, "num_workers", None) == 0
        self.prefetch = 0 if waits else prefetch
        if self.source is not source and index is not None and pin:  # a Feed, of nobody else's
            self.source.share(self.prefetch + UNDER_WAY)

    def _there(self, index, recipe, pin, decode):
        device, place = open_device(index), cuda.Place(index)
        if decode:
            from ._feeding.encoded import Encoded
            self.decoder = Jpegs(device, place, Encoded)
        return There(device, place, recipe, pin, self.decoder)

    def __iter__(self):
        self._side.let_go()
        kind = _Batches if type(self._side) is Here else _Sending
        return kind(iter(self.source), self._side, self.prefetch)

    def __len__(self):
        return len(self.source)

    def __getattr__(self, name):
        if name == "source":  # before there is one
            raise AttributeError(name)
        return getattr(self.source, name)


class _Failed:
    __slots__ = ("error",)

    def __init__(self, error):
        self.error = error


class _Batches:
    """One pass. What fails does so when it is its turn."""

    def __init__(self, batches, side, prefetch):
        self._batches = batches
        self._side = side
        self._prefetch = prefetch
        self._begun = collections.deque()
        self._owner = os.getpid()

    def __iter__(self):
        return self

    def __next__(self):
        while self._batches is not None and len(self._begun) <= self._prefetch and self._is_well():
            self._fetch()
        if not self._begun:
            self._finish()
            raise StopIteration
        begun = self._begun.popleft()
        if isinstance(begun, _Failed):
            try:
                raise begun.error
            finally:
                begun = None  # or it would be its own traceback's
        return self._side.give(begun)

    def _is_well(self):
        return not self._begun or not isinstance(self._begun[-1], _Failed)

    def _fetch(self):
        try:
            self._begun.append(self._side.begin(next(self._batches)))
        except StopIteration:
            self._batches = None
        except Exception as error:
            self._begun.append(_Failed(error))

    def _finish(self):
        if self._owner == os.getpid():
            self._side.finish()


class _Sending(_Batches):
    """Of which some may be on their way to a device when nobody asks for more."""

    def __del__(self):  # an interrupt that comes meanwhile is lost: so there is none where none is needed
        self._begun.clear()
        self._batches = None
        try:
            self._finish()
        except Exception:  # who has asked for no more is told of nothing
            pass


def _names(images):
    if images is None:
        return None
    return frozenset(images if isinstance(images, (list, tuple, set, frozenset)) else [images])


def _source(source, labels, further, decode):
    if decode not in (None, NVJPEG):
        raise ValueError(f"decode is {NVJPEG!r}, or None: this processor decodes")
    if _are_paths(source):
        from ._feed import Feed
        return Feed(source, labels, encoded=decode is not None, **further)
    wrong = ["labels"] * (labels is not None) + ["decode"] * (decode is not None) + list(further)
    if wrong:
        if _is_sequence(source) and len(source) == 0:
            raise ValueError("there are no images: the list of paths is empty")
        raise TypeError("only with a list of paths, stoker.Loader(paths, labels, transform=...): "
                        f"{', '.join(wrong)}")
    return source


def _is_sequence(source):
    return (not isinstance(source, (str, bytes, dict))
            and hasattr(source, "__getitem__") and hasattr(source, "__len__"))


def _are_paths(source):
    """Whether it is a sequence of them; of none, there is nothing to see."""
    return _is_sequence(source) and len(source) > 0 and isinstance(source[0], (str, bytes, os.PathLike))
