"""Pixels are made where and when Pillow makes them, in each case in which a program can see it."""

import pytest

MOST = 64  # more images than that never wait


def results(outcomes):
    """Returns each case's result, with lists in the place of tuples."""
    assert all(outcome[0] == "returned" for outcome in outcomes.values()), outcomes

    def plain(value):
        if isinstance(value, list) and len(value) == 2 and value[0] in ("list", "tuple"):
            return [plain(each) for each in value[1]]
        return ({name: plain(each) for name, each in value.items()} if isinstance(value, dict)
                else value)
    return {name: plain(outcome[1]) for name, outcome in outcomes.items()}


@pytest.fixture(scope="module")
def told(ask, jpegs):
    return results(ask(True, "waits.py", jpegs)[0])


def test_in_the_main_thread_only_load_decodes(told):
    found = dict(told["in_the_main_thread"])
    assert found.pop("load") == [1, 0]
    assert set(map(tuple, found.values())) == {(0, 1)}, found


def test_an_image_with_a_form_waits_behind_load(ask, jpegs, store, told):
    """In the main thread, if the result of load() is dropped: pixels that were decoded before cannot fail."""
    for _ in range(2):
        again = results(ask(True, "waits.py", jpegs, env=store)[0])
    assert set(map(tuple, told["behind_load"].values())) == {(1, 0)}
    assert again["behind_load"] == {
        "file": [0, 1], "bytes": [0, 1], "thread": [1, 0], "result kept": [1, 0]}
    for found in told, again:
        first, second, third, fourth = found["pixels_behind_load"]
        assert (first, second) == ([1, 2, 3], [9, 8, 7]) and third == fourth


def test_another_thread_hands_over_pixels(told):
    found = told["in_another_thread"]
    assert len(found) == 8 and set(map(tuple, found.values())) == {(1, 0)}, found


def test_the_only_thread_of_a_child_is_its_main_thread(told):
    assert told["in_a_thread_that_forked"] == [0, 1]


def test_what_the_parent_keeps_is_decoded_there_once(told):
    made, workers = told["kept_by_the_parent"]
    assert made >= 150 - MOST
    assert workers == [[0, 0, 0]] * 3


def test_what_was_only_opened_is_left_alone(told):
    """The workers load it, as without the hook; and then have it."""
    made, forked, epochs = told["opened_by_the_parent"]
    assert (made, forked) == (0, 0)
    assert epochs == [3, 3, 0]


def test_several_uses_are_expected(told):
    """After eight images in a row. Then of 32 images one waits, and one crop of that ends it."""
    first, then, around, *rest = told["used_several_times"]
    assert first == [2] * 8 and set(then) == {1}
    assert sorted(around) == [1, 1, 1, 2], around
    assert rest == [[1], [1, 1], [1] * 28, [2]]


def test_what_is_thrown_away_is_never_decoded(told):
    assert told["thrown_away"] == 0


def test_errors_come_where_the_pixels_are_wanted(told):
    assert told["damaged"][0] == "raised", told["damaged"]
