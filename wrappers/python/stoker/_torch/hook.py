"""Functions that `stoker run` puts in the place of some of torch's, for its DataLoader.

Each calls torch's own function in any case that is not exactly known. They are installed only if STOKER_BATCHES is on,
as `stoker run` sets it: a program that imports the package itself keeps torch's functions.
"""

import functools
import os
import sys
from multiprocessing import process, queues
from multiprocessing.reduction import ForkingPickler

from .._base import ending
from .._base.own import attempt
from . import ahead, borrow, collate, known, lend, moves, passes, rows

SWITCH = "STOKER_BATCHES"
_awaited = {"loader", "reducers"}
_KEY = "stoker-batches"  # if a worker has it, its main process understands slots


def is_wanted():
    return os.environ.get(SWITCH, "") == "on"


def loader_is_there():
    """Called once torch.utils.data.dataloader has been imported."""
    _begin_with("loader")


def reducers_are_there():
    """Called once torch.multiprocessing has been imported. Versions of torch differ in the order of these imports."""
    _begin_with("reducers")


def stateful_worker_is_there():
    """torchdata's StatefulDataLoader has a loop and an iterator of its own."""
    if is_wanted():
        import torchdata.stateful_dataloader.worker as module
        _replace_loop(module)


def stateful_loader_is_there():
    if is_wanted():
        import torchdata.stateful_dataloader.stateful_dataloader as module
        _replace_shutdown(module._StatefulMultiProcessingDataLoaderIter)


def _begin_with(part):
    _awaited.discard(part)
    if not _awaited and is_wanted() and not lend.PLAIN:
        _install()


def _install():
    import torch
    from torch.utils.data import _utils, dataloader
    lend.PLAIN["reduce_tensor"] = ForkingPickler._extra_reducers[torch.Tensor]
    _replace_collate(torch, _utils.collate)
    moves.install()
    ahead.install_notes(_utils.fetch._MapDatasetFetcher)  # before fetch() is replaced by what looks at its indices
    _replace_fetch(_utils.fetch, _utils.collate.default_collate)
    _replace_loop(_utils.worker)
    _replace_shutdown(dataloader._MultiProcessingDataLoaderIter)
    passes.install(dataloader._BaseDataLoaderIter, _utils.fetch)
    ahead.install(dataloader._BaseDataLoaderIter)
    ForkingPickler.register(torch.Tensor, lend.reduce_tensor)
    process.current_process()._config[_KEY] = True  # workers, and theirs, inherit it
    for module in lend, rows, borrow:
        module.heed_forks()
    ending.hold_modules()


def _replace_collate(torch, module):
    """Replaces the function in the map that torch has for extensions. Older versions have no map; their batches are
    copied once more."""
    functions = getattr(module, "default_collate_fn_map", {})
    if torch.Tensor in functions:
        collate.PLAIN["tensors"] = functions[torch.Tensor]
        functions[torch.Tensor] = passes.timed_collate(collate.collate_tensors)
        known.heed(functions)


def _replace_fetch(module, default_collate):
    """Replaces fetch() of torch's own fetchers, for batches of torch's own default_collate."""
    for kind in module._MapDatasetFetcher, module._IterableDatasetFetcher:
        _replace_fetch_of(kind, default_collate)


def _replace_fetch_of(kind, default_collate):
    plain = kind.fetch

    @functools.wraps(plain)
    def fetch(self, indices):
        if (type(self) is kind and self.auto_collation and self.collate_fn is default_collate
                and type(indices) in (list, tuple)):
            return rows.fetch(plain, self, indices)
        return plain(self, indices)

    kind.fetch = fetch


def _replace_loop(module):
    """Replaces the function that is a worker's whole life. It keeps its name, by which a spawned worker finds it."""
    plain = module._worker_loop
    place = plain.__code__.co_varnames.index("data_queue")

    @functools.wraps(plain)
    def _worker_loop(*arguments, **named):
        attempt(lambda: _begin(named["data_queue"] if "data_queue" in named else arguments[place]))
        return plain(*arguments, **named)

    module._worker_loop = _worker_loop


def _begin(queue):
    if type(queue) is queues.Queue and process.current_process()._config.get(_KEY):
        lend.begin(queue)


def _replace_shutdown(iterator):
    """Replaces the function that ends all workers of a loader. The interpreter's end calls it, too."""
    plain, let_go, is_ending = iterator._shutdown_workers, borrow.let_go, sys.is_finalizing

    @functools.wraps(plain)
    def _shutdown_workers(self):
        had_ended = getattr(self, "_shutdown", False)  # their numbers may be others' by now
        try:
            return plain(self)
        finally:
            if not had_ended and not is_ending():
                attempt(lambda: let_go({worker.pid for worker in getattr(self, "_workers", ())}))

    iterator._shutdown_workers = _shutdown_workers
