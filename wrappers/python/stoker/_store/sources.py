"""Where a JPEG's pixels come from: its bytes, or its form in the sample store (samples.py).

Of a file whose identity somebody vouches for, the form is found without reading it; bytes find
theirs by what they are. Where there is no store, there are only bytes, as if nothing could be kept.
"""

import errno
import io
import os
from weakref import ref

from .. import _core
from .._slots import UNREAD, UNREAD_BYTES
from . import setting

LARGEST = 256 << 20  # bytes of a file; larger ones are read as Pillow reads them, by Pillow

_BROKEN = "broken data stream when reading image file"
_PART = 1 << 20
_MEMORY = -3

_is_ready = None

# The last file that was opened as an image by its form: (a weak reference to it, the Form).
_latest = (lambda: None), None


def is_ready():
    """Whether there is a store; opened at the first call."""
    global _is_ready
    if _is_ready is None:
        _is_ready = bool(setting()) and _attach()
    return _is_ready


def _attach():
    from . import samples
    return samples.attach()


class Bytes:
    """A JPEG in memory."""

    __slots__ = ("data", "link", "entry")

    def __init__(self, data, link=None):
        self.data = data
        self.link = link  # what stands for the file that these are all the bytes of; None: nothing
        self.entry = None  # the path of the entry that they were read from

    @property
    def head(self):
        """The file's beginning, with all of its header."""
        return self.data

    def __len__(self):
        return len(self.data)

    def frame(self):
        """(width, height, components) as far as the header tells, or None: no JPEG."""
        frame = _core.frame(self.data)
        if frame is None:
            info = _core.probe(self.data)
            frame = info and info[:3]
        return frame

    def probe(self):
        return _core.probe(self.data)

    def decode(self, order, out):
        """As _core.decode()."""
        is_ready()
        return _core.decode_kept(self.data, self.link, order, out, self.entry)

    def read(self):
        """The JPEG's bytes."""
        return self.data


class Form:
    """A JPEG that was not read, as the store has its form."""

    __slots__ = ("head", "info", "link", "state", "outline", "_form", "_size", "_name", "_counted")

    def __init__(self, found, name):
        (self.link, self._form, self.info, self.head, self._size, self.state,
         self.outline) = found
        self._name = name  # where the file was, to read it after all
        self._counted = False

    def __len__(self):
        return self._size

    def frame(self):
        return self.info[:3]

    def probe(self):
        return self.info

    def decode(self, order, out):
        """As _core.decode()."""
        result = _core.decode_form(self._form, self._size, order, out)
        if type(result) is int:
            data = self.read()
            return result if data is None else _core.decode_kept(data, self.link, order, out)
        if not self._counted:
            self._counted = True
            _core.count(UNREAD)
            _core.count(UNREAD_BYTES, self._size)
        return result

    def read(self):
        """The JPEG's bytes, if the file still is where and as it was; else None."""
        if type(self._name) is int:  # a descriptor, which would be closed
            return None
        try:
            with io.FileIO(self._name) as file:
                data = file.read() if _core.identify(file.fileno()) == self.link else None
                return data if _core.identify(file.fileno()) == self.link else None
        except (OSError, TypeError, ValueError):
            return None


class Later(io.RawIOBase):
    """A file of which the form is kept: it is opened when somebody reads it all the same, or asks for its
    descriptor."""

    def __init__(self, name, form):
        self.name, self.mode, self._form = name, "rb", form
        # Wherever the process is when it is opened.
        self._path = name if name.startswith("/") else os.path.join(os.getcwd(), name)
        self._file, self._at = None, 0
        self._inode = _inode_of(self._path)

    def _opened(self):
        if self.closed:
            raise ValueError("I/O operation on closed file")
        if self._file is None:
            file = io.FileIO(self._path)
            if not self._is_it(file):
                file.close()
                raise OSError(errno.ESTALE, "was replaced since it was opened as an image", self._path)
            file.seek(self._at)
            self._file = file
        return self._file

    def _is_it(self, file):
        """Whether that is the file that would have been opened. Of a file that is as it was, some mounts make
        up another inode number."""
        return _inode_of(file.fileno()) == self._inode or (
            _core.identify(file.fileno()) == self._form.link)

    def form(self):
        """The Form, if what would have been opened has its bytes, else None: a file that was removed or
        replaced since has, one that was written to has not."""
        if self._file is not None or self.closed:
            return None
        is_written = (_core.identify_path(self._path) != self._form.link
                      and _inode_of(self._path) == self._inode)
        return None if is_written else self._form

    def readable(self):
        return True

    def seekable(self):
        return True

    def readinto(self, buffer):
        return self._opened().readinto(buffer)

    def seek(self, offset, whence=os.SEEK_SET):
        if self._file is None and whence == os.SEEK_SET and offset >= 0 and not self.closed:
            self._at = offset
            return offset
        return self._opened().seek(offset, whence)

    def tell(self):
        return self._at if self._file is None else self._file.tell()

    def fileno(self):
        return self._opened().fileno()

    def isatty(self):
        return False

    def close(self):
        if self._file is not None:
            self._file.close()
        super().close()


