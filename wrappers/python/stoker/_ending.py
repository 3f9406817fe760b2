"""The package's modules at the interpreter's end.

The interpreter sets all names of each module to None then, the module that was imported last first. torch's and
Pillow's objects may end after that, and what they call has functions of Stoker's in it. So the modules are taken
out of the interpreter's sight before: what they hold stays until nothing refers to it.
"""

import atexit
import sys
import types


class _Held:
    """Stands for a module in sys.modules, with the same names. The interpreter clears modules only."""

    def __init__(self, module):
        self.__dict__ = module.__dict__


def _hold():
    for name, module in list(sys.modules.items()):
        if (name == __package__ or name.startswith(__package__ + ".")) and isinstance(module, types.ModuleType):
            sys.modules[name] = _Held(module)


def hold_modules():
    """Has the modules keep their names to the end. It may be called again."""
    atexit.unregister(_hold)
    atexit.register(_hold)
