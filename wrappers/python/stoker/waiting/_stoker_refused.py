"""Tells the run that this Python is not one that the package is for, to be said at its end (base/tally.h:
stk_tally_refused_python). Of any version, so it is written as all of them read it."""

import os
import struct
import sys

with open("%s/.%s.decode" % os.path.split(os.environ["STOKER_RUN"]), "r+b") as _tally:
    _tally.seek(8)
    _tally.write(struct.pack("=Q", 100 * sys.version_info[0] + sys.version_info[1]))
