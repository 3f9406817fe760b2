"""Whatever a program does with other decoders' functions, it sees what it would without the hook."""

import pytest
from outcomes import differences

import pictures

CASES = 120


@pytest.fixture
def directory(tmp_path):
    """Photographs, grey and progressive ones, and a picture that is no JPEG."""
    place = tmp_path / "pictures"
    place.mkdir()
    for number, (width, height) in enumerate(((123, 97), (64, 48), (1, 1), (200, 3))):
        (place / f"{number}.jpg").write_bytes(pictures.jpeg(pictures.image(width, height, number), subsampling=number % 3))
    picture = pictures.image(90, 70, 30)
    (place / "color.jpg").write_bytes(pictures.jpeg(picture))
    (place / "grey.jpg").write_bytes(pictures.jpeg(picture.convert("L")))
    (place / "progressive.jpg").write_bytes(pictures.jpeg(picture, progressive=True))
    picture.save(place / "picture.png")
    return place


def test_random_files(run, library):
    """A slice of the cases, of which programs/exact.py has any number."""
    found = run("exact.py", library, "--first", 1, "--cases", CASES)
    assert not found["count"], "\n".join(found["differences"])
    assert found["images"] > CASES and found["pngs"] > CASES // 4


def test_what_a_program_sees(run, library, directory, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    found = []
    for hooked in (False, True):
        place = other / "pictures"  # by the same name: errors name it
        place.mkdir()
        for file in directory.iterdir():
            (place / file.name).write_bytes(file.read_bytes())
        found.append(run("seen.py", library, place, hooked=hooked))
        place.rename(other / str(hooked))
    plain, hooked = found
    assert not any(plain["replaced"]) and all(hooked["replaced"])
    different = list(differences(plain["outcomes"], hooked["outcomes"]))
    assert not different, "\n".join(different)
    assert hooked["images"] > 10


def test_later_touches_come_from_forms(run, library, directory, store):
    found = run("touches.py", library, directory, env=store)
    assert not found["differ"]
    assert found["images"] == 3 * found["files"] and found["forms"] == found["files"]
    assert found["unread"] == 2 * found["files"]
    assert not found["bytes_differ"] and not found["examined"]


def test_what_differs_is_left_to_the_library(run, library, directory, tmp_path):
    """With a decoder that errs, always or for grey pixels, the results are the library's own."""
    def decoded(which):
        home = str(tmp_path / which)
        found = run("wrong.py", library, directory / "color.jpg", which, env={"XDG_CACHE_HOME": home})
        assert not found["differ"]
        return found["images"]
    everything = decoded("none")
    assert decoded("all") == 0
    assert 0 < decoded("grey") < everything


def test_the_answers_are_remembered(run, library, directory, tmp_path):
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    first = run("wrong.py", library, directory / "color.jpg", "none", env=env)
    kept, = (tmp_path / "stoker").iterdir()
    assert kept.name.startswith(library + "-")
    assert run("wrong.py", library, directory / "color.jpg", "none", env=env) == first
    kept.write_text("nonsense")
    assert run("wrong.py", library, directory / "color.jpg", "none", env=env) == first
    kept.write_text(".")
    assert run("wrong.py", library, directory / "color.jpg", "none", env=env)["images"] == 0


def test_switched_off(run, library, directory):
    found = run("seen.py", library, directory, env={"STOKER_DECODE": "off"})
    assert not any(found["replaced"]) and found["images"] == 0
