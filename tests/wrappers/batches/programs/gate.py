"""Makes children of fork wait before any code of torch's or Stoker's runs in them. Import it before torch."""

import os

ENDS = []  # the pipe's end that a child reads a byte from


def _wait():
    if ENDS:
        os.read(ENDS[0], 1)


os.register_at_fork(after_in_child=_wait)
