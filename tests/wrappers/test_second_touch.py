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
    outcomes, counts = compare("damaged.py", jpegs, 400 if ALL else 40, touches=2, env=store)
    assert counts["settled"]["damaged"] > 200 and counts["from_forms"] > 20
    record("Pillow under the hook", "damaged files, from forms", PIL.__version__,
           f"{len(outcomes)} files", "same")


def test_sequences(compare, jpegs, store):
    count = 6000 if ALL else 300
    outcomes, counts = compare("sequences.py", jpegs, 0, count, touches=2, env=store)
    assert len(outcomes) == count
    assert counts["from_forms"] > count and counts["unread"] > count / 3
    record("Pillow under the hook", "random operations, from forms", PIL.__version__,
           f"{count} sequences", "same")
