"""Notes in the run's tally that the package does not support this Python; the summary says so (base/tally.h:
stk_tally_refused_python). Written for every version of Python."""

import os
import struct
import sys

with open("%s/.%s.decode" % os.path.split(os.environ["STOKER_RUN"]), "r+b") as _tally:
    _tally.seek(8)
    _tally.write(struct.pack("=Q", 100 * sys.version_info[0] + sys.version_info[1]))
