"""The hook is complete whatever a program imports first."""

import pytest
from direct import say

pytest.importorskip("torchvision")

FIRST = ["stoker", "stoker.Image", "stoker.transforms", "torch", "torch.utils.data",
         "torch.multiprocessing", "torchvision", "torchvision.transforms", "PIL.Image",
         "PIL.JpegImagePlugin", "torchvision.transforms.v2"]


def rooms():
    """Each module of the package, by its name."""
    from direct import PACKAGE
    files = (PACKAGE / "stoker").rglob("*.py")
    names = [str(path.relative_to(PACKAGE))[:-3].replace("/", ".") for path in files]
    return sorted(name for name in names
                  if not name.endswith("__init__") and ".waiting." not in name)


@pytest.mark.parametrize("first", [*FIRST, *rooms()])
def test_all_of_it_is_there(first):
    try:
        (there,) = say("orders.py", first)
    except AssertionError as error:
        if "No module named" in str(error):
            pytest.skip("not in this torchvision")
        raise
    assert all(there.values()), there
