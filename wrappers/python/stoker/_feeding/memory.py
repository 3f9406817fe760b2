"""The memory that a batch's files lie in until they are decoded."""

from .. import _core

_LIKELY_BYTES = 128 << 10  # of a file, before any was seen


class FileMemory:
    """Of so many batches, given again from one to the next, and from epoch to epoch. What is not filled
    of it is no memory of the system's."""

    def __init__(self, most):
        self._stock = _core.feed_stock(most, False)
        self._each = _LIKELY_BYTES

    def take(self, count):
        """For a batch of so many files; None where there is none in one piece, which files do without."""
        try:
            return self._stock.take(count * self._each)
        except MemoryError:
            return None

    def learn(self, wanted, count):
        """That so many files would have filled so many bytes: the next ones are to fit."""
        if wanted > count * self._each:
            self._each = (wanted + wanted // 8) // count
