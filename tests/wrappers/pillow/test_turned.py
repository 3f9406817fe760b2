"""EXIF's orientation under the hook: turned images stay plans."""

import io
import subprocess
import sys

import pytest
from PIL import Image

import images


@pytest.fixture(scope="module")
def turned(written):
    picture = Image.open(io.BytesIO(images.kinds()["color.jpg"])).convert("RGB").resize((60, 47))
    found = {}
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[274] = orientation
        for name, options in ("plain", {}), ("scans", {"progressive": True}), ("444", {"subsampling": 0}):
            found[f"{orientation}-{name}.jpg"] = images.jpeg(picture, quality=85, exif=exif.tobytes(), **options)
    return written(found)


def test_what_is_done_with_turned_images(compare, turned):
    outcomes, counts = compare("turned.py", turned)
    assert {each[0] for each in outcomes.values()} == {"returned"}
    assert all(counts["cases"].values())


WAIT = """
import sys
from PIL import ImageOps
from stoker import Image
from stoker._pillow.plan import Plan
from stoker._pillow.versions import FIELD
image = Image.open(sys.argv[1]).convert("RGB")
turned = ImageOps.exif_transpose(Image.open(sys.argv[1])).convert("RGB")
flipped = Image.open(sys.argv[1]).transpose(0).crop((1, 2, 30, 31)).resize((9, 8), 2)
for each in turned, turned.crop((1, 2, 30, 31)).resize((9, 8), 2), image.transpose(6), flipped:
    assert type(vars(each)[FIELD]) is Plan, each
"""


def test_they_wait(turned, environment):
    """Nothing is decoded before the pixels are wanted."""
    done = subprocess.run([sys.executable, "-c", WAIT, turned / "6-plain.jpg"], env=environment,
                          text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
