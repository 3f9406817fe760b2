"""A JPEG's pixels come from its bytes, or from its form in the sample store (samples.py).

If the preload library knows a file's version, the form is found without reading the file. Bytes find their form by
their hash. Without a store there are only bytes.
"""

import errno
import functools
import io
import os
import stat
from weakref import ref

from .. import _core
from . import setting

LARGEST = 256 << 20  # bytes of a file; Pillow itself reads larger files

_BROKEN = "broken data stream when reading image file"
_JPEG, _PNG = b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n"
_PART = 1 << 20
_MEMORY = -3

# The last file that was opened as an image by its form: (a weak reference to it, the Form).
_latest = (lambda: None), None


@functools.cache
def is_ready():
    """Returns true if there is a store. The first call opens it."""
    return bool(setting()) and _attach()


def _attach():
    from . import samples
    return samples.attach()


class Bytes:
    """A JPEG in memory."""

    __slots__ = ("data", "link", "entry", "form", "was_stored")

    def __init__(self, data, link=None):
        self.data = data
        self.link = link  # the file's link, if these are all of its bytes; None: the file has no link
        self.entry = None  # the path of the entry that they were read from
        self.form = None  # the form, once it had to be found or made as a proof
        self.was_stored = True  # the form was in the store before

    @property
    def head(self):
        """Returns the file's beginning, with all of its header."""
        return self.data

    def __len__(self):
        return len(self.data)

    def frame(self):
        """Returns (width, height, components) of the header, or None if the bytes are no JPEG."""
        frame = _core.frame(self.data)
        if frame is None:
            info = _core.examine(self.data)
            frame = info and info[:3]
        return frame

    def examine(self):
        """Returns the result of _core.examine(), which reads all of the bytes. Their form says the same."""
        return self.link is None and self._examined() or _core.examine(self.data)

    def _examined(self):
        """Returns what the stored form of the bytes says, or None. The form is kept to be decoded."""
        found = _core.form_of(self.data) if self.form is None and is_ready() else None
        if found is None:
            return None
        self.form, info = found
        return info

    def is_png(self):
        return self.data[:len(_PNG)] == _PNG

    def proven(self, info):
        """Returns what examine() says of a file of several scans, which is sound if there is a form of it."""
        is_ready()
        made = _core.make_form(self.data, self.link, self.entry)
        if made is not None:
            self.form, self.was_stored = made
        return info[:9] + (int(made is not None),)

    def is_certain(self):
        """Returns true if the JPEG was decoded before, so that it has a form. Decoding it cannot fail."""
        if self.form is not None or not is_ready():
            return self.form is not None
        if self.link is None:  # the store learns of a file's link when it is decoded by its bytes
            return self._examined() is not None
        return _core.form_of(self.data) is not None

    def decode(self, request, out):
        """Returns the result of _core.decode()."""
        is_ready()
        if self.form is not None:
            result = _core.decode_form(self.form, len(self.data) if self.was_stored else 0, request, out)
            if type(result) is not int:
                return result
        return _core.decode_stored(self.data, self.link, request, out, self.entry)

    def read(self):
        """Returns the JPEG's bytes."""
        return self.data


class Form:
    """A JPEG whose file is not read, since the store has its form."""

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

    def is_png(self):
        """Returns false: only JPEGs have forms."""
        return False

    def is_certain(self):
        """Returns true: its file was decoded before."""
        return True

    def examine(self):
        return self.info

    def decode(self, request, out):
        """Returns the result of _core.decode()."""
        result = _core.decode_form(self._form, self._size, request, out)
        if type(result) is int:
            data = self.read()
            return result if data is None else _core.decode_stored(data, self.link, request, out)
        if not self._counted:
            self._counted = True
            _core.count(_core.UNREAD)
            _core.count(_core.UNREAD_BYTES, self._size)
        return result

    def read(self):
        """Returns the JPEG's bytes, or None if the file has changed or is no longer at its path."""
        if type(self._name) is int:  # a descriptor, which would be closed
            return None
        try:
            with io.FileIO(self._name) as file:
                data = file.read() if _core.identify(file.fileno()) == self.link else None
                return data if _core.identify(file.fileno()) == self.link else None
        except (OSError, TypeError, ValueError):
            return None


