"""Which tests run: a slice, or all of them."""

import os

ALL = os.environ.get("STOKER_ALL") == "1"


def crossed(ones, others):
    """Returns pairs for parametrize: the first with each of the others, and each with one of the others in turn. With
    STOKER_ALL=1, all pairs. For two things that do not meet in the code."""
    others = list(others)
    return [(one, other) for number, one in enumerate(ones) for turn, other in enumerate(others)
            if ALL or number == 0 or number % len(others) == turn]
