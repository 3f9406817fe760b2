"""The answers of self-tests, beside the user's other caches.

An answer is a short text, with a line for each kind, and a last line without which it is not whole. Its name changes with
anything that could change it: the version and the files of the library, the processor, the decoder. An answer is not kept
if a file was changed after this process had loaded it. It is kept only if each comparison came to its end. An error may
come of what this process lacks, or of the program's own code, and the answer would be believed for good.
"""

import contextlib
import errno
import hashlib
import os

from .. import _core

_END = "."  # the last line: a loss of power may cut a file that was just renamed


def proven(make_name, kinds, holds):
    """Returns those of the kinds for which holds() is true. The first process asks it, and the answer is kept under the
    name that make_name() returns. A kind for which holds() fails is not among them."""
    kinds = tuple(kinds)
    name = _result(make_name)
    found = name and _remembered(name, kinds)
    if found is None:
        same = {kind: _result(holds, kind) for kind in kinds}
        found = frozenset(kind for kind in kinds if same[kind])
        if name and None not in same.values():
            _remember(name, "\n".join([*sorted(map(str, found)), _END]))
    return found


def name_of(library, version, parts, files):
    """Returns the file name under which an answer is kept. `files` are those of the library; _core's is always one of them. Raises
    OSError, also if one was changed after this process had loaded it."""
    parts = [version, *parts, _core.simd()]
    for file in (*files, _core.__file__):
        status = os.stat(file)
        if status.st_ctime_ns > _core.LOADED_NS:
            raise OSError(errno.ESTALE, "changed since it was loaded", file)
        parts += [file, status.st_size, status.st_mtime_ns]
    digest = hashlib.sha256(repr(parts).encode() + _processor())
    return f"{library}-{version}-{digest.hexdigest()[:16]}"


def _remembered(name, kinds):
    """Returns the kinds in the answer of this name; None if there is none, or if it names anything else."""
    for place in _places():
        try:
            found = _read(place, name)
            if found is not None:
                return _kinds_in(found, kinds)
        except (OSError, ValueError):
            continue
    return None


def _remember(name, text):
    for place in _places():
        try:
            return _write(place, name, text)
        except OSError:
            continue


def _result(function, *arguments):
    """Returns None if the function fails, whatever the error."""
    try:
        return function(*arguments)
    except Exception:
        return None


def _kinds_in(text, kinds):
    """Raises ValueError if the text is not whole, or names anything else."""
    *words, end = text.splitlines() or [""]
    found = frozenset(kind for kind in kinds if str(kind) in words)
    if end != _END or len(found) != len(words):
        raise ValueError(text)
    return found


def _processor():
    kinds = (b"vendor_id", b"cpu family", b"model", b"stepping", b"flags", b"CPU ", b"Features")
    try:
        with open("/proc/cpuinfo", "rb") as file:
            first = file.read(8192).split(b"\n\n")[0]
    except OSError:
        return b""
    return b"\n".join(line for line in first.split(b"\n") if line.startswith(kinds))


def _places():
    """Yields the directories that may keep an answer: the user's cache, then the run's directory."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    yield os.path.join(cache, "stoker")
    run = os.environ.get("STOKER_RUN")
    if run:
        yield os.path.join(os.path.dirname(os.path.dirname(run)), "proven")


@contextlib.contextmanager
def _opened(place, make):
    """Opens a directory whose path belongs to this user and root (base/trusted_path.h). Raises OSError."""
    directory = _core.open_own(place, make)
    try:
        yield directory
    finally:
        os.close(directory)


def _read(place, name):
    """Returns the text, or None for a file of another user."""
    with _opened(place, False) as directory:
        with open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=directory)) as file:
            return file.read() if os.fstat(file.fileno()).st_uid == os.geteuid() else None


def _write(place, name, text):
    aside = f"{name}.{os.getpid()}"
    with _opened(place, True) as directory:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(aside, dir_fd=directory)
        new = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=directory)
        try:
            with open(new, "w") as file:
                file.write(text)
            os.replace(aside, name, src_dir_fd=directory, dst_dir_fd=directory)
        except OSError:  # a full disk would get another empty file from each process
            os.unlink(aside, dir_fd=directory)
            raise
