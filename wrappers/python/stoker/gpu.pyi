from collections.abc import Sequence

import torch

class NoDevice(RuntimeError): ...

def augment(images: torch.Tensor, indices: torch.Tensor | Sequence[int] | None = ..., *,
            mean: float | Sequence[float], std: float | Sequence[float], padding: int = ...,
            flip: bool = ..., fill: int | Sequence[int] = ..., size: tuple[int, int] | None = ...,
            dtype: torch.dtype = ..., channels_last: bool = ...,
            generator: torch.Generator | None = ..., threads: int = ...) -> torch.Tensor: ...
