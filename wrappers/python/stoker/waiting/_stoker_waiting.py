"""Installs the hooks when the program has imported PIL's JPEG plugin, torchvision's transforms or torch's DataLoader.

Each Python under `stoker run` imports this module at its start, so the module imports only what the interpreter has
imported already. After any error Pillow stays as it is.
"""

import os
import sys

# {the awaited module: (our module, the function that installs the hook)}
WAITED_FOR = {}
if os.environ.get("STOKER_DECODE") != "off":
    WAITED_FOR.update({"PIL.JpegImagePlugin": ("_pillow.hook", "install"),
                       "torchvision.transforms.transforms": ("_torchvision.replaced", "install"),
                       "torchvision.transforms.v2": ("_torchvision.replaced", "install_v2"),
                       "torchvision.datasets.folder": ("_torchvision.replaced", "install_loader"),
                       "torchvision.datasets.cifar": ("_torchvision.replaced", "install_arrays"),
                       "torchvision.transforms.autoaugment": ("_torchvision.replaced", "install_spaces"),
                       "timm.data.transforms": ("_torchvision.replaced", "install_timm"),
                       "timm.data.auto_augment": ("_torchvision.replaced", "install_timms_choices"),
                       "transformers.image_processing_backends": ("_transformers.processors", "install"),
                       "torchvision.io.image": ("_decoders.torchvision_io", "install"),
                       "cv2": ("_decoders.opencv", "install")})
if os.environ.get("STOKER_BATCHES") == "on":
    WAITED_FOR.update({"torch.utils.data.dataloader": ("_torch.hook", "loader_is_there"),
                       "torch.multiprocessing": ("_torch.hook", "reducers_are_there"),
                       "torchdata.stateful_dataloader.worker": (
                           "_torch.hook", "stateful_worker_is_there"),
                       "torchdata.stateful_dataloader.stateful_dataloader": (
                           "_torch.hook", "stateful_loader_is_there")})

PACKAGE = __file__.rpartition("/")[0].rpartition("/")[0]


def _spec(name):
    """Returns the import spec of the package that this file came with."""
    import importlib.util

    return importlib.util.spec_from_file_location(name, PACKAGE + "/__init__.py",
                                                  submodule_search_locations=[PACKAGE])


def _is_stoker(places):
    """Returns true for the directories of a package that decodes, of whatever build."""
    return any(os.path.exists(place + "/_pillow/hook.py") for place in places or [])


def _load_package():
    """Returns the package that the program would import. If the program has another module called stoker, the package
    is loaded under another name."""
    import importlib.util

    module = sys.modules.get("stoker")
    spec = getattr(module, "__spec__", None) if module else importlib.util.find_spec("stoker")
    if _is_stoker(getattr(spec, "submodule_search_locations", None)):
        return importlib.import_module("stoker")
    name = "_stoker"
    if name in sys.modules:
        return sys.modules[name]
    spec = _spec(name)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


_imported = []  # awaited modules that were imported, and whose hooks are not installed yet
_running = []  # modules of ours that are being imported


def _is_ours(name):
    return name.partition(".")[0] in ("stoker", "_stoker")


def _begin():
    """Installs the hooks of imported modules, unless a module of ours is half imported: a program may import it
    itself, and it an awaited module."""
    while _imported and not _running:
        module, function = WAITED_FOR[_imported.pop(0)]
        try:
            import importlib
            package = _load_package().__name__
            getattr(importlib.import_module("." + module, package), function)()
        except Exception:  # no hook, then
            pass


def _execute(execute, module, name):
    if _is_ours(name):
        _running.append(name)
    try:
        execute(module)
        if name in WAITED_FOR:
            _imported.append(name)
    finally:
        if _is_ours(name):
            _running.remove(name)


class _Last:
    """Finds `stoker` for scripts that import it, if no other finder does."""

    def find_spec(self, name, path=None, target=None):
        return _spec(name) if name == "stoker" else None


def _of_the_command(name, spec):
    """Returns the spec of the command's own package in the place of one of another build, which does not speak with
    the command."""
    replaced = name == "stoker" and _is_stoker(spec.submodule_search_locations) and _is_stoker([PACKAGE])
    return _spec(name) if replaced else spec


class _Finder:
    """Lets the other finders find the awaited modules, and wraps their loaders. A package `stoker` is the command's."""

    def find_spec(self, name, path=None, target=None):
        if name not in WAITED_FOR and not _is_ours(name):
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find and finder is not self else None
            if spec is not None:
                spec = _of_the_command(name, spec)
                self._wrap(spec)
                return spec
        return None

    def _wrap(self, spec):
        loader = spec.loader
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return

        def exec_module(module):
            try:
                del loader.exec_module
            except AttributeError:
                pass
            _execute(execute, module, spec.name)
            _begin()

        try:
            loader.exec_module = exec_module
        except AttributeError:
            pass


sys.meta_path.append(_Last())
sys.meta_path.insert(0, _Finder())
