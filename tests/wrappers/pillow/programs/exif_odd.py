"""Prints values and bytes of EXIF data in a program that has changed Pillow's tables or functions. Arguments: the change, and
whether it comes before the first use. Compares nothing: the caller runs it with Stoker and without."""

import sys

from PIL import Image, TiffImagePlugin, TiffTags

Directory, Info = TiffImagePlugin.ImageFileDirectory_v2, TiffTags.TagInfo
EXIF = TiffTags.TAGS_V2_GROUPS.setdefault(0x8769, {})


class Strict(Directory):
    def __setitem__(self, tag, value):
        if tag == 0x128:
            raise ValueError("the program's")
        super().__setitem__(tag, value)


class Own(Image.Exif):
    def get_ifd(self, tag):
        return {0x8827: 100}


CHANGES = {
    "names": lambda: TiffTags.TAGS_V2.update({0x10F: Info(0x10F, "Make", 2, 1, {"x": "y"})}),
    "names of numbers": lambda: TiffTags.TAGS_V2.update({0x112: Info(0x112, "o", 3, 1, {6: 3})}),
    "no groups": lambda: TiffTags.TAGS_V2_GROUPS.clear(),
    "signed": lambda: EXIF.update({0x8827: Info(0x8827, "ISO", 8, 1)}),
    "bytes": lambda: EXIF.update({0x8827: Info(0x8827, "ISO", 1, 1)}),
    "no fraction": lambda: TiffTags.TAGS_V2.update({0x11A: Info(0x11A, "XRes", 3, 1)}),
    "a type of 300 bytes": lambda: Directory._load_dispatch.update({99: (300, lambda *_: b"")}),
    "a strict directory": lambda: setattr(TiffImagePlugin, "ImageFileDirectory_v2", Strict),
    "a class": lambda: setattr(Image, "Exif", Own),
    "items": lambda: setattr(Image.Exif, "items", lambda self: [(274, 5)]),
    "cvt_enum": lambda: setattr(Info, "cvt_enum", lambda self, value: "z" if isinstance(value, str) else value),
    "limit_rational": lambda: setattr(TiffImagePlugin.IFDRational, "limit_rational", lambda self, most: (1, 3)),
    "__contains__": lambda: setattr(Directory, "__contains__", lambda self, tag: False),
    "debug": lambda: setattr(TiffImagePlugin.logger, "debug", lambda *_: print("logged"))}
ON_ONE = {"get_ifd": lambda tag: {0x8827: 100}, "items": lambda: [(274, 5)], "_fixup": lambda value: 9}


def data():
    made = Image.Exif()
    made.update({0x10F: "maker", 0x112: 6, 0x131: "x", 0x8769: {0x829A: TiffImagePlugin.IFDRational(10, 30), 0x8827: 400}})
    return made.tobytes()


def show(data, own=None):
    try:
        one = Image.Exif()
        one.load(data)
        vars(one).update(own or {})
        print(one.get(0x112), one.tobytes(), dict(one.get_ifd(0x8769)), list(one))
    except Exception as error:
        print(repr(error))


def main(change, is_before):
    made = data()
    if not is_before:
        show(made)
    if change in CHANGES:
        CHANGES[change]()
        show(made)
    else:
        show(made, {change: ON_ONE[change]})
    show(made)


if __name__ == "__main__":
    if sys.argv[1] == "list":
        print(*CHANGES, *ON_ONE, sep="\n")
    else:
        main(sys.argv[1], sys.argv[2] == "before")
