"""One batch: first its files are read, then it is planned, then decoded; at last it is handed out."""

from torch.utils.data import default_collate

from .layout import layout_of
from .pixels import Maker, Noted


class Batch:
    """Of the images with these places in a Feed, by Files of the crew's that are idle. What goes wrong is
    kept for result(), so that it is met at its batch, and the next ones go on."""

    def __init__(self, feed, files, indices):
        self._feed = feed
        self._indices = indices
        self._rows = self._layout = self._memory = self._error = None
        self.files = files
        self.is_planned = False
        try:
            self._paths = [feed.paths[i] for i in indices]
            files.read(self._paths)
        except Exception as error:
            self._error, self.is_planned = error, True

    def plan(self, numbers):
        """Draws the images' numbers, and has threads do the rest. To be called when the files are done."""
        self.is_planned = True
        self._error = RuntimeError("this batch was interrupted")  # as by a signal's handler
        try:
            self._rows = self._drawn(numbers)
            self._begin()
            self._error = None
        except Exception as error:
            self._error = error

    def _drawn(self, numbers):
        maker = Maker(self._feed.transforms)
        rows, path = [], None
        with numbers.drawn(not maker.is_known):
            try:
                for path, head in zip(self._paths, self.files.heads()):
                    rows.append(maker.make(path, head))
            except Exception as error:
                raise _told(error, path)
        return rows

    def _begin(self):
        self._layout = layout = layout_of(self._rows)
        if layout is None:
            return
        self._memory = self._feed.stock.take(len(self._rows) * layout.row_bytes)
        orders = [row.order(layout.end) if type(row) is Noted else None for row in self._rows]
        self.files.decode(orders, self._memory, layout.row_bytes)

    def result(self):
        """(images, labels) of a batch that was planned and whose files are done, once."""
        error, self._error = self._error, None
        if error is not None:
            try:
                raise error
            finally:
                del error
        images = self._collated() if self._layout is None else self._finished()
        return images, self._labels()

    def _labels(self):
        labels = self._feed.labels
        return None if labels is None else default_collate(tuple(labels[i] for i in self._indices))

    def _collated(self):
        return default_collate(tuple(self._made(i) if type(row) is Noted else row
                                     for i, row in enumerate(self._rows)))

    def _finished(self):
        """What threads could not do is done here."""
        images = self._layout.batch(len(self._rows), self._memory)
        for i, row in enumerate(self._rows):
            if type(row) is not Noted:
                images[i].copy_(row)
        for i in self.files.failed():
            images[i].copy_(self._made(i))
        return images

    def _made(self, i):
        try:
            return self._rows[i].done()
        except Exception as error:
            raise _told(error, self._paths[i])


def _told(error, path):
    """The error, with the path in what is said of it."""
    if str(path) not in str(error):
        error.add_note(f"in the image {path}")
    return error
