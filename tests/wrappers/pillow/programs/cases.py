"""Cases with full outcomes, so that a run with the hook and one without can be compared.

    @case
    def name(): return anything
    tell()                     one JSON line for each case; last what was decoded by Stoker, and in
                               which cases

With HOOK=1 in the environment the hook is in place before anything else happens.
"""

import hashlib
import io
import json
import os
import re
import sys
import warnings

HOOKED = os.environ.get("HOOK") == "1"
if HOOKED:
    import stoker
    from stoker import Image
else:
    from PIL import Image

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def digest(data):
    return hashlib.sha1(data).hexdigest()[:16]


def file_state(file):
    if file is None:
        return None
    closed = getattr(file, "closed", "?")
    return [type(file).__name__, closed, None if closed else file.tell()]


def show_image(image):
    """All that can be seen of an image. Attributes come first: looking must not settle it."""
    attributes = {name: show(value) for name, value in sorted(vars(image).items())
                  if name not in ("im", "_im", "fp", "_fp", "info", "filename", "map", "_exif")}
    state = {"type": type(image).__name__, "mode": image.mode, "size": list(image.size),
             "format": image.format, "info": show(image.info), "attributes": attributes,
             "keys": sorted(vars(image)), "fp": file_state(getattr(image, "fp", None)),
             "tile": show(getattr(image, "tile", None)), "readonly": int(image.readonly or 0)}
    state["pixels"] = digest(image.tobytes())
    if image.mode == "RGB":
        state["stored"] = digest(image.tobytes("raw", "RGBX"))
    return state


# Most of what is shown: shown as it is.
PLAIN = {int, float, bool, type(None)}


def show(value):
    """A value in JSON's terms."""
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is str:
        return re.sub(r"0x[0-9a-fA-F]+", "0x", value) if "0x" in value else value
    if isinstance(value, Image.Image):
        return show_image(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"{len(value)} bytes {digest(bytes(value))}"
    if isinstance(value, dict):
        return {str(key): show(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        plain = PLAIN.issuperset(map(type, value))  # the tables of each image
        return [kind.__name__, list(value) if plain else [show(each) for each in value]]
    if hasattr(value, "__array_interface__") and hasattr(value, "dtype"):
        return [str(value.dtype), list(value.shape), digest(value.tobytes()),
                bool(value.flags.writeable)]
    if type(value).__module__.startswith("torch"):
        return [str(value.dtype), list(value.shape), digest(value.numpy().tobytes())]
    if isinstance(value, (int, float, type(None))):
        return value if not hasattr(value, "name") else int(value)
    return re.sub(r"0x[0-9a-fA-F]+", "0x", value if isinstance(value, str) else repr(value))


def attempt(function):
    try:
        return show(function())
    except Exception as error:
        return type(error).__name__, str(error)


def everything(image):
    """All attributes, before and after what changes them."""
    def look():
        return {key: (file_state(value), name_of(value))
                if key in ("fp", "_fp") and hasattr(value, "read") else
                "Plan or core" if key in ("im", "_im") and value is not None else
                show(value) if key not in ("_exif",) else value and dict(value)
                for key, value in sorted(vars(image).items())}
    seen = [look()]
    seen.append([attempt(lambda: dict(image.getexif())), image.get_format_mimetype(), image.tell(),
                 attempt(lambda: image.getxmp()), repr(image)[:60], image.n_frames
                 if hasattr(image, "n_frames") else None])
    seen.append(look())
    image.load()
    seen.append(look())
    seen.append(digest(image.tobytes()))
    return seen


def name_of(file):
    """Numbers of descriptors depend on what else is open."""
    name = getattr(file, "name", None)
    return "a number" if type(name) is int else name


def without_places(text):
    """Addresses, numbers of processes, names of temporary files differ from process to process."""
    text = re.sub(r"0x[0-9a-fA-F]+", "0x", re.sub(r"pid=\d+", "pid", text))
    return re.sub(r"/[^ ']*", "/", text)


def outcome(function):
    """Returns a function's result or error, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = ["returned", show(function())]
        except Exception as error:
            result = ["raised", type(error).__name__, without_places(str(error))]
    messages = sorted({without_places(str(warning.message)) for warning in caught})
    return result + [messages]


def counts():
    return stoker.counts() if HOOKED else {"images": 0, "settled": {}, "unread": 0}


def tell():
    only = sys.argv[2:] if len(sys.argv) > 2 else None
    engaged, unread = {}, {}
    for name, function in CASES.items():
        if only is None or name in only:
            before = counts()
            print(json.dumps([name, outcome(function)]))
            after = counts()
            engaged[name] = after["images"] - before["images"]
            unread[name] = after["unread"] - before["unread"]
    print(json.dumps(["counts", {**counts(), "cases": engaged, "unread_cases": unread}]))


def reopened(data):
    return Image.open(io.BytesIO(data))