class LazyFile(io.RawIOBase):
    """A file whose form is stored. It is opened when the program reads it all the same, or takes its
    descriptor."""

    def __init__(self, name, form):
        self.name, self.mode, self._form = name, "rb", form
        # Absolute: the process may change its directory before the file is opened.
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
        """Returns true if the open file is the file that had this name at the start. Its inode number is compared, and
        then its link, since some mounts make up another number for an unchanged file."""
        return _inode_of(file.fileno()) == self._inode or (
            _core.identify(file.fileno()) == self._form.link)

    def form(self):
        """Returns the Form, or None if the file was written to. A file that was removed or replaced keeps its Form:
        an open descriptor would still read the old bytes."""
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
    """Returns (device, inode) of a path or a descriptor, or None if nothing is there. The preload library answers for
    a cached file, without the origin."""
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def form_of_name(name):
    """Returns the Form of a covered file that has no entry, without opening the file; else None."""
    found = _core.find_path(name) if is_ready() else None
    return None if found is None else Form(found, name)


def lazy_file(name, form):
    """Returns the file as open() would return it, without opening it."""
    _core.tell_served(name)
    return io.BufferedReader(LazyFile(name, form))


def is_lazy(file):
    return type(file) is io.BufferedReader and type(file.raw) is LazyFile


def is_plain(file):
    """Returns true for a file of io's own classes without replaced methods: its descriptor then has the bytes that
    are read of it. Any other file object may be a part of the descriptor's file."""
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
    """Returns the Form of an open file. Without a Form, returns (the file's link, true for an entry), or None."""
    return plain_form_of(file) if is_ready() and is_plain(file) else None


def plain_form_of(file):
    """Returns the result of form_of() for a plain file, where there is a store."""
    found = _core.find(file.fileno())
    return found if found is None or len(found) == 2 else Form(found, file.name)


def note_form(file, form):
    """Notes the form by which an image of this file was opened. The image is mostly loaded next."""
    global _latest
    _latest = ref(file), form


def noted_form(file):
    """Returns the noted Form, if it is this file's and nothing was written to the file since; else None."""
    noted, form = _latest
    if is_lazy(file):
        return file.raw.form()
    if noted() is not file:
        return None
    return form if is_plain(file) and _core.holds(file.fileno(), form.state) else None


def of_file(file, firsts=()):
    """Returns the source of an open file, or None if Pillow should read it. The file is read from its beginning, and
    its position afterwards is undefined. If a file without a form begins with none of `firsts`, the result is None."""
    found = form_of(file)
    if type(found) is Form:
        return found
    size = _core.file_bytes(file.fileno())
    if size is None or size > LARGEST or (
            firsts and not os.pread(file.fileno(), len(_PNG), 0).startswith(firsts)):
        return None
    data = _read(file.fileno(), size)
    return Bytes(data, _link_behind(file, data, found))


def _read(fd, likely):
    """Returns the bytes of a regular file, past any buffer. If the file has the likely length, one call is enough, and
    no server is asked for the length."""
    data = os.pread(fd, likely + 1, 0)
    if len(data) == likely:
        return data
    parts, size = [data], len(data)
    while parts[-1]:
        parts.append(os.pread(fd, _PART, size))
        size += len(parts[-1])
    return b"".join(parts)


def _link_behind(file, data, found):
    """Returns the link that the file had before it was read, if it still has it. Returns None if the link is of no
    use: the check may ask a server."""
    if found is None:
        return None
    link, is_entry = found
    is_wanted = is_entry or _core.wants_link(data)
    return link if is_wanted and _core.identify(file.fileno()) == link else None


def tell_decoded(file, source):
    """Notes that the open file is decoded from this source, so the program does not see its bytes."""
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


def image_of_path(path):
    """Returns the source of a regular file that is a JPEG or a PNG, or None. Raises OSError. Nothing else is opened: of
    a pipe the bytes would be gone."""
    form = form_of_name(path)
    if form is not None:
        _core.tell_served(path)
        return form
    if not stat.S_ISREG(os.stat(path).st_mode):
        return None
    with io.FileIO(path) as file:
        source = of_file(file, (_JPEG, _PNG))
        if source is not None and not source.is_png():
            tell_decoded(file, source)
        return source


def image_of_memory(data):
    """Returns the source of a memoryview of bytes that are a JPEG or a PNG, or None."""
    return Bytes(data) if bytes(data[:len(_PNG)]).startswith((_JPEG, _PNG)) and len(data) <= LARGEST else None


def error_of(status):
    """Returns the error that Pillow would raise."""
    return MemoryError() if status == _MEMORY else OSError(_BROKEN)
