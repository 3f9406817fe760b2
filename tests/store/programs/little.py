"""Decodes JPEGs by a sample store whose map is limited, and again when another process has filled the store.

    little.py COUNT ADDRESSES VALUES BYTES

Limits its addresses to what it has and ADDRESSES more before it opens the store, and decodes. It then
reads a line: meanwhile cold.py has kept VALUES values of BYTES bytes. Decodes the images again, and looks
for the values. Prints what it counted after each part, as JSON.
"""

import json
import resource
import sys

from decode import decode_all
from tagged import make_pictures


def limit_addresses(more):
    with open("/proc/self/statm", encoding="ascii") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + more, mapped + more))


def look(store, values, size):
    """How many of the values are found, and of how many of them the bytes are wrong."""
    found = {number: store.get(store.key(b"%d" % number)) for number in range(values)}
    there = {number: bytes(one) for number, one in found.items() if one is not None}
    return {"found": len(there),
            "wrong": sum(one != bytes([number % 251]) * size for number, one in there.items())}


def main():
    count, addresses, values, size = map(int, sys.argv[1:])
    import stoker  # noqa: F401  (its addresses are not to be counted)
    from stoker._store import samples
    pictures = make_pictures()
    limit_addresses(addresses)
    names = ("forms", "from_forms", "wrong")
    print(json.dumps(dict(zip(names, decode_all(pictures, range(count))))), flush=True)
    sys.stdin.readline()
    again = dict(zip(names, decode_all(pictures, range(count))))
    print(json.dumps({"decoded": again, "values": look(samples.store(), values, size)}), flush=True)


main()
