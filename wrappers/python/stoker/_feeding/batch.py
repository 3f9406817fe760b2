"""One batch: its files are read, then it is planned, then decoded, and at last handed out."""

from torch.utils.data import default_collate

from .layout import layout_of
from .pixels import Changed, Maker, PlannedImage


class Batch:
    """The images with these places in a Feed, read and decoded by idle Files of the thread pool. An error is kept for
    result(), so that it is raised at its batch, and further batches go on."""

    def __init__(self, feed, files, indices):
        self._feed = feed
        self._indices = indices
        self._rows = {}  # {place: a row that Python drew}; threads drew all others
        self._maker = self._layout = self._memory = self._error = None
        self.files = files
        self.is_planned = False
        try:
            self._paths = [feed.paths[i] for i in indices]
            files.read(self._paths, feed.files.take(len(self._paths)))
        except Exception as error:
            self._error, self.is_planned = error, True

    def __len__(self):
        return len(self._indices)

    def plan(self, rng):
        """Draws the images' random numbers, and lets threads do the rest. Called when the files are done."""
        self.is_planned = True
        self._error = RuntimeError("this batch was interrupted")  # as by a signal's handler
        try:
            self._feed.files.learn(self.files.wanted(), len(self._paths))
            self._draw(rng)
            self._begin()
            self._error = None
        except Exception as error:
            self._error = error

    def _draw(self, rng):
        """Draws in the images' order: without Python as far as possible, else one by one."""
        maker = self._maker = Maker(self._feed.transforms)
        at, count, is_easy = 0, len(self._paths), maker.can_draw()
        while at < count:
            if is_easy:
                at = maker.draw(at, self.files, rng.memory)
                if at < count and maker.learn(self.files.head(at)):
                    continue
            end = min(at + 1, count) if is_easy else count
            with rng.drawn(not maker.is_known):
                for at in range(at, end):
                    self._rows[at] = self._row(at)
            at = end

    def _row(self, i):
        """Returns a PlannedImage, or the transforms' result."""
        try:
            return self._maker.make(self._paths[i], self.files.head(i))
        except Exception as error:
            raise _with_path(error, self._paths[i])

    def _begin(self):
        self._layout = layout = self._find_layout()
        if layout is None:
            return
        self._memory = self._feed.buffer_pool.take(len(self._paths) * layout.row_bytes)
        requests = {i: row.request(layout.end) for i, row in self._rows.items() if type(row) is PlannedImage}
        self.files.decode(requests, layout.end, self._memory, layout.row_bytes)

    def _find_layout(self):
        """Returns the Layout, or None if the images have no common one."""
        drawn = ()
        if len(self._rows) < len(self._paths):
            size = self.files.drawn_size()
            if size is None:
                return None
            drawn = self._maker.tail, size
        return layout_of(self._rows.values(), drawn)

    def result(self):
        """Returns (images, labels), once, of a planned batch whose files are done."""
        error, self._error = self._error, None
        if error is not None:
            try:
                raise error
            finally:
                del error
        return self._images(), self._labels()

    def _images(self):
        return self._collated() if self._layout is None else self._finished()

    def _labels(self):
        labels = self._feed.labels
        return None if labels is None else default_collate(tuple(labels[i] for i in self._indices))

    def _collated(self):
        return default_collate(tuple(self._made(i) for i in range(len(self._paths))))

    def _finished(self):
        """Returns the decoded batch. Makes the images here that threads could not decode."""
        images = self._layout.batch(len(self._paths), self._memory)
        for i, row in self._rows.items():
            if type(row) is not PlannedImage:
                images[i].copy_(row)
        for i in self.files.failed():
            images[i].copy_(self._made(i))
        return images

    def _noted_row(self, i):
        row = self._rows.get(i)
        if row is None:
            row = self._maker.noted(self._paths[i], self.files.head(i)[:2], self.files.drawn(i))
        return row

    def _made(self, i):
        row = self._noted_row(i)
        if type(row) is not PlannedImage:
            return row
        try:
            return self._done(row, self._paths[i])
        except Exception as error:
            raise _with_path(error, self._paths[i])

    def _done(self, row, path):
        try:
            return row.done()
        except Changed:
            return self._maker.opened(path)


def _with_path(error, path):
    """Returns the error with the path in its message. Before Python 3.11 there are no notes."""
    if str(path) not in str(error):
        note = f"in the image {path}"
        if hasattr(error, "add_note"):
            error.add_note(note)
        elif len(error.args) == 1 and isinstance(error.args[0], str):
            error.args = f"{error.args[0]}\n{note}",
    return error
