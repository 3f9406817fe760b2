"""The summary is right about real jobs, with the libraries around torch's DataLoader."""

import importlib.util
import io
import pathlib
import sys
import tarfile

import pytest

from origin import settle

pytestmark = pytest.mark.torch

PROGRAM = pathlib.Path(__file__).parent / "programs/frameworks.py"
IMAGES, EPOCHS = 48, 3
PATIENCE_S = 300

NEEDS = {"torchvision": "torchvision", "timm": "timm", "albumentations": "albumentations",
         "imagefolder": "datasets", "parquet": "datasets", "webdataset": "webdataset",
         "shard_batches": "webdataset", "ultralytics": "ultralytics", "transformers": "transformers",
         "stateful": "torchdata.stateful_dataloader",
         "lightning": "lightning", "torchrun": "torch.distributed.run", "fastai": "fastai",
         "notebook": "nbclient"}
# Opens of each file in an epoch, where it is not one; of two shards, three times.
OPENS = {"albumentations": 2 * IMAGES, "webdataset": 2, "shard_batches": 2}
OF_SHARDS = "webdataset", "shard_batches"


def needs(name):
    try:
        found = importlib.util.find_spec(NEEDS[name])
    except ModuleNotFoundError:
        found = None
    if found is None:
        pytest.skip(f"no {NEEDS[name]}")
    if name == "torchrun" and __import__("torch").__version__.startswith("1."):
        pytest.skip("torchrun of this torch does not run on this Python")


@pytest.fixture(scope="module")
def images(session_origin):
    """JPEGs in two classes, and two shards of them."""
    numpy = pytest.importorskip("numpy")
    image = pytest.importorskip("PIL.Image")
    folder, folder_mount = session_origin.directory("frameworks-images")
    shards, shards_mount = session_origin.directory("frameworks-shards")
    pixels = numpy.random.default_rng(1)
    written = [tarfile.open(shards / f"{number}.tar", "w") for number in range(2)]
    for number in range(IMAGES):
        file = io.BytesIO()
        image.fromarray(pixels.integers(0, 255, (80, 100, 3), dtype=numpy.uint8)).save(file, "JPEG")
        (folder / "ab"[number % 2]).mkdir(exist_ok=True)
        (folder / "ab"[number % 2] / f"{number}.jpg").write_bytes(file.getvalue())
        told = tarfile.TarInfo(f"{number:04}.jpg")
        told.size = file.tell()
        written[number % 2].addfile(told, io.BytesIO(file.getvalue()))
    for shard in written:
        shard.close()
    settle()
    return {"folder": folder_mount, "shards": shards_mount}


@pytest.fixture
def trained(jobs, images, scratch):
    def run(name):
        needs(name)
        directory = images["shards" if name in OF_SHARDS else "folder"]
        env = {"STOKER_AHEAD": "off",  # what it adds to the ten lines would take the place of that of images
               "HF_HOME": scratch, "XDG_CACHE_HOME": scratch, "HOME": scratch}
        line = [sys.executable, PROGRAM, name, directory, scratch]
        if name == "parquet":
            jobs.place.run([*line[:2], "rows", *line[3:]], env=env, timeout=PATIENCE_S)
        return jobs.run(line, path=directory, env=env, timeout=PATIENCE_S)
    return run


def assert_epochs_of_passes(ran):
    told = ran.json
    assert told["epochs_by"] == "passes" and told["compared"]["epochs"] == EPOCHS
    assert told["compared"]["first"]["count"] == IMAGES
    assert told["compared"]["later"]["count"] == (EPOCHS - 1) * IMAGES
    assert f"  epoch 1: {IMAGES} samples in " in ran.stderr
    assert f"  epochs 2-{EPOCHS}: {(EPOCHS - 1) * IMAGES} samples in " in ran.stderr
    assert "NOTHING WAS SERVED" not in ran.stderr


def assert_images(ran):
    assert f"  {EPOCHS * IMAGES} images decoded, {(EPOCHS - 1) * IMAGES} from decoded copies" in ran.stderr


@pytest.mark.parametrize("name", [name for name in NEEDS if name not in ("parquet", "fastai", "ultralytics")])
def test_epochs_and_opens(trained, name):
    ran = trained(name)
    assert_epochs_of_passes(ran)
    assert_images(ran)
    first = OPENS.get(name, IMAGES)
    files = min(first, IMAGES)
    assert ran.opens == EPOCHS * first and EPOCHS * first - files <= ran.hits <= ran.opens
    assert f"stoker: {ran.opens} opens of {files} files, {100 * ran.hits / ran.opens:.1f}% from" in ran.stderr


def test_images_of_a_table(trained):
    """No file of the folder is opened: that is said as a fact."""
    ran = trained("parquet")
    assert_epochs_of_passes(ran)
    assert_images(ran)
    assert ran.opens == 0 and "the images came from elsewhere" in ran.stderr


def test_a_loader_that_does_not_end(trained):
    """Its workers make some batches that are never taken."""
    ran = trained("ultralytics")
    assert_epochs_of_passes(ran)
    assert EPOCHS * IMAGES <= ran.opens <= (EPOCHS + 1) * IMAGES


def test_a_loader_of_its_own(trained):
    """fastai's is none of torch's: opens are counted then, and called so."""
    ran = trained("fastai")
    assert ran.json["epochs_by"] == "opens" and "samples in" not in ran.stderr
    assert f"  first open of a file: {IMAGES}" in ran.stderr
    assert ran.opens >= EPOCHS * IMAGES - 2 * EPOCHS * 8  # the last batch of an epoch is left out
