from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import torch

_Layout = Literal["NCHW", "NHWC"]
_Values = float | Sequence[float] | None
_Name = int | str

class Loader:
    # The iterable of batches. All further attributes are the source's.
    source: Any
    # The batches' device, and the number of batches that are on their way before the program asks for them.
    device: torch.device
    prefetch: int

    # NoDevice (stoker.gpu): `device` is a GPU that cannot be used. RuntimeError: CUDA was begun in
    # the process that has forked this one. ValueError, TypeError: the arguments do not fit together.
    def __init__(self, source: Iterable[Any], labels: Any = ..., *,
                 device: torch.device | str | int | None = ..., mean: _Values = ...,
                 std: _Values = ..., dtype: torch.dtype | None = ..., layout: _Layout = ...,
                 input_layout: _Layout | None = ...,
                 images: _Name | Sequence[_Name] | None = ..., prefetch: int = ...,
                 pin: bool = ..., **further: Any) -> None: ...
    # One pass, for one thread. Several passes may run at the same time if the source allows it. An exception of the source
    # comes at its batch; another pass may follow, and the next batch if the source goes on. MemoryError: slots cannot be
    # locked, or the device has no memory left. RuntimeError: the driver has failed; another Loader opens it anew.
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def __getattr__(self, name: str) -> Any: ...
