"""Nothing is off in silence: each recipe is helped as it should be, whatever the first programs of a machine were."""

import importlib.util

import pytest

import pictures

FILES = 3
EACH, ONE_PASS = {"images": FILES}, {"images": FILES, "tensors": FILES}
OF_TENSORS = {**ONE_PASS, "of tensors": FILES}
V1 = {"torchvision, ImageFolder": ONE_PASS, "functional calls, one by one": ONE_PASS,
      "torchvision.io.decode_jpeg + transforms": OF_TENSORS, "CIFAR-10, a batch": {"tensors": 64 * FILES},
      "RandAugment": {**ONE_PASS, "operations": 3}, "PNG": {"pngs": FILES, "tensors": FILES},
      "two views, as MoCo v3": {"images": 2 * FILES, "tensors": 2 * FILES, "operations": 8}}
V2 = {"v2.Compose of (image, label)": ONE_PASS, "v2 as documented, ToImage first": OF_TENSORS,
      "torchvision.io.decode_image + v2": OF_TENSORS, "v2.Compose of (image, boxes)": {**ONE_PASS, "parts": FILES}}
PILLOW = {"np.array(Image.open())": EACH}
OPENCV = {"cv2.imread": EACH, "cv2.imread of a PNG": {"pngs": FILES}}
IO = {"torchvision.io.read_image": EACH, "torchvision.io.read_image of a PNG": {"pngs": FILES}}
ALL = {**V1, **V2, **PILLOW, **OPENCV, **IO}
LACKING = {"cv2": OPENCV, "torchvision.transforms.v2": V2}  # the recipes that want a module


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    directory = tmp_path_factory.mktemp("photographs")
    (directory / "png").mkdir()
    for number in range(FILES):
        picture = pictures.image(400 + number, 300, number)
        picture.save(directory / f"{number}.jpg", quality=90)
        picture.save(directory / "png" / f"{number}.jpg", "PNG")
    return directory


def here():
    """Returns the names of the recipes that this machine has all modules for."""
    lacking = [recipes for module, recipes in LACKING.items() if importlib.util.find_spec(module) is None]
    return [name for name in ALL if not any(name in recipes for recipes in lacking)]


@pytest.mark.parametrize("first", [V1, V2, PILLOW, OPENCV, IO], ids=["v1", "v2", "pillow", "opencv", "io"])
def test_every_recipe_after_any_first_program(tell, directory, tmp_path, first):
    names = here()
    first = [name for name in first if name in names]
    if not first:
        pytest.skip("this machine lacks what the first program wants")

    def run(names):
        found = tell("hooked", "working.py", directory, *names,
                     env={"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")})
        assert found["told"] == {name: ALL[name] for name in names}
        assert [each for each in found["different"] if not each.startswith("_decoders.")] == []
        return found["asked"]
    assert run(first) and run(names)
    if "torchvision, ImageFolder" in first:
        assert run(names[::-1]) == []  # all answers are kept
