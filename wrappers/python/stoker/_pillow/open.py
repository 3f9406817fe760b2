"""Image.open() of a file whose form is in the sample store: its header comes from the form.

Pillow's own open() does the work, as ever, on a stand-in that holds the file's first bytes. The
image then gets the file itself, where Pillow would have left it. It is a plain file of io's own,
opened by Pillow or given to it with nothing read yet. In any doubt, and for every error, Pillow
opens the file itself once more.
"""

import builtins
import io
import os
import threading
import types
from itertools import chain

from PIL import Image, JpegImagePlugin

from .. import _core
from .._own import is_own
from .._store import sources
from . import headers, take, versions

_PLAIN = versions.PLAIN
_Jpeg = JpegImagePlugin.JpegImageFile
_PATHS = (str, bytes, os.PathLike)
_plugin = JpegImagePlugin.jpeg_factory, JpegImagePlugin._accept
_plugins = None
_MOST = 64


class _Turn:
    """One Image.open() by a path: the first file that is opened in it is looked at."""

    __slots__ = ("wanted", "ahead", "found")

    def __init__(self, ahead=None):
        self.wanted = True
        self.ahead = ahead  # what its open() gives, if that was called before
        self.found = None  # (file, form, stand-in) of it

    def opened(self, file, *arguments, **named):
        """Returns what Pillow's open() of a file returns."""
        if self.ahead is not None:
            return self.ahead
        if type(file) is str and arguments == ("rb",) and not named:
            return self.take(*_opened(file))
        return self.look_at(builtins.open(file, *arguments, **named))

    def look_at(self, file):
        """What Pillow gets in the place of a file."""
        return self.take(file, _form_of(file))

    def take(self, file, form):
        return file if form is None else self.stand_in(file, form)

    def stand_in(self, file, form):
        stand_in = _stand_in(form)
        self.found = file, form, stand_in
        return stand_in


class _Thread(threading.local):
    turn = None  # of the innermost Image.open(): plugins and names of the program's may open more


_thread = _Thread()


class _Builtins(types.ModuleType):
    """The builtins as PIL.Image sees them."""

    def __getattr__(self, name):
        return getattr(builtins, name)

    @staticmethod
    def open(file, *arguments, **named):
        turn = _thread.turn
        if turn is None or not turn.wanted:
            return builtins.open(file, *arguments, **named)
        turn.wanted = False
        try:
            return turn.opened(file, *arguments, **named)
        except OSError:  # an error of the file itself
            raise
        except Exception as error:
            if not is_own(error):
                raise
        return builtins.open(file, *arguments, **named)


class _Plugins:
    """What of Pillow's decides who opens a file, and how, as long as it is the same."""

    def __init__(self):
        names, plugins = Image.ID, Image.OPEN
        self.seen = (Image, ("ID", names, "OPEN", plugins), names, tuple(names),
                     plugins, tuple(chain.from_iterable(list(plugins.items())))) + headers.OWN_PARTS
        self.is_own = (_core.are_as_seen(headers.OWN_PARTS) and "JPEG" in names
                       and plugins["JPEG"] == _plugin)
        before = names[:names.index("JPEG")] if self.is_own else ()
        self.accepts = [plugins[name.upper()][1] for name in before]
        self.known = {}  # what they say to files with these first bytes, if they are all Pillow's

    def are_there(self):
        """If they are not Pillow's own, they may be again."""
        return self.is_own and _core.are_as_seen(self.seen)

    def let_pass(self, prefix):
        """Whether none of those before Pillow's own for JPEGs wants to see such a file."""
        passed = self.known.get(prefix)
        if passed is None:
            passed = not any(not accept or accept(prefix) for accept in self.accepts)
            if len(self.known) < _MOST and all(map(_is_of_pillow, self.accepts)):
                self.known[prefix] = passed
        return passed


def _is_of_pillow(function):
    return getattr(function, "__module__", "").startswith("PIL.")


def _is_pillows(prefix):
    """Whether Pillow's own plugin is the first that wants to see a file with these first bytes."""
    global _plugins
    plugins = _plugins
    if plugins is None or not plugins.are_there():
        plugins = _plugins = _Plugins()
    return plugins.is_own and plugins.let_pass(prefix)


def _form_of(file):
    """The Form of a file that is to be opened, if its image can be made of it; else None."""
    if type(file) is not io.BufferedReader:
        return None
    try:
        if not sources.is_plain(file) or file.raw.tell() or file.tell():
            return None
        form = sources.plain_form_of(file)
        return form if type(form) is sources.Form and _is_taken(form) else None
    except Exception:  # Pillow meets it once more, and says it
        return None


