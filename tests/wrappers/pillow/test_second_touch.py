"""The hook with a sample store: what was decoded before begins at its form, and mostly unread."""

import PIL
from matrix import record
from slices import ALL

from test_behaviours import IDLE, OPTIONAL


def test_behaviours(compare, jpegs, store):
    outcomes, counts = compare("behaviours.py", jpegs, touches=2, env=store)
    assert counts["from_forms"] > 200 and counts["unread"] > 100 and counts["forms"] < 20
    absent = {name for name in OPTIONAL if outcomes[name][1] is None}
    idle = {name for name, images in counts["cases"].items() if images == 0}
    assert idle <= IDLE | absent, "nothing was decoded here"
    record("Pillow under the hook", "behaviours, from forms", PIL.__version__,
           f"{len(outcomes)} cases", "same")


def test_damaged(compare, jpegs, store):
    outcomes, counts = compare("damaged.py", jpegs, *((400, 50) if ALL else (28, 25)), touches=2, env=store)
    assert counts["settled"]["damaged"] > 200 and counts["from_forms"] > 20
    record("Pillow under the hook", "damaged files, from forms", PIL.__version__,
           f"{len(outcomes)} files", "same")


def test_lenient(compare, jpegs, store):
    ways = 3 if ALL else 1
    outcomes, counts = compare("lenient.py", jpegs, ways, touches=2, env=store)
    assert counts["cases"]["color.jpg, sound"] >= 8 * ways
    assert counts["from_forms"] > 170 * ways and counts["settled"]["lenient"] > 100
    record("Pillow under the hook", "LOAD_TRUNCATED_IMAGES, from forms", PIL.__version__,
           f"{len(outcomes)} files", "same")


def test_sequences(compare, jpegs, store):
    count = 6000 if ALL else 300
    outcomes, counts = compare("sequences.py", jpegs, 0, count, touches=2, env=store)
    assert len(outcomes) == count
    assert counts["from_forms"] > count and counts["unread"] > count / 3
    record("Pillow under the hook", "random operations, from forms", PIL.__version__,
           f"{count} sequences", "same")


def test_threads_and_forks(ask, jpegs, store):
    plain, _ = ask(False, "threads.py", jpegs, 0, "alone")
    hooked, counts = ask(True, "threads.py", jpegs, 60 if ALL else 1, env=store)
    assert plain["alone"] == hooked["alone"]
    assert hooked["together"][1] == ["list", []], hooked["together"]
    assert hooked["forked_while_decoding"][1] == ["tuple", [["list", []], ["list", ["0"]]]], hooked
    assert counts["from_forms"] > 100 and counts["unread_cases"]["together"] > 50
    record("Pillow under the hook", "8 threads, and forks beside them, from forms", PIL.__version__,
           "a minute each" if ALL else "a second each", "same")


# Where Pillow reads the file itself: the program has changed how, no pixels are wanted, or the file
# has just changed.
READ = {"another_factory", "another_marker", "another_open", "another_opener",
        "another_way_to_read", "bombs", "by_like", "closed_in_between",
        "descriptors_are_given_back", "drafts", "for_its_own_name", "in_contexts",
        "linked_and_renamed", "named_formats", "names_of_builtins", "no_image",
        "replaced_in_between", "thumbnails", "unclosed_files", "verified", "what_it_is",
        "wrong_arguments"}


def test_opening(compare, jpegs, odd, store):
    outcomes, counts = compare("opened.py", jpegs, odd, touches=2, env=store)
    assert len(outcomes) > 30
    assert counts["unread"] > 200 and counts["forms"] == 0
    read = {name for name, unread in counts["unread_cases"].items() if unread == 0}
    assert read <= READ, "nothing was taken from a form here"
    record("Pillow under the hook", "opening, from forms", PIL.__version__,
           f"{len(outcomes)} cases", "same")


# Left to Pillow: no pixels are wanted, it is not decoded here, or the file has just been written.
PARSED = {"another_class", "everything of cmyk", "everything of grey", "orders", "warnings_of_exif",
          "several_at_once"}


def test_headers(compare, headers, store):
    outcomes, counts = compare("headers.py", headers, touches=2, env=store)
    assert len(outcomes) > 40 and counts["forms"] < 10
    read = {name for name, unread in counts["unread_cases"].items() if unread == 0}
    assert read <= PARSED, "nothing was taken from a form here"
    record("Pillow under the hook", "headers that were parsed before", PIL.__version__,
           f"{len(outcomes)} cases", "same")
