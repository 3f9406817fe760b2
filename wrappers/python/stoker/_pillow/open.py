"""Image.open() of a file whose form is in the sample store: the header comes from the form.

Pillow's own open() does the work on a stand-in, which holds the file's first bytes. The image then gets the file
itself, at the position where Pillow would have left it. The file is a plain file of io's own classes: Pillow opened
it, or got it with nothing read yet. In any doubt, and after every error, Pillow opens the file itself.
"""

import builtins
import io
import os
import threading
import types
from itertools import chain

from PIL import Image, JpegImagePlugin

from .. import _core
from .._base.own import attempt, attempt_beside, is_from_elsewhere, is_own
from .._store import sources
from . import headers, take, versions

_PLAIN = versions.PLAIN
_PATHS = (str, bytes, os.PathLike)
_plugin = JpegImagePlugin.jpeg_factory, JpegImagePlugin._accept
_plugins = None
_MOST = 64
_JPEG = b"\xff\xd8\xff"


class _Turn:
    """One Image.open() by a path. The first file that is opened in it is the image's."""

    __slots__ = ("wanted", "ahead", "found")

    def __init__(self, ahead=None):
        self.wanted = True
        self.ahead = ahead  # the file, if it was opened before Pillow asks for it
        self.found = None  # (file, form, stand-in), once the file was opened

    def opened(self, file, *arguments, **named):
        """Returns what Pillow's open() of a file returns."""
        if self.ahead is not None:
            return self.ahead
        if type(file) is str and arguments == ("rb",) and not named:
            return self.take(*_opened(file))
        return self.look_at(builtins.open(file, *arguments, **named))

    def look_at(self, file):
        """Returns the file, or the stand-in that Pillow gets in its place."""
        return self.take(file, attempt_beside(_form_of, file))

    def take(self, file, form):
        return file if form is None else self.stand_in(file, form)

    def stand_in(self, file, form):
        stand_in = _stand_in(form)
        self.found = file, form, stand_in
        return stand_in


class _Thread(threading.local):
    turn = None  # the innermost Image.open(): the program's plugins and path objects may open more


_thread = _Thread()


class _Builtins(types.ModuleType):
    """The builtins that PIL.Image gets."""

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
    """The parts of Pillow that choose the plugin for a file. Valid while these parts do not change."""

    def __init__(self):
        names, plugins = Image.ID, Image.OPEN
        self.seen = (Image, ("ID", names, "OPEN", plugins), names, tuple(names),
                     plugins, tuple(chain.from_iterable(list(plugins.items())))) + headers.OWN_PARTS
        self.is_own = (_core.are_as_seen(headers.OWN_PARTS) and "JPEG" in names
                       and plugins["JPEG"] == _plugin)
        before = names[:names.index("JPEG")] if self.is_own else ()
        self.accepts = [plugins[name.upper()][1] for name in before]
        self.known = {}  # {first bytes: true if all plugins let them pass}, if all of them are Pillow's own

    def are_there(self):
        """Returns true if the parts are Pillow's own and unchanged. A part that was replaced may be put back."""
        return self.is_own and _core.are_as_seen(self.seen)

    def let_pass(self, prefix):
        """Returns true if no plugin before Pillow's own JPEG plugin accepts such a file."""
        passed = self.known.get(prefix)
        if passed is None:
            passed = not any(not accept or accept(prefix) for accept in self.accepts)
            if len(self.known) < _MOST and all(map(_is_of_pillow, self.accepts)):
                self.known[prefix] = passed
        return passed


def _is_of_pillow(function):
    return getattr(function, "__module__", "").startswith("PIL.")


def _is_pillows(prefix):
    """Returns true if Pillow's own JPEG plugin is the first that accepts a file with these first bytes."""
    global _plugins
    plugins = _plugins
    if plugins is None or not plugins.are_there():
        plugins = _plugins = _Plugins()
    return plugins.is_own and plugins.let_pass(prefix)


def _form_of(file):
    """Returns the Form of a file that is to be opened, if an image can be made of it; else None. Pillow goes to the file's
    beginning first."""
    if type(file) is not io.BufferedReader or not sources.is_plain(file):
        return None
    form = sources.plain_form_of(file)
    return form if type(form) is sources.Form and _is_taken(form) else None


def _form_of_given(file):
    """Returns the result of _form_of() for the program's file, of which nothing was read."""
    form = _form_of(file)
    return None if form is None or file.raw.tell() or file.tell() else form


def _form_of_name(name):
    """Returns the Form of a file by its name, without opening the file, or None."""
    form = sources.form_of_name(name)
    return form if form is not None and _is_taken(form) else None


def _is_taken(form):
    """Returns true if loading the image would not read the file, either."""
    if headers.knows(form):
        return (take.sampled_size(form) is not None or take.may_become_rgb(form)) and _is_pillows(form.head[:16])
    return (take.jpeg_size(form) is not None or take.may_become_rgb(form)) and _is_pillows(form.head[:16])


