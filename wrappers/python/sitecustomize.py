# Stoker's, in site.zip on PYTHONPATH: waits for PIL, then lets the next module of this name run.
import sys
_own, _here = sys.modules.pop(__name__), __file__.rpartition("/")[0]
sys.path[:] = [_entry for _entry in sys.path if _entry != _here]
_ok = sys.version_info >= (3, 11) and sys.implementation.name == "cpython"
sys.path.insert(0, _here.rpartition("/")[0] + "/waiting")
try:
    __import__("_stoker_waiting" if _ok and "t" not in sys.abiflags else "_stoker_refused")
except Exception:
    pass
del sys.path[0]
try:
    import sitecustomize  # noqa: F401
finally:
    sys.modules.setdefault(__name__, _own)  # what there is to be removed, if that failed
