"""The package's modules at the interpreter's end.

At its end the interpreter sets all names of each module to None, beginning with the module that was imported last.
Objects of torch and Pillow may end after that, and call functions of Stoker's. So _hold() hides the modules from the
interpreter first: a module's objects then live as long as something refers to them.
"""

import atexit
import sys
import types

_PACKAGE = __package__.rpartition(".")[0]


class _Held:
    """Stands for a module in sys.modules, with the same names. The interpreter clears modules only."""

    def __init__(self, module):
        self.__dict__ = module.__dict__


def _hold():
    for name, module in list(sys.modules.items()):
        if (name == _PACKAGE or name.startswith(_PACKAGE + ".")) and isinstance(module, types.ModuleType):
            sys.modules[name] = _Held(module)


def hold_modules():
    """Makes the modules keep their names to the interpreter's end. It may be called again."""
    atexit.unregister(_hold)
    atexit.register(_hold)
