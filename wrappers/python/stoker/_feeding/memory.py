"""The memory that holds a batch's files until they are decoded."""

from .. import _core

_LIKELY_BYTES = 128 << 10  # of a file, until a batch was read


class FileMemory:
    """The memory of so many batches, which is used again from batch to batch and from epoch to epoch. Pages that are
    not filled take no memory of the system."""

    def __init__(self, most):
        self._buffer_pool = _core.feed_buffer_pool(most, False)
        self._each = _LIKELY_BYTES

    def take(self, count):
        """Returns memory for a batch of so many files, or None if there is no such piece. Files do without it."""
        try:
            return self._buffer_pool.take(count * self._each)
        except MemoryError:
            return None

    def learn(self, wanted, count):
        """Notes that `count` files wanted so many bytes in all, so that the next batches fit."""
        if wanted > count * self._each:
            self._each = (wanted + wanted // 8) // count
