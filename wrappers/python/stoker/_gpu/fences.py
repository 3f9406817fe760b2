"""Rows of items that wait for their fences on a device, in the order of the fences.

Several threads may take from one row, each for a pass of its own, without a lock. An item is out of the row while its
fence is checked, so no other thread takes it, or takes a later item first.
"""


def passed(row):
    """Takes items (fence, ...) whose fences are past out of a deque, from its beginning, and yields them."""
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
