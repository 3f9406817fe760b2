"""The hook is complete whatever a program imports first."""

import importlib.util

import pytest
from direct import say_anew

from slices import ALL

FIRST = ["stoker", "stoker.Image", "stoker.transforms", "torch", "torch.utils.data",
         "torch.multiprocessing", "torchvision", "torchvision.transforms", "PIL.Image",
         "PIL.JpegImagePlugin", *filter(importlib.util.find_spec, ["torchvision.transforms.v2"])]


def modules():
    """Each module of the package, by its name."""
    from direct import PACKAGE
    files = (PACKAGE / "stoker").rglob("*.py")
    names = [str(path.relative_to(PACKAGE))[:-3].replace("/", ".") for path in files]
    return sorted(name for name in names
                  if not name.endswith("__init__") and ".waiting." not in name)


@pytest.mark.parametrize("first", [*FIRST, *modules()])
def test_all_of_it_is_there(first):
    ((_, there),) = say_anew("orders.py", first)
    assert all(there.values()), there


# The rest follow as they are listed, or backwards. So of each two that follow one, either is before
# the other.
ORDERS = [(first, *[other for other in others if other != first])
          for first in FIRST for others in (FIRST, FIRST[::-1])]


@pytest.mark.parametrize("order", ORDERS if ALL else ORDERS[1::5], ids=lambda o: f"{o[0]}-{o[1]}")
def test_all_of_it_is_there_in_every_order(order):
    ((_, there),) = say_anew("orders.py", *order)
    assert all(there.values()), there
