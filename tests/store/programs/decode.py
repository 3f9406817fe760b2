"""Decodes JPEGs from memory by the sample store, and compares with Pillow's pixels.

    decode.py FIRST COUNT [PROCESSES]

With PROCESSES, so many at once, forked from one that has the store open. None ends before all have
decoded everything. Prints the sum of what they counted.
"""

import json
import os
import struct
import sys

from tagged import digest, make_pictures, tagged


def decode_all(pictures, numbers):
    """How many forms were kept, decoded, and how many pictures were wrong."""
    import stoker
    from stoker import _core
    before, wrong = _core.counts(), 0
    for number in numbers:
        jpeg, digests = pictures[number % len(pictures)]
        wrong += digest(stoker.decode(tagged(jpeg, number))) != digests[None]
    now = _core.counts()
    return now["forms"] - before["forms"], now["from_forms"] - before["from_forms"], wrong


def child(pictures, numbers, told, go_on):
    os.write(told, struct.pack("3Q", *decode_all(pictures, numbers)))
    os.read(go_on, 1)  # the end of it, when all have answered
    os._exit(0)


def many(pictures, numbers, processes):
    heard, told = os.pipe()
    wait, go_on = os.pipe()
    pids = []
    for _ in range(processes):
        pids.append(os.fork())
        if pids[-1] == 0:
            os.close(go_on)
            child(pictures, numbers, told, wait)
    os.close(told)
    result = [0, 0, 0]
    for _ in range(processes):
        data = os.read(heard, 24)
        assert len(data) == 24, "a process ended"
        result = [a + b for a, b in zip(result, struct.unpack("3Q", data))]
    os.close(go_on)
    assert all(os.waitpid(pid, 0)[1] == 0 for pid in pids)
    return result


def main():
    first, count = map(int, sys.argv[1:3])
    numbers, pictures = range(first, first + count), make_pictures()
    if sys.argv[3:]:
        import stoker
        stoker.decode(tagged(pictures[0][0], first))
        result = many(pictures, numbers, int(sys.argv[3]))
    else:
        result = decode_all(pictures, numbers)
    from stoker._store import samples
    print(json.dumps({**dict(zip(("forms", "from_forms", "wrong"), result)), "pid": os.getpid(),
                      "store": samples.counts()}), flush=True)


if __name__ == "__main__":
    main()
