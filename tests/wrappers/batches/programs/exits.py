"""Ends while objects of torch's or Pillow's live that hold functions of Stoker's. The interpreter's end must be
silent, whichever module it takes apart first.

    exits.py usual|kept|cleared CASE...

kept     C code holds all modules, so that the interpreter sets their names to None, the last import first
cleared  the names of Stoker's modules are None before anything else ends
"""

import atexit
import ctypes
import gc
import os
import sys
import threading

ORDER, *NAMES = sys.argv[1:]
MODULES = []  # must not change until the end


def is_ours(name):
    return name.partition(".")[0] in ("stoker", "_stoker")


def keep():
    for module in MODULES:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(module))


def clear():
    for module in MODULES:
        if is_ours(module.__name__):
            module.__dict__.update(dict.fromkeys(module.__dict__.keys() - {"__builtins__"}))


# Registered first: so it is called last.
atexit.register({"usual": bool, "kept": keep, "cleared": clear}[ORDER])

import numpy  # noqa: E402
import PIL  # noqa: E402
from PIL import Image  # noqa: E402
from torch.utils.data import DataLoader, Dataset  # noqa: E402
from torchvision import transforms as T  # noqa: E402

CASES = {}
SIZE = 80
ALIVE = []  # objects that live until the end


def case(function):
    CASES[function.__name__] = function
    return function


def picture(i=1):
    return Image.fromarray(numpy.full((SIZE, SIZE, 3), i, "uint8"))


class Pictures(Dataset):
    def __len__(self):
        return 48

    def __getitem__(self, i):
        return T.ToTensor()(picture(i)), i


def loader(**options):
    return DataLoader(Pictures(), **{"batch_size": 4, "num_workers": 2, "timeout": 60, **options})


@case
def persistent():
    """Keeps workers, as timm and ultralytics do by default."""
    ALIVE.append(loader(persistent_workers=True))
    for _ in ALIVE[-1]:
        pass


@case
def persistent_under_way():
    ALIVE.append(iter(loader(persistent_workers=True)))
    ALIVE.append(next(ALIVE[-1]))


@case
def under_way():
    ALIVE.append(iter(loader()))
    ALIVE.append(next(ALIVE[-1]))


@case
def under_way_and_ended():
    """Ends the workers last of all."""
    ALIVE.append(iter(loader()))
    next(ALIVE[-1])
    ALIVE[-1]._shutdown_workers()


@case
def spawned():
    ALIVE.append(loader(persistent_workers=True, multiprocessing_context="spawn"))
    ALIVE.extend(ALIVE[-1])


@case
def without_workers():
    ALIVE.append(iter(loader(num_workers=0, timeout=0)))
    ALIVE.append(next(ALIVE[-1]))


@case
def in_a_cycle():
    gc.disable()
    ring = [iter(loader(persistent_workers=True))]
    ring += [ring, next(ring[0])]
    ALIVE.append(ring)


@case
def in_builtins():
    """Keeps a loader in builtins, which end after all other modules."""
    import builtins
    builtins.alive = iter(loader(persistent_workers=True))
    builtins.batch = next(builtins.alive)


@case
def in_a_thread():
    """Keeps a loader's iterator in a daemon thread."""
    begun, never = threading.Event(), threading.Event()

    def work():
        for _ in loader(persistent_workers=True):
            begun.set()
            never.wait()

    threading.Thread(target=work, daemon=True).start()
    begun.wait(60)


@case
def stateful():
    from torchdata.stateful_dataloader import StatefulDataLoader
    ALIVE.append(iter(StatefulDataLoader(Pictures(), batch_size=4, num_workers=2)))
    ALIVE.append(next(ALIVE[-1]))


@case
def feed():
    import tempfile

    import stoker
    with tempfile.TemporaryDirectory() as directory:
        paths = [os.path.join(directory, f"{i}.jpg") for i in range(8)]
        for i, path in enumerate(paths):
            picture(i).save(path)
        ALIVE.append(iter(stoker.Loader(paths, transform=T.ToTensor(), batch_size=2)))
        ALIVE.append([next(ALIVE[-1]), next(ALIVE[-1])])


@case
def sending():
    import stoker
    ALIVE.append(iter(stoker.Loader(loader(persistent_workers=True))))
    ALIVE.append(next(ALIVE[-1]))


@case
def images():
    import io
    for i in range(3):
        stream = io.BytesIO()
        picture(i).save(stream, "JPEG")
        ALIVE.append(Image.open(stream))
        ALIVE.append(Image.open(stream).resize((9, 9)))
        ALIVE.append(ALIVE[-1].load())
    ALIVE.extend([T.Compose([T.ToTensor()]), T.ToTensor()(picture())])


# ---- what a program's own __del__ calls ----

class Late:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __del__(self):
        function, arguments = self.call
        function(*arguments)


@case
def image_used_late():
    """Loads an image late. From 11.0 on Pillow's own function needs its module's names."""
    if int(PIL.__version__.partition(".")[0]) < 11:
        ALIVE.append(Late(Image.Image.load, picture()))


@case
def transform_used_late():
    ALIVE.append(Late(T.Compose([id]), picture()))


def fork(fork, end, wait):
    """Forks late, if the interpreter still allows it."""
    try:
        child = fork()
    except Exception:
        return
    if child == 0:
        end(0)
    wait(child, 0)


@case
def fork_late():
    ALIVE.extend([iter(loader()), picture(), Late(fork, os.fork, os._exit, os.waitpid)])


if __name__ == "__main__":
    for name in NAMES:
        CASES[name]()
    MODULES += [module for module in sys.modules.values() if type(module) is type(sys)]
    sys.stdout.write("done\n")
