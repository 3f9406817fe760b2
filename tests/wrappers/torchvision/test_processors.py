"""Image processors of transformers give the same under the hook."""

import importlib.util

import pytest

from matrix import record
from slices import ALL

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("transformers") is None
    or importlib.util.find_spec("transformers.image_processing_backends") is None, reason="no transformers 5")


def test_random_processors(tell):
    """Both backends, with images of all kinds, and steps that a program has replaced."""
    import transformers
    count = 10000 if ALL else 1000
    plain, hooked = (tell(how, "processors.py", count, 0) for how in ("plainly", "hooked"))
    different = [f"{case}: {each} / {hooked['outcomes'][case]}" for case, each in plain["outcomes"].items()
                 if each != hooked["outcomes"][case]]
    assert not different, "\n".join(different[:20]) + f"\n{len(different)} differences"
    assert plain["served"] == 0 and hooked["served"] > count / 20 and hooked["stacked"] > count / 50
    assert hooked["remembered"] > 5
    record("transformers", "random image processors", transformers.__version__, f"{count} cases", "same")


def test_without_torchvisions_functions(tell):
    assert tell("decoding", "processors.py", 20, 0)["served"] == 0
