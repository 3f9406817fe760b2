"""Grey JPEGs under the hook: an RGB image of one is a plan, and the grey image keeps its own pixels."""

import io

import pytest
from PIL import Image

import images

SPOILT = " cut at", " without its end", " junk behind", " byte "


@pytest.fixture(scope="module")
def greys(written):
    picture = Image.open(io.BytesIO(images.kinds()["grey.jpg"])).convert("L")
    exif = Image.Exif()
    exif[274] = 6
    return written({"grey.jpg": images.kinds()["grey.jpg"],
                    "grey-progressive.jpg": images.jpeg(picture, quality=90, progressive=True),
                    "grey-turned.jpg": images.jpeg(picture, quality=70, exif=exif.tobytes())})


def engaged(counts, spoilt):
    return {name: number for name, number in counts["cases"].items()
            if any(each in name for each in SPOILT) == spoilt}


def test_what_is_done_with_either(compare, greys):
    outcomes, counts = compare("grey.py", greys)
    raised = {name for name, outcome in outcomes.items() if outcome[0] == "raised"}
    assert all(any(each in name for each in SPOILT) for name in raised), raised
    assert sum(1 for number in engaged(counts, False).values() if number) > 60


def test_damaged_files(compare, greys):
    outcomes, counts = compare("grey.py", greys)
    assert sum(1 for outcome in outcomes.values() if outcome[0] == "raised") > 50
    assert 0 < sum(1 for number in engaged(counts, True).values() if number) < 230


def test_the_decoder_takes_part(compare, greys, store):
    _, counts = compare("grey.py", greys, touches=2, env=store)
    assert counts["from_forms"] > 60 and counts["unread"] > 20
