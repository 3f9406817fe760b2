"""Which tests run: a slice, or all of them."""

import os

ALL = os.environ.get("STOKER_ALL") == "1"
