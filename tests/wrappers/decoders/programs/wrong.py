"""Decodes one file in every way with a decoder that errs, always or for grey pixels.

    wrong.py LIBRARY FILE all|grey|none
"""

import json
import sys

from libraries import LIBRARIES, images, package

library = LIBRARIES[sys.argv[1]]()
with open(sys.argv[2], "rb") as file:
    DATA = file.read()
sources = sys.modules[package().__name__ + "._store.sources"]
core = sources._core


def erring(pixels, request, out):
    if sys.argv[3] == "all" or (sys.argv[3] == "grey" and request[2][0] == 1):
        memoryview(out).cast("B")[0] ^= 1
    return pixels


class Wrong:
    def decode(self, data, request, out):
        return erring(core.decode(data, request, out), request, out)

    def decode_stored(self, data, link, request, out, entry=None):
        return erring(core.decode_stored(data, link, request, out, entry), request, out)

    def __getattr__(self, name):
        return getattr(core, name)


sources._core = sys.modules[package().__name__ + "._decoders.library"]._core = Wrong()
differ = 0
for name, arguments, named in library.calls(DATA, sys.argv[2]):
    plain, ours = library.both(name, arguments, named)
    differ += plain != ours
print(json.dumps({"differ": differ, "images": images()}))
