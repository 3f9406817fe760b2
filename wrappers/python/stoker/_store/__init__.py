"""The sample store as Python sees it: values by their keys, and JPEGs by their forms."""

import os


def setting():
    """Returns STOKER_DECODED (or STOKER_SAMPLES, its older name), "" where it is unset or off: then nothing else of the
    store is imported."""
    value = os.environ.get("STOKER_DECODED", os.environ.get("STOKER_SAMPLES", ""))
    return "" if value == "0" else value
