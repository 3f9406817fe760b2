"""Sends to the command the order in which a pass over a DataLoader is going to open files. The command reads these
ahead of the job (cli/ahead).

Each list of files has a connection of its own in each pass, which ends with the pass.
"""

import functools
import inspect
import os
import weakref
from array import array
from types import GeneratorType

import torch

from . import foretell, opened, sample_paths
from .name_lists import Names
from .order import WINDOW, Files, Order, call
from .rest import Rest
from .samplers import begins_anew
from .sender import IDS, connect

_SWITCH = "STOKER_AHEAD"
_PLACE = "STOKER_ORDERS"

_NONE_YET = object()
_INDICES = Names(0, None, lambda indices: array("q", indices).tobytes())  # the command knows what samples have opened
_doubted = {}  # {a data set's id: (a weak reference, the numbers of its lists that the command has not believed)}


def install(iterator):
    if _place():
        _replace_init(iterator)
        _replace_index(iterator)


def install_notes(fetcher):
    """Has torch's fetcher of map-style data sets note what samples open."""
    if _place():
        opened.install(fetcher, _place())


def _place():
    """Returns the command's socket, or None if nothing is to be read ahead."""
    return os.environ.get(_PLACE) if os.environ.get(_SWITCH) != "off" else None


def _replace_init(kind):
    """Replaces __init__(), which an iterator of torch's own calls before it starts its workers. An iterator without
    workers asks for indices later, when the program may have drawn. One of another library may have to be resumed."""
    plain = kind.__init__

    @functools.wraps(plain)
    def __init__(self, *arguments, **named):
        plain(self, *arguments, **named)
        if call(_begins_unmoved, self, kind.__module__):
            _order_of(self)

    kind.__init__ = __init__


def _begins_unmoved(iterator, module):
    """Returns true if the iterator's workers will be asked for what its sampler gives from now on. An iterator that has
    been made by code of a sampler may have drawn, and torch makes another one."""
    indices = iterator._sampler_iter
    return (type(iterator).__module__ == module and iterator._num_workers > 0 and iterator._dataset_kind == 0
            and type(indices) is GeneratorType and inspect.getgeneratorstate(indices) == inspect.GEN_CREATED)


def _replace_index(kind):
    plain, reset = kind._next_index, kind._reset

    @functools.wraps(plain)
    def _next_index(self):
        new = self.__dict__.get("_stoker_new")
        if new is None:
            return _next_and_note(self, plain)
        try:
            index = plain(self)
        except StopIteration:
            self._stoker_order.is_over = True
            raise
        if type(index) is list:  # as Order.note() does: a call takes as long as all of this
            new += index
        else:
            new.append(index)
        order = self._stoker_order
        if len(new) >= order.compared and not _compare(order, index, getattr(self, "_tasks_outstanding", 0)):
            self.__dict__.pop("_stoker_new", None)
        return index

    @functools.wraps(reset)
    def _reset(self, *arguments, **named):
        if not (named.get("first_iter") or arguments[1:2] == (True,)):  # then the pass goes on that __init__() has begun
            call(_end, self)
        return reset(self, *arguments, **named)

    kind._next_index, kind._reset = _next_index, _reset


def _next_and_note(iterator, plain):
    """Asks for the next index, and notes it. The next ones are noted without a call if the pass is foretold to its end."""
    state = iterator.__dict__
    order = state.get("_stoker_order", _NONE_YET)
    if order is _NONE_YET or (order is not None and order.goes_on):
        order = _order_of(iterator)
        if order is not None and order.is_foretold and not order.goes_on:
            state["_stoker_new"] = order.new
    try:
        index = plain(iterator)
    except StopIteration:
        if order is not None:
            order.is_over = True
        raise
    if order is not None and order.note(index):
        _compare(order, index, getattr(iterator, "_tasks_outstanding", 0))
    return index


def follow(order, index, outstanding):
    """Notes what a loader asks for next. `outstanding`: the batches that workers have not returned yet."""
    if order.note(index):
        _compare(order, index, outstanding)


def _compare(order, index, outstanding):
    """Returns true if the order goes on."""
    goes_on = call(order.compare, index, outstanding)
    if not goes_on:
        order.close()
    return goes_on


def _order_of(iterator):
    state = iterator.__dict__
    order = state.get("_stoker_order", _NONE_YET)
    if order is _NONE_YET or (order is not None and order.goes_on and order.is_used_up()):
        call(_end, iterator)
        state["_stoker_order"] = None
        order = state["_stoker_order"] = call(_begin, iterator)
    return order


def _end(iterator):
    iterator.__dict__.pop("_stoker_new", None)
    order = iterator.__dict__.pop("_stoker_order", None)
    if order is not None:
        order.close()


def _begin(iterator):
    """Returns the Order of a pass that begins, or None if nothing can be said of it."""
    dataset, is_map = iterator._dataset, iterator._dataset_kind == 0
    if not is_map:
        return None
    key = opened.key_of(dataset)
    return begin(iterator._sampler_iter, dataset, lambda most: sample_paths.paths_of(dataset, most), key,
                 lambda most: opened.ids_of(dataset, most, key))


def begin(indices, source, lists_of, key=0, ids_of=None):
    """Returns the Order of a pass, or None. `indices`: an iterator that gives them, one by one or in batches; it does
    not move. `lists_of`: called with an index that there is, returns a list of Names of the samples' files. Each is used
    until the command has not believed it once for `source`. `key`: of the data set, if its samples' opens are noted. If
    there is no list, indices are sent of that data set, and the ids that `ids_of` returns, by their key."""
    place = _place()
    if not place or torch.utils.data.get_worker_info() is not None:
        return None
    weak = weakref.ref(source)
    foretold = foretell.order_of(indices)
    first = foretold.take(WINDOW) if foretold else array("q")
    lists = lists_of(max(first, default=0))
    named = [Files(names, connect(place, list_of=key), lambda number=number: _doubt(weak, number))
             for number, names in enumerate(lists) if number not in _doubted_of(source)]
    files = named
    if not named and key:
        ids = call(ids_of, max(first, default=0)) or {}
        files = [Files(_INDICES, connect(place, key), lambda: None),
                 *(Files(names, connect(place, list_of=each, kind=IDS), lambda number=each: _doubt(weak, number))
                   for each, names in ids.items() if each not in _doubted_of(source))]
    files = [each for each in files if each.is_open]
    if not files:
        return None
    order = Order(foretold, first, files)
    order.goes_on = begins_anew(indices)
    if foretold is None:
        order.rests = [Rest(each.names, place) for each in named if each.is_open]
    return order


def _doubted_of(source):
    doubted = _doubted.get(id(source))
    return doubted[1] if doubted is not None and doubted[0]() is source else set()


def _doubt(weak, number):
    source = weak()
    if source is not None:
        _doubted[id(source)] = weak, {*_doubted_of(source), number}
