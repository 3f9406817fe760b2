"""Looks at a batch of a Feed, leaves it after four, and goes through it.

    leave.py PATH...
"""

import itertools
import sys

from stoker._feed import Feed

feed = Feed(sys.argv[1:], batch_size=1, transform=lambda image: image.resize((8, 8)))
next(iter(feed))
assert len(list(itertools.islice(feed, 4))) == 4
assert len(list(feed)) == len(sys.argv) - 1