def _stand_in(form):
    """Returns a file that begins with the form's header. A reader that goes beyond the header ends at another
    position."""
    return io.BytesIO(form.head + b"\0")


def _finish(image, file, form, stand_in):
    """Gives the image its file. Returns false if Pillow did anything unexpected with the stand-in."""
    if not take.is_jpeg(image) or image.fp is not stand_in or len(image.tile) != 1 or stand_in.closed:
        return False
    place = len(form.head)
    if take.is_mpo(image):
        image._fp, place = file, 0
    if stand_in.tell() != place:
        return False
    file.seek(place)
    image.fp = file
    sources.note_form(file, form)
    headers.note(form, image)
    return True


def _opened(name):
    """Returns (the file of that name, its Form or None). A file with a form and no entry is not opened: the open would
    ask the origin."""
    form = attempt_beside(_form_of_name, name)
    if form is not None:
        return sources.lazy_file(name, form), form
    file = builtins.open(name, "rb")
    return file, attempt_beside(_form_of, file)


def _open_by_name(name):
    """Returns (the image, None), or (None, a turn that begins with the file), for a name that is a str."""
    file, form = _opened(name)
    image = None if form is None else _known_image(form, file, name)
    if image is not None:
        return image, None
    turn = _Turn(file)
    if form is not None:
        turn.ahead = turn.stand_in(file, form)
    return None, turn


def _known_image(form, file, name=""):
    """Returns the image if a header of this outline was parsed before; else None."""
    image = attempt_beside(headers.image_of, form, file, name)
    if image is not None:
        sources.note_form(file, form)
    return image


def _open_memory(file):
    """Returns the image of a JPEG in memory if a header of this outline was parsed before; else None."""
    file.seek(0)  # as Pillow does
    if file.read(len(_JPEG)) != _JPEG:
        return None
    found = headers.of_memory(file.getvalue())
    return headers.image_of(found, file) if found and headers.knows(found) and _is_pillows(found.head[:16]) else None


def _note_memory(image, file, mode, formats):
    """Notes an image that Pillow opened of a JPEG in memory."""
    is_one = _is_memory(file, mode, formats) and take.is_jpeg(image) and image.fp is file
    found = headers.of_memory(file.getvalue()) if is_one else None
    if found and file.tell() == (0 if take.is_mpo(image) else len(found.head)) and _is_pillows(found.head[:16]):
        headers.note(found, image)


def _open_by_path(path):
    """Returns the image, or None if Pillow is to open it."""
    image, turn = None, None
    if type(path) is str and path and type(Image.builtins) is _Builtins:
        image, turn = _open_by_name(path)
    return _open_in_turn(path, turn or _Turn()) if image is None else image


def _open_in_turn(path, turn):
    image, _thread.turn = None, turn
    try:
        image = _PLAIN["open"](path)
    except Exception as error:
        if turn.found is None or is_from_elsewhere(error):
            raise
    finally:
        _thread.turn = None
        if turn.found is not None and (image is None or not _finish(image, *turn.found)):
            image = None
            turn.found[0].close()
    return image


def _open_by_form(file, form):
    """Returns the image of an open file, or None if Pillow is to open it."""
    stand_in = _stand_in(form)
    image = _PLAIN["open"](stand_in)
    return image if _finish(image, file, form, stand_in) else None


def _open_by_plugins(fp, mode, formats, form):
    """Returns the image of a file with a form or of a path, by Pillow's own open(), which sees no difference. Returns
    None if Pillow is to open it."""
    outer, _thread.turn = _thread.turn, None
    try:
        image = None
        if form is not None:
            image = attempt_beside(_open_by_form, fp, form)
        elif mode == "r" and formats is None and isinstance(fp, _PATHS) and sources.is_ready():
            image = _open_by_path(fp)
        return image
    finally:
        _thread.turn = outer


def _open_here(fp, mode, formats):
    """Returns the image, or None if Pillow is to open it."""
    form = None
    if type(fp) is io.BufferedReader and mode == "r" and formats is None and sources.is_ready():
        form = attempt_beside(_form_of_given, fp)
        image = None if form is None else _known_image(form, fp)
        if image is not None:
            return image
    elif _is_memory(fp, mode, formats):
        return attempt_beside(_open_memory, fp)
    return _open_by_plugins(fp, mode, formats, form)


def _is_memory(fp, mode, formats):
    return type(fp) is io.BytesIO and not fp.__dict__ and mode == "r" and formats is None and sources.is_ready()


def open_image(fp, mode="r", formats=None):
    image = attempt(_open_here, fp, mode, formats)
    if image is not None:
        return image
    outer, _thread.turn = _thread.turn, None
    try:
        image = _PLAIN["open"](fp, mode, formats)
    finally:
        _thread.turn = outer
    if type(fp) is io.BytesIO:
        attempt_beside(_note_memory, image, fp, mode, formats)
    return image


def see_files():
    """Makes Pillow's own open() call _Builtins.open() for the files that it opens."""
    if Image.builtins is builtins and "builtins" in Image.open.__code__.co_names:
        Image.builtins = _Builtins("builtins", builtins.__doc__)
