"""Images under the hook behave as without it, whatever a program does with them."""

import subprocess
import sys

import images
import PIL
import pytest
from conftest import HERE
from matrix import record
from slices import ALL


# In these there is nothing to decode: an error, another decoder's work, or an image that is not
# looked at.
IDLE = {"only_opened", "closed_early", "closed_file_early", "context_manager_unloaded", "closed",
        "closed_unloaded", "verified", "drafted", "drafted_grey", "thumbnail", "hashing", "pipe",
        "a_decoder_of_the_program", "another_mode_by_hand"}
# These need what is not everywhere: a newer Pillow.
OPTIONAL = {"arrow"}


def test_behaviours(compare, jpegs):
    outcomes, counts = compare("behaviours.py", jpegs)
    assert len(outcomes) > 60
    raised = {name: outcome for name, outcome in outcomes.items() if outcome[0] == "raised"}
    assert set(raised) <= {"unseekable", "closed_early", "closed_file_early", "pipe",
                           "a_decoder_of_the_program"}, raised
    assert counts["images"] > 200
    absent = {name for name in OPTIONAL if outcomes[name][1] is None}
    idle = {name for name, images in counts["cases"].items() if images == 0}
    assert idle <= IDLE | absent, "nothing was decoded here"
    assert set(counts["settled"]) >= {"mode", "draft", "lenient", "customised"}
    record("Pillow under the hook", "behaviours", PIL.__version__, f"{len(outcomes)} cases", "same")


def test_what_is_loaded_at_exit(environment, jpegs):
    """At exit C calls load(), without a function of Python's below it."""
    program = ("import atexit, sys; from stoker import Image; image = Image.open(sys.argv[1]); "
               "image.convert('RGB'); atexit.register(image.load); "
               "atexit.register(Image.open(sys.argv[1]).load)")
    done = subprocess.run([sys.executable, "-c", program, jpegs / "color.jpg"], env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_damaged(compare, jpegs):
    outcomes, counts = compare("damaged.py", jpegs, *((400, 50) if ALL else (28, 25)))
    assert counts["settled"]["damaged"] > 200 and counts["images"] > 50
    assert counts["cases"]["a JPEG named .png"] > 0 and counts["cases"]["no limit"] > 0
    assert counts["cases"]["a warning by the bomb check"] > 0
    record("Pillow under the hook", "damaged files", PIL.__version__, f"{len(outcomes)} files",
           "same")


def test_lenient(compare, jpegs):
    """LOAD_TRUNCATED_IMAGES says what is to become of files that are not whole: all others are
    decoded here, whatever it says."""
    ways = 3 if ALL else 1
    outcomes, counts = compare("lenient.py", jpegs, ways)
    for name in ("color", "444", "optimized", "restart", "progressive"):
        for what in ("sound", "with bytes behind", "twice", "with zeros behind"):
            # Half of the ways ask for pixels by load(), which makes an ordinary image.
            assert counts["cases"][f"{name}.jpg, {what}"] >= 8 * ways, (name, what)
        for what in ("without its end", "with half of its end", "with another end", "cut at 5/10"):
            assert counts["cases"][f"{name}.jpg, {what}"] == 0, (name, what)
    assert counts["settled"]["lenient"] > 100 and counts["settled"]["damaged"] > 100
    record("Pillow under the hook", "LOAD_TRUNCATED_IMAGES", PIL.__version__,
           f"{len(outcomes)} files", "same")


def test_sequences(compare, jpegs):
    count = 6000 if ALL else 300
    outcomes, counts = compare("sequences.py", jpegs, 0, count)
    assert len(outcomes) == count
    assert counts["images"] > count
    record("Pillow under the hook", "random operations", PIL.__version__, f"{count} sequences",
           "same")


def test_arithmetic_coding(compare, arithmetic):
    """Pillow fails at some of these, depending on the size of the pieces it reads: so all are its
    own."""
    outcomes, counts = compare("arithmetic.py", arithmetic, 1 if ALL else 4)
    assert counts["images"] == 0 and counts["settled"]["unproven"] > 50
    broken = [name for name, outcome in outcomes.items() if "broken data" in str(outcome)]
    assert "large.jpg" in broken and "small.jpg" not in broken
    assert "larger_pieces_of_one_image" not in broken
    record("Pillow under the hook", "arithmetic coding", PIL.__version__, f"{len(outcomes)} cases",
           "same")


def test_streams(compare, written, jpegs, arithmetic):
    """If an image is left to Pillow, no byte is read twice for that. The stream is where it is
    without the hook."""
    several = written(images.several_scans())
    if not ALL:  # of each kind of reason to leave a stream to Pillow, and of sizes: what is read depends on no sampling
        arithmetic = written({"large.jpg": (arithmetic / "large.jpg").read_bytes()})
        names = "color", "grey", "cmyk", "progressive", "exif", "one", "large", "restart"
        jpegs = written({f"{name}.jpg": (jpegs / f"{name}.jpg").read_bytes() for name in names})
    outcomes, counts = compare("streams.py", "every" if ALL else "pairs", jpegs, arithmetic, several)
    assert counts["cases"]["whole.jpg"] > 0 and counts["cases"]["whole.jpg with bytes behind"] > 0
    assert set(counts["settled"]) >= {"mode", "stream", "unproven", "damaged", "lenient"}
    record("Pillow under the hook", "streams of the program's", PIL.__version__,
           f"{len(outcomes)} cases", "same")


def test_threads_and_forks(ask, jpegs):
    """For a minute each with STOKER_ALL=1."""
    plain, _ = ask(False, "threads.py", jpegs, 0, "alone")
    hooked, counts = ask(True, "threads.py", jpegs, 60 if ALL else 1)
    assert plain["alone"] == hooked["alone"]
    assert hooked["together"][1] == ["list", []], hooked["together"]
    assert hooked["forked_while_decoding"][1] == ["tuple", [["list", []], ["list", ["0"]]]], hooked
    assert counts["cases"]["together"] > 100 and counts["cases"]["forked_while_decoding"] > 20
    record("Pillow under the hook", "8 threads, and forks beside them", PIL.__version__,
           "a minute each" if ALL else "a second each", "same")


def test_resizes(compare, jpegs):
    count = 20_000 if ALL else 1000
    outcomes, counts = compare("resizes.py", jpegs, 0, count)
    assert len(outcomes) == count + 2
    assert counts["resized"] > count / 3
    returned = sum(outcome[0] == "returned" for outcome in outcomes.values())
    assert count / 2 < returned < count, "what Pillow refuses is asked for, too"
    record("Pillow under the hook", "resizes of other images", PIL.__version__, f"{count} cases",
           "same")


@pytest.mark.parametrize("with_store", [False, True])
def test_a_function_of_ours_that_fails_is_as_if_nothing_had_been_tried(environment, store, jpegs, with_store):
    """Each function fails once, at each entry of a hook."""
    done = subprocess.run(
        [sys.executable, "-B", HERE / "programs/faults.py", jpegs, "1" if ALL else "4"], stdin=subprocess.DEVNULL, text=True,
        env={**environment, "HOOK": "1", **(store if with_store else {})}, stdout=subprocess.PIPE, timeout=900,
        stderr=subprocess.PIPE)
    *different, failed = done.stdout.splitlines() or [""]
    assert done.returncode == 0, done.stderr[-2000:]
    assert not different, "\n".join(different[:20])
    assert "a fault" not in done.stderr, done.stderr[-2000:]
    assert int(failed.split()[0]) > (80 if with_store else 60)
