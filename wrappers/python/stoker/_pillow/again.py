"""Foretells if a program will use an image more than once: it has done so with the images before.

Its pixels are then made at once. Otherwise a part of the image would be decoded for the first use, and all of it for the
second.
"""

_ENOUGH = 8  # images in a row that were used again
_PROBE = 32  # of so many images one waits, which shows if it still is so

_row = 0  # images in a row that were used again
_was_again = False  # the last one was, or is taken to be


def is_expected(plan):
    """Returns true if the image of a plan, which is about to be used for the first time, will be used again."""
    global _row, _was_again
    if plan.is_counted:
        return False
    plan.is_counted = True
    _row = _row + 1 if _was_again else 0
    _was_again = _row >= _ENOUGH and _row % _PROBE != 0
    return _was_again


def note():
    """Notes that an image is used again."""
    global _was_again
    _was_again = True