def _inode_of(file):
    """Of a path or a descriptor. None: nothing is there. The preload knows it."""
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def form_of_name(name):
    """The Form of a covered file that has no entry, without opening it; else None."""
    found = _core.find_path(name) if is_ready() else None
    return None if found is None else Form(found, name)


def later(name, form):
    """What stands for that file, as open() would give it."""
    _core.tell_served(name)
    return io.BufferedReader(Later(name, form))


def is_later(file):
    return type(file) is io.BufferedReader and type(file.raw) is Later


def is_plain(file):
    """Whether its descriptor tells what is read of it: a file of io's own with nothing replaced.
    Any other may be a part of what its descriptor is."""
    raw = file
    if type(file) is io.BufferedReader:
        raw = file.raw
        if file.__dict__:
            return False
    if type(raw) is not io.FileIO:
        return False
    own = raw.__dict__
    return not own or (len(own) == 1 and "name" in own)  # which io.open() itself notes


def form_of(file):
    """The Form of an open file; where there is none, (what stands for the file, whether it is an entry),
    or None."""
    return plain_form_of(file) if is_ready() and is_plain(file) else None


def plain_form_of(file):
    """The same of a file that is plain, where there is a store."""
    found = _core.find(file.fileno())
    return found if found is None or len(found) == 2 else Form(found, file.name)


def note_form(file, form):
    """An image was opened by this form of this file: it is mostly loaded next."""
    global _latest
    _latest = ref(file), form


def noted_form(file):
    """The Form of the file for which it was noted last, if nothing was written to that since; else
    None."""
    noted, form = _latest
    if is_later(file):
        return file.raw.form()
    if noted() is not file:
        return None
    return form if is_plain(file) and _core.holds(file.fileno(), form.state) else None


def of_file(file):
    """The source of an open file, or None where it is better read by Pillow; if it is read, it is read from
    its beginning, and left anywhere."""
    found = form_of(file)
    if type(found) is Form:
        return found
    size = _core.file_bytes(file.fileno())
    if size is None or size > LARGEST:
        return None
    data = _read(file.fileno(), size)
    return Bytes(data, _link_behind(file, data, found))


def _read(fd, likely):
    """What a regular file has, and not what a buffer has of it; where it is as long as it seems to be, by one
    call, and without asking a server for its length."""
    data = os.pread(fd, likely + 1, 0)
    if len(data) == likely:
        return data
    parts, size = [data], len(data)
    while parts[-1]:
        parts.append(os.pread(fd, _PART, size))
        size += len(parts[-1])
    return b"".join(parts)


def _link_behind(file, data, found):
    """What stood for the file before it was read, if it still does, and that is of use: to be sure may be a
    question to a server."""
    if found is None:
        return None
    link, is_entry = found
    is_wanted = is_entry or _core.wants_link(data)
    return link if is_wanted and _core.identify(file.fileno()) == link else None


def tell_decoded(file, source):
    """What was opened so is decoded, of this source: nobody gets to see its bytes."""
    if is_ready() and is_plain(file):
        entry = _core.tell_decoded(file.fileno(), type(source) is Form)
        if entry is not None:
            source.entry = entry


def of_path(path):
    form = form_of_name(path) if open is io.open else None
    if form is not None:
        _core.tell_served(path)
        return form
    with open(path, "rb", buffering=0) as file:
        source = of_file(file) if is_plain(file) else None
        if source is None:
            if file.seekable():
                file.seek(0)
            return Bytes(file.read())
        tell_decoded(file, source)
        return source


def error_of(status):
    """What Pillow would raise."""
    return MemoryError() if status == _MEMORY else OSError(_BROKEN)