def _form_of_name(name):
    """The same of a file that need not be opened."""
    try:
        form = sources.form_of_name(name)
        return form if form is not None and _is_taken(form) else None
    except Exception:  # Pillow meets it once more, and says it
        return None


def _is_taken(form):
    """Whether loading it would not read the file, either. Of MPO files more than the header is
    looked at."""
    if headers.knows(form):
        return take.sampled_size(form) is not None and _is_pillows(form.head[:16])
    return (take.picture_size(form) is not None and b"MPF\0" not in form.head
            and _is_pillows(form.head[:16]))


def _stand_in(form):
    """A file that begins as the form's. Who reads on behind the header ends in another place."""
    return io.BytesIO(form.head + b"\0")


def _finish(image, file, form, stand_in):
    """Gives the image its file; whether all is as it has to be."""
    if (type(image) is not _Jpeg or image.fp is not stand_in or len(image.tile) != 1
            or stand_in.closed or stand_in.tell() != len(form.head)):
        return False
    file.seek(len(form.head))
    image.fp = file
    sources.note_form(file, form)
    headers.note(form, image)
    return True


def _opened(name):
    """(the file of that name, its Form or None). Where there is no entry, but a form, nothing is opened:
    that would be a question to the origin."""
    form = _form_of_name(name)
    if form is not None:
        return sources.later(name, form), form
    file = builtins.open(name, "rb")
    return file, _form_of(file)


def _open_by_name(name):
    """(the image, or None; a turn that begins with the file) of a name that is a str."""
    file, form = _opened(name)
    turn = _Turn(file)
    if form is None:
        return None, turn
    image = _known_image(form, file, name)
    if image is None:
        turn.ahead = turn.stand_in(file, form)
    return image, turn


def _known_image(form, file, name=""):
    """The image, if such a header was parsed before; else None."""
    try:
        image = headers.image_of(form, file, name)
    except Exception:  # Pillow meets it once more, and says it
        return None
    if image is not None:
        sources.note_form(file, form)
    return image


def _open_by_path(path):
    """The image, or None: Pillow is to do it itself."""
    image, turn = None, None
    if type(path) is str and path and type(Image.builtins) is _Builtins:
        image, turn = _open_by_name(path)
    return _open_in_turn(path, turn or _Turn()) if image is None else image


def _open_in_turn(path, turn):
    image, _thread.turn = None, turn
    try:
        image = _PLAIN["open"](path)
    except Exception:
        if turn.found is None:
            raise
    finally:
        _thread.turn = None
        if turn.found is not None and (image is None or not _finish(image, *turn.found)):
            image = None
            turn.found[0].close()
    return image


def _open_by_form(file, form):
    """The same for a file."""
    try:
        stand_in = _stand_in(form)
        image = _PLAIN["open"](stand_in)
        return image if _finish(image, file, form, stand_in) else None
    except Exception:
        return None


def _open_by_plugins(fp, mode, formats, form):
    """By Pillow's own open(), of a file with a form or by a path where Pillow would not see the
    difference."""
    outer, _thread.turn = _thread.turn, None
    try:
        image = None
        if form is not None:
            image = _open_by_form(fp, form)
        elif mode == "r" and formats is None and isinstance(fp, _PATHS) and sources.is_ready():
            image = _open_by_path(fp)
        return image
    finally:
        _thread.turn = outer


def _open_here(fp, mode, formats):
    """Returns the image, or None if Pillow is to open it."""
    form = None
    if type(fp) is io.BufferedReader and mode == "r" and formats is None and sources.is_ready():
        form = _form_of(fp)
        image = None if form is None else _known_image(form, fp)
        if image is not None:
            return image
    return _open_by_plugins(fp, mode, formats, form)


def open_image(fp, mode="r", formats=None):
    try:
        image = _open_here(fp, mode, formats)
    except Exception as error:
        if not is_own(error):
            raise
        image = None
    if image is not None:
        return image
    outer, _thread.turn = _thread.turn, None
    try:
        return _PLAIN["open"](fp, mode, formats)
    finally:
        _thread.turn = outer


def see_files():
    """Has Pillow's own open() ask here for the files that it opens."""
    if Image.builtins is builtins and "builtins" in Image.open.__code__.co_names:
        Image.builtins = _Builtins("builtins", builtins.__doc__)
