"""Asks a Feed of one file for a batch where no memory is left for a thread, and prints the error. Usage: no_thread.py PATH"""

import resource
import sys

from stoker._feed import Feed

with open("/proc/self/statm") as file:
    mapped = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (mapped, mapped))
try:
    next(iter(Feed(sys.argv[1:], batch_size=1)))
except RuntimeError as error:
    print(error)
