"""The outcome of a call, as text by which two runs can be compared."""

import hashlib
import os
import re
import stat

# Any two runs differ in these: addresses, descriptors that were left open, the time.
VOLATILE = re.compile(r"0x[0-9a-fA-F]{6,}|(?<=/dev/fd/)\d+|(?<=descriptor = )\d+"
                      r"|(?<=Is a directory: )\d+|(?<=time = )\w+ \w+ +\d+ [\d:]+ \d+")
NAMES = ("mode", "ino", "dev", "nlink", "uid", "gid", "rdev", "size", "blksize", "blocks",
         "mtime_ns", "ctime_ns")


def flatten(value):
    """Pieces of bytes that say what a value is."""
    kind = type(value).__name__
    yield f"<{kind}>".encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        yield bytes(value)
    elif isinstance(value, os.stat_result):
        yield repr(facts(value)).encode()
    elif isinstance(value, dict):
        for key in value:
            yield from flatten(key)
            yield from flatten(value[key])
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from flatten(one)
    elif hasattr(value, "numpy") and hasattr(value, "detach"):  # a tensor
        yield from flatten(value.detach().numpy())
    elif hasattr(value, "dtype") and hasattr(value, "tobytes"):  # an array
        yield f"{value.dtype} {getattr(value, 'shape', ())}".encode()
        yield repr(value.tolist()).encode() if value.dtype.hasobject else value.tobytes()
    elif hasattr(value, "getbands"):  # a picture
        yield f"{value.mode} {value.size}".encode()
        yield value.tobytes()
    elif hasattr(value, "to_csv"):  # a frame of pandas
        yield value.to_csv().encode()
    else:
        yield VOLATILE.sub("*", repr(value)).encode()


def digest(value):
    whole = hashlib.md5()
    for piece in flatten(value):
        whole.update(piece)
    return whole.hexdigest()


def facts(found):
    """A stat result without the time of access, which reading changes."""
    return {name: getattr(found, "st_" + name) for name in NAMES}


def failure(error):
    """Type, errno and text of an exception."""
    text = VOLATILE.sub("*", str(error))
    number = getattr(error, "errno", None)
    return f"{type(error).__module__}.{type(error).__name__} errno {number}: {text}"


def of(call, *arguments):
    try:
        return digest(call(*arguments))
    except Exception as error:  # whatever the library raises is its answer
        return failure(error)


def opened_facts(path):
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return facts(os.fstat(fd))
    finally:
        os.close(fd)


def metadata(path):
    """All that stat and its relatives say of a path."""
    said = {}
    for name, call in (("stat", os.stat), ("lstat", os.lstat), ("fstat", opened_facts)):
        try:
            found = call(path)
            said[name] = found if isinstance(found, dict) else facts(found)
        except OSError as error:
            said[name] = failure(error)
    for name, way in (("read", os.R_OK), ("write", os.W_OK), ("run", os.X_OK)):
        said[name] = os.access(path, way)
    said["file"] = os.path.isfile(path), os.path.islink(path), os.path.exists(path)
    return said


def is_file(path):
    return stat.S_ISREG(os.stat(path).st_mode)
