"""Images under the hook behave as without it, whatever a program does with them."""

import PIL
from matrix import record
from slices import ALL


def test_behaviours(compare, jpegs):
    outcomes, counts = compare("behaviours.py", jpegs)
    assert len(outcomes) > 60
    raised = {name: outcome for name, outcome in outcomes.items() if outcome[0] == "raised"}
    assert set(raised) <= {"unseekable", "closed_early", "closed_file_early", "pipe",
                           "a_decoder_of_the_program"}, raised
    assert counts["images"] > 200
    assert set(counts["settled"]) >= {"mode", "scans", "draft", "lenient", "customised"}
    record("Pillow under the hook", "behaviours", PIL.__version__, f"{len(outcomes)} cases", "same")


def test_damaged(compare, jpegs):
    outcomes, counts = compare("damaged.py", jpegs, 400 if ALL else 40)
    assert counts["settled"]["damaged"] > 200 and counts["images"] > 50
    record("Pillow under the hook", "damaged files", PIL.__version__, f"{len(outcomes)} files",
           "same")


def test_sequences(compare, jpegs):
    count = 6000 if ALL else 300
    outcomes, counts = compare("sequences.py", jpegs, 0, count)
    assert len(outcomes) == count
    assert counts["images"] > count
    record("Pillow under the hook", "random operations", PIL.__version__, f"{count} sequences",
           "same")
