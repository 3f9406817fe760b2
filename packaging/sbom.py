#!/usr/bin/env python3
"""Writes the parts of the packages' binaries as a CycloneDX bill of materials.

    packaging/sbom.py VERSION MAPS [NAME...]     MAPS: a directory of the linker's maps, one for each
                                                 binary; NAME: only these of them

Archives are those that the linker says it has taken members from; headers that leave code behind are
those that the sources include. Versions are what the headers say; CC and FLAGS find these.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Name, licence, address, archive or header, and the header's macros that say the version.
PARTS = [
    ("libjpeg-turbo", "IJG AND BSD-3-Clause AND Zlib", "https://libjpeg-turbo.org", "libjpeg.a",
     "stdio.h>\n#include <jpeglib.h", ["LIBJPEG_TURBO_VERSION"]),
    ("libdeflate", "MIT", "https://github.com/ebiggers/libdeflate", "libdeflate.a", "libdeflate.h",
     ["LIBDEFLATE_VERSION_STRING"]),
    ("LMDB", "OLDAP-2.8", "https://www.symas.com/lmdb", "liblmdb.a", "lmdb.h",
     ["MDB_VERSION_MAJOR", "MDB_VERSION_MINOR", "MDB_VERSION_PATCH"]),
    ("xxHash", "BSD-2-Clause", "https://xxhash.com", "xxhash.h", "xxhash.h",
     ["XXH_VERSION_MAJOR", "XXH_VERSION_MINOR", "XXH_VERSION_RELEASE"]),
]


def version_of(header, macros):
    text = f"#include <{header}>\n" + "".join(f"stoker_{name} {name}\n" for name in macros)
    done = subprocess.run([os.environ.get("CC", "cc"), "-E", "-P", *os.environ.get("FLAGS", "").split(),
                           "-x", "c", "-"], input=text, text=True, check=True,
                          stdout=subprocess.PIPE)
    values = dict(re.findall(r"^stoker_(\w+) (.*)$", done.stdout, re.M))
    return ".".join(values[name].strip('" ') for name in macros)


def archives(link_map):
    """The archives that the linker took something from."""
    return set(re.findall(r"([\w.+-]+\.a)\([\w.+-]+\)", link_map))


def includes(header):
    folders = "base", "cache", "preload", "cli", "decode", "store", "ring", "gpu", "wrappers"
    return any(f"#include <{header}>" in path.read_text()
               for folder in folders for path in (ROOT / folder).rglob("*.c"))


def parts(maps):
    linked = {path.stem: archives(path.read_text()) for path in maps}
    for name, licence, address, found_by, header, macros in PARTS:
        holders = [binary for binary, names in linked.items() if found_by in names]
        if holders or (found_by.endswith(".h") and includes(found_by)):
            yield {"type": "library", "bom-ref": name, "name": name,
                   "version": version_of(header, macros), "licenses": [{"expression": licence}],
                   "externalReferences": [{"type": "website", "url": address}],
                   "properties": [{"name": "stoker:linked-into", "value": binary}
                                  for binary in holders]}


def main():
    version, directory, names = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    components = list(parts([directory / name for name in names] or sorted(directory.glob("*.map"))))
    print(json.dumps({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": "stoker", "name": "stoker",
                                   "version": version,
                                   "licenses": [{"license": {"id": "MIT"}}]}},
        "components": components,
        "dependencies": [{"ref": "stoker", "dependsOn": [part["bom-ref"] for part in components]}],
    }, indent=2))


if __name__ == "__main__":
    main()
