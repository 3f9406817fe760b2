"""What waits for its mark on a device, in the order of the marks.

Several threads may take from one such row, each for a pass of its own, without a lock: what is asked
for is out of it meanwhile, so nobody else takes it, or what follows it in its place.
"""


def past(row):
    """Takes what is past out of a deque of (mark, ...), from its beginning."""
    while row:
        try:
            first = row.popleft()
        except IndexError:  # another thread was faster
            return
        is_past = False
        try:
            is_past = first[0].query()
        finally:
            if not is_past:
                row.appendleft(first)
        if not is_past:
            return
        yield first
