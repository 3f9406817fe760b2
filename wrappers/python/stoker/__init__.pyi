import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, ParamSpec, TypeVar, overload

import numpy as np
from PIL import Image as Image
from typing_extensions import Buffer

from ._feed import Feed as Feed
from .loader import Loader as Loader

__version__: str

_Out = TypeVar("_Out", bound=Buffer)
_P = ParamSpec("_P")
_R = TypeVar("_R")
_Source = str | os.PathLike[str] | Buffer
_Box = tuple[int, int, int, int]
_Filter = Literal["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"] | int
_Flip = Literal["", "h", "v", "hv", "vh"] | None
_Layout = Literal["HWC", "CHW"]
_Values = float | Sequence[float] | None

@overload
def decode(source: _Source, box: _Box | None = ..., size: tuple[int, int] | None = ...,
           filter: _Filter = ..., flip: _Flip = ..., layout: _Layout = ..., dtype: Any = ...,
           mean: _Values = ..., std: _Values = ..., out: None = ...) -> np.ndarray[Any, Any]: ...
@overload
def decode(source: _Source, box: _Box | None = ..., size: tuple[int, int] | None = ...,
           filter: _Filter = ..., flip: _Flip = ..., layout: _Layout = ..., dtype: Any = ...,
           mean: _Values = ..., std: _Values = ..., *, out: _Out) -> _Out: ...
def decode_batch(sources: Iterable[_Source], threads: int | None = ..., out: Any = ...,
                 **options: Any) -> list[Any]: ...
def view(path: str | os.PathLike[str]) -> memoryview: ...
def counts() -> dict[str, Any]: ...
@overload
def cached(function: Callable[_P, _R], *, version: Any = ...,
           key: Callable[..., Any] | None = ...) -> Callable[_P, _R]: ...
@overload
def cached(function: None = ..., *, version: Any = ..., key: Callable[..., Any] | None = ...
           ) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...
