"""torchvision's pipelines give the same under the hook and with some of its functions replaced."""

import importlib.util

import pytest
import torchvision

import pictures
from matrix import record
from slices import ALL

HAS_V2 = hasattr(__import__("torchvision.transforms", fromlist=["v2"]), "v2") or (
    int(torchvision.__version__.split(".")[1]) >= 15)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A JPEG, a grey one, a PNG."""
    directory = tmp_path_factory.mktemp("files")
    picture = pictures.image(83, 71)
    picture.save(directory / "a.jpg", quality=90)
    picture.convert("L").save(directory / "grey.jpg")
    picture.save(directory / "b.png")
    return [directory / name for name in ("a.jpg", "grey.jpg", "b.png")]


def assert_no_difference(plain, other):
    assert list(plain) == list(other)
    different = [f"{case}: {plain[case]} / {other[case]}" for case in plain
                 if plain[case] != other[case]]
    assert not different, "\n".join(different[:20]) + f"\n{len(different)} differences"


def test_every_transform(tell, files, version):
    plain = tell("plainly", "every.py", *files)
    hooked = tell("hooked", "every.py", *files)
    assert plain["counts"] is None
    assert_no_difference(plain["outcomes"], hooked["outcomes"])
    returned = [case for case, each in plain["outcomes"].items() if each[0] == "returned"]
    assert len(returned) > (400 if HAS_V2 else 200)
    assert hooked["counts"]["images"] > (150 if HAS_V2 else 50)
    assert hooked["counts"]["tensors"] > (250 if HAS_V2 else 70)
    record("torchvision", "every transform under the hook", version,
           f"{len(plain['outcomes'])} cases", "same")


@pytest.mark.skipif(not HAS_V2, reason="this torchvision has no transforms.v2")
def test_resizes_of_v2_are_proven_after_a_program_of_v1(tell, files, tmp_path):
    """A program that never imported v2 must leave no answer about it."""
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    first, second, third = (tell("hooked", "resizes.py", kind, files[0], env=home) for kind in ("v1", "v2", "v1"))
    assert first == third == {"proven": [6], "has v2": False}
    assert second == {"proven": [2, 4, 6], "has v2": True}


def test_images_of_a_folder(tell, files, store, tmp_path):
    """Images, and errors in torchvision's own words."""
    jpeg = files[0].read_bytes()
    (tmp_path / "short.jpg").write_bytes(jpeg[:len(jpeg) // 2])
    (tmp_path / "text.jpg").write_text("no image")
    (tmp_path / "empty.jpg").touch()
    others = [tmp_path / name for name in ("short.jpg", "text.jpg", "empty.jpg", "missing.jpg", "")]
    plain = tell("plainly", "loading.py", *files, *others)
    hooked = tell("hooked", "loading.py", *files, *others, env=store)
    assert plain["outcomes"] == hooked["outcomes"] and plain["own"] == hooked["own"]
    assert {each[0] for each in plain["outcomes"]} == {"returned", "raised"}
    assert hooked["counts"]["from_forms"] > 0


def test_every_transform_from_forms(tell, files, version, store):
    """With a sample store: each file is decoded many times, and read once."""
    plain = tell("plainly", "every.py", *files)
    hooked = tell("hooked", "every.py", *files, env=store)
    assert_no_difference(plain["outcomes"], hooked["outcomes"])
    assert hooked["counts"]["from_forms"] > (150 if HAS_V2 else 50)
    assert 0 < hooked["counts"]["forms"] < 10
    record("torchvision", "every transform, from forms", version,
           f"{len(plain['outcomes'])} cases", "same")


def test_every_transform_decoding_only(tell, files):
    """The hook alone, by the variable of --no-torchvision."""
    plain = tell("plainly", "every.py", *files)
    hooked = tell("decoding", "every.py", *files)
    assert_no_difference(plain["outcomes"], hooked["outcomes"])
    assert hooked["counts"]["images"] > 50
    assert hooked["counts"]["tensors"] == 0


@pytest.mark.parametrize("kind", ["v1", pytest.param("v2", marks=pytest.mark.skipif(
    not HAS_V2, reason="this torchvision has no transforms.v2"))])
@pytest.mark.parametrize("workers", [0, 2])
def test_epochs(tell, folder, workers, kind, version):
    plain = tell("plainly", "epoch.py", folder, workers, kind)
    hooked = tell("hooked", "epoch.py", folder, workers, kind)
    assert plain["most"] == -1
    assert len(plain["batches"]) == 10
    assert plain["batches"] == hooked["batches"]
    assert plain["state"] == hooked["state"]
    assert hooked["most"] > 10  # in one of the processes
    if not workers:
        assert hooked["tensors"] == 60
    record("torchvision", f"ImageFolder, {kind}, {workers} workers", version, "two epochs", "same")


@pytest.mark.parametrize("kind", ["v1", pytest.param("v2", marks=pytest.mark.skipif(
    not HAS_V2, reason="this torchvision has no transforms.v2"))])
@pytest.mark.parametrize("workers", [0, 2] if ALL else [2])
def test_epochs_from_forms(tell, folder, workers, kind, version, store):
    plain = tell("plainly", "epoch.py", folder, workers, kind)
    first = tell("hooked", "epoch.py", folder, workers, kind, env=store)
    second = tell("hooked", "epoch.py", folder, workers, kind, env=store)
    for hooked in (first, second):
        assert plain["batches"] == hooked["batches"] and plain["state"] == hooked["state"]
    assert 0 < first["unread"] < second["unread"]
    record("torchvision", f"ImageFolder from forms, {kind}, {workers} workers", version,
           "four epochs", "same")


needs_tv_tensors = pytest.mark.skipif(importlib.util.find_spec("torchvision.tv_tensors") is None, reason="no tv_tensors")


def test_images_that_are_tensors(tell, version):
    """Lazy tensors differ in nothing from torchvision's, views and thin tensors included."""
    count = 20000 if ALL else 2000
    plain, hooked = (tell(how, "tensors.py", count, 0) for how in ("plainly", "hooked"))
    assert_no_difference(plain["outcomes"], hooked["outcomes"])
    assert plain["lazy"] == 0 and hooked["lazy"] > count / 10 and hooked["alone"] > count / 100
    record("torchvision", "images that are tensors", version, f"{count} pipelines", "same")


def test_samples_of_arrays(tell, version):
    """CIFAR10 differs in nothing, whatever the program changes."""
    count = 10000 if ALL else 1000
    plain, hooked = (tell(how, "arrays.py", 0, count) for how in ("plainly", "hooked"))
    assert_no_difference(plain["outcomes"], hooked["outcomes"])
    assert plain["arrays"] == 0 and hooked["arrays"] > count / 2
    record("torchvision", "samples of CIFAR10", version, f"{count} pipelines", "same")


@needs_tv_tensors
def test_samples(tell, version):
    """Images beside boxes, masks, tensors, arrays, other images, and containers of each kind."""
    count = 10000 if ALL else 1000
    plain, hooked = (tell(how, "samples.py", count, 0) for how in ("plainly", "hooked"))
    assert_no_difference(plain["outcomes"], hooked["outcomes"])
    assert plain["chains"] == 0 and hooked["chains"] > count / 3 and hooked["structures"] > 5
    assert plain["parts"] == 0 and hooked["parts"] > count / 20
    record("torchvision", "samples of v2", version, f"{count} pipelines", "same")


@needs_tv_tensors
def test_sanitized_boxes(tell, version):
    """Boxes of each type and format, at their limits and beyond what numbers hold."""
    count = 20000 if ALL else 2000
    plain, hooked = (tell(how, "boxes.py", count, 0) for how in ("plainly", "hooked"))
    assert_no_difference(plain["outcomes"], hooked["outcomes"])
    assert plain["made"] == 0 and hooked["made"] > count / 10
    record("torchvision", "sanitized boxes", version, f"{count} samples", "same")


@needs_tv_tensors
def test_changed_boxes(tell, version):
    """Changes one after the other, of one box and of several."""
    count = 20000 if ALL else 2000
    assert tell("hooked", "changed_boxes.py", count, 0) == {"different": [], "same": count}
    record("torchvision", "changed boxes", version, f"{count} samples", "same")


@needs_tv_tensors
def test_a_resize_that_differs_is_left_to_torch(tell):
    """torch's code for processors without AVX2 gives other bytes."""
    env = {"ATEN_CPU_CAPABILITY": "default"}
    plain, hooked, usual = (tell(how, "tensors.py", 300, 0, env=more)
                            for how, more in (("plainly", env), ("hooked", env), ("hooked", {})))
    assert_no_difference(plain["outcomes"], hooked["outcomes"])
    assert 0 < hooked["lazy"] < usual["lazy"]


def test_mixed_pipelines(tell, version):
    """Geometry, colours, chances, a program's own transforms and tensors, in any order."""
    count = 10000 if ALL else 500
    plain, hooked = (tell(how, "mixed.py", count, 0) for how in ("plainly", "hooked"))
    assert_no_difference(plain["outcomes"], hooked["outcomes"])
    assert hooked["counts"]["tensors"] > count / 2
    assert hooked["counts"]["colours"] > count / 20
    assert hooked["counts"]["crops"] > count / 9 or importlib.util.find_spec("timm") is None
    record("torchvision", "mixed pipelines", version, f"{count} pipelines", "same")


def test_odd_things_with_colours(tell):
    """Functions that a program replaces, attributes that it deletes, images that fail, and transforms that end."""
    plain, hooked = (tell(how, "odd_colours.py") for how in ("plainly", "hooked"))
    assert_no_difference(plain["outcomes"], hooked["outcomes"])
    assert all(any("raised" in str(each) for name, each in plain["outcomes"].items() if word in name)
               for word in ("damaged", "closed", "no hue"))
