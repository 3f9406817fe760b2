from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import torch

_Layout = Literal["NCHW", "NHWC"]
_Values = float | Sequence[float] | None
_Name = int | str

# Who decodes JPEGs where a GPU does: how many images it has decoded, and how many this processor has.
class _Decoder:
    name: str
    there: int
    here: int

class Loader:
    # What has the batches: all attributes that are not here are its.
    source: Any
    # Where batches come to be; and how many are on their way there before they are asked for.
    device: torch.device
    prefetch: int
    # With decode="nvjpeg"; else None.
    decoder: _Decoder | None

    # NoDevice (stoker.gpu): `device` is a GPU that cannot be used, or there is no nvJPEG. RuntimeError: CUDA
    # was begun in the process that has forked this one. ValueError, TypeError: what is asked for makes no sense.
    def __init__(self, source: Iterable[Any], labels: Any = ..., *,
                 device: torch.device | str | int | None = ..., mean: _Values = ...,
                 std: _Values = ..., dtype: torch.dtype | None = ..., layout: _Layout = ...,
                 input_layout: _Layout | None = ...,
                 images: _Name | Sequence[_Name] | None = ..., prefetch: int = ...,
                 pin: bool = ..., decode: Literal["nvjpeg"] | None = ..., **further: Any) -> None: ...
    # One pass; several may go on at the same time where the source allows it. A pass is for one thread.
    # Exceptions of the source are its own, in the place of the batch that they are for; another pass or,
    # if the source goes on, the next batch may follow. MemoryError: slots cannot be locked, or the
    # device has no memory left. RuntimeError: the driver has failed; another Loader opens it anew.
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def __getattr__(self, name: str) -> Any: ...
