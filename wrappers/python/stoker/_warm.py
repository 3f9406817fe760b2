"""Makes the forms of JPEGs, for `stoker warm --decoded`, in a process for each processor.

The files' names come as messages on the socket that is the standard input, until it is closed. Each file is decoded at
one corner, which makes the form of the whole file, as a program's first access would.
"""

import os
import signal
import socket

from . import decode


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command ends, and closes the queue
    os.nice(19)
    queue = socket.socket(fileno=os.dup(0))
    corner = bytearray(3 * 8 * 8)
    while True:
        name = queue.recv(65536)
        if not name:
            return
        try:
            decode(os.fsdecode(name), box=(0, 0, 8, 8), out=corner)
        except (ValueError, OSError, MemoryError):
            continue  # no JPEG that is decoded here, or the file is gone
