from typing import Any

from typing_extensions import Buffer

# (crop, size, box, filter, pass order, flip, channels, layout, type, table): struct stk_plan, in
# its order; the numbers are decode.h's. A window may follow.
Plan = tuple[
    tuple[int, int, int, int],
    tuple[int, int],
    tuple[float, float, float, float],
    int, int, int, int, int, int,
    Buffer | None,
] | tuple[
    tuple[int, int, int, int],
    tuple[int, int],
    tuple[float, float, float, float],
    int, int, int, int, int, int,
    Buffer | None,
    tuple[int, int, int, int],
]

# (width, height, components, color, precision, progressive, arithmetic, multiscan, end, sound):
# struct stk_jpeg_info; sound: the tables that the only scan needs are there.
def probe(data: Buffer, /) -> tuple[int, int, int, int, int, int, int, int, int, int] | None: ...
# `out` filled, or new bytes for None; a negative number (STK_DECODE_...) where it failed.
def decode(data: Buffer, plan: Plan, out: Any, /) -> Any: ...
def transform(pixels: Buffer, shape: tuple[int, int, int], plan: Plan, out: Any, /) -> Any: ...
# From one of Pillow's core images to another: (source, target, bands, the source's size, the
# target's, box, filter, pass order); 0, or a negative number where Pillow has to do it.
def resize(source: Any, target: Any, bands: int, size: tuple[int, int], to: tuple[int, int],
           box: tuple[float, float, float, float], filter: int, order: int, /) -> int: ...
def table(mean: float | None, std: float | None, /) -> bytes: ...
def publish(where: dict[str, Any], key: str, expected: Any, value: Any, /) -> bool: ...
def simd() -> str: ...
def join(run: str, /) -> bool: ...
def count(slot: int, /) -> None: ...
def counts() -> dict[str, int]: ...
