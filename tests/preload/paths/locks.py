"""The POSIX record locks of a process, as the kernel lists them.

    program = locks.SOURCE + "print(of_process(os.stat(path).st_ino))"

/proc/locks is not used. If another process takes or ends a lock between two reads, a reader of it
gets a lock twice, or misses one. The kernel writes the list of one descriptor in one piece.
"""

import inspect


def of_process(ino):
    """Returns (kind, first byte, last byte) of each lock that this process holds on the file."""
    import os
    found = set()
    for fd in os.listdir("/proc/self/fdinfo"):
        try:
            with open(f"/proc/self/fdinfo/{fd}") as lines:
                words = [line.split() for line in lines if line.startswith("lock:")]
        except FileNotFoundError:  # the listing's own descriptor
            continue
        found |= {(one[4], one[7], one[8]) for one in words
                  if one[2] == "POSIX" and one[6].endswith(f":{ino}")}
    return sorted(found)


SOURCE = inspect.getsource(of_process)
