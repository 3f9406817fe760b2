"""The files that samples open, where no list of the data set names them, or names but one of several.

The process that makes samples has the preload note which covered files each of them opens, and sends that to the
command. In later epochs the command gets the indices of that data set's samples, and reads what they have opened
(cli/ahead/orders/sample_files.h). If a list names one of a sample's files, the first samples show how the others' names
follow from it (cli/ahead/orders/beside.h). If a list has ids, they show how all names follow.
"""

import functools
import os
import struct
import sys
from hashlib import blake2b

from .. import _core
from . import sample_paths, sender
from .name_lists import directories_in, rows_of
from .order import call

_SAMPLE = struct.Struct("=QQ")  # sample_head of cli/ahead/orders/sample_files.h
_LEAST, _MOST = 256, 16 << 10  # bytes that are sent at a time: soon at first, since the command waits for evidence
_OTHERS = 64  # samples without a file, one after the other, until no more are looked at
_FEWER = 8  # a sample that opens nothing else counts as so many of these
_LISTED = 64  # samples of which a list names a file, until no more are looked at
_IDS = 32  # samples that show how names follow from ids
_DEPTH = 3  # objects within a data set
_LOOKED_AT = 64  # indices of a subset

_RANGE = b"//"  # in the name of a range of a big file (preload/serve/opened.h)
_ANEW = b"!"  # at the end of that name, if the sample opens the file (cli/ahead/orders/range_name.h)

_NONE_YET = object()


def install(kind, place):
    """Replaces fetch() of torch's fetcher of map-style data sets. `place`: the command's socket."""
    plain = kind.fetch

    @functools.wraps(plain)
    def fetch(self, indices):
        notes = self.__dict__.get("_stoker_notes", _NONE_YET)
        if notes is _NONE_YET:
            notes = self.__dict__["_stoker_notes"] = call(_notes_of, self, indices, place)
        return plain(self, indices) if notes is None else notes.fetch(plain, self, indices)

    kind.fetch = fetch


def _notes_of(fetcher, indices, place):
    """Returns the Notes of a fetcher, or None if its samples have no indices."""
    plain = [index for index in _batch_of(indices) if type(index) is int]
    if not plain:
        return None
    one_by_one = fetcher.auto_collation and _gives_samples_one_by_one(fetcher.dataset)
    lists, key = sample_paths.paths_of(fetcher.dataset, max(plain)), key_of(fetcher.dataset)
    ids = {} if lists else call(ids_of, fetcher.dataset, max(plain), key)
    return Notes(place, key, lists, one_by_one, ids or {})


def _batch_of(indices):
    return indices if type(indices) in (list, tuple) else (indices,)


def _gives_samples_one_by_one(dataset):
    """Returns true if torch's fetcher asks a data set for one sample after the other. Asking for __getitems__ may be
    code of the program."""
    kind = type(dataset)
    if kind.__module__ == "torch.utils.data.dataset" and kind.__name__ == "Subset":
        return _gives_samples_one_by_one(vars(dataset).get("dataset"))
    names = {name for base in type.mro(kind) if base is not object for name in vars(base)}
    return names.isdisjoint(("__getitems__", "__getattr__", "__getattribute__"))


class Notes:
    """Opens of one fetcher's samples that are not sent yet."""

    def __init__(self, place, dataset, lists, one_by_one, ids):
        """`dataset`: its key. `lists`: Names that may be those of the samples' files. `one_by_one`: the fetcher makes the
        samples of a batch, and not the data set. `ids`: as ids_of() gives them."""
        self._place, self._dataset, self._lists, self._one_by_one = place, dataset, lists, one_by_one
        self._ids, self._left_ids = ids, _IDS  # samples
        self._unsent, self._bytes, self._least = [], 0, _LEAST
        self._others = 0  # samples that have opened no file, one after the other
        self._listed = 0  # samples of which a list names a file
        self._ranges = False  # true once a sample has read ranges of a big file

    def __del__(self, is_ending=sys.is_finalizing):
        if not is_ending():
            call(self._send)

    def fetch(self, plain, fetcher, indices):
        batch = _batch_of(indices)
        if self._others >= _OTHERS or not _core.note_opens(1 if self._one_by_one else len(batch)):
            return plain(fetcher, indices)
        try:
            if self._one_by_one and batch is indices:
                return plain(fetcher, _Marked(indices, self))
            made = plain(fetcher, indices)
            call(self._note_batch, batch)
            return made
        finally:
            _core.note_opens(0)
            call(self._send_if_many)

    def _note_batch(self, batch):
        """Notes what was opened for a batch that the data set has made. It is a guess that each sample has opened as many
        files, in the batch's order."""
        paths = _core.opened().split(b"\0")[:-1]
        each, left = divmod(len(paths), len(batch))
        if left:
            self._others += 1
            return
        for number, index in enumerate(batch):
            self._note(index, b"".join(path + b"\0" for path in paths[number * each:(number + 1) * each]))

    def note(self, index):
        """Notes what was opened for a sample since the last one."""
        self._note(index, _core.opened())

    def _note(self, index, paths):
        if not paths or type(index) is not int or index < 0:
            self._others += 1
            return
        self._others = 0
        if _RANGE in paths:
            self._add(index, _ranges_of(paths, not self._ranges))
            self._ranges = True
            return
        beside = beside_list(self._lists, index, paths) if self._lists else None
        if beside is not None:
            self._note_beside(beside)
            return
        self._lists = ()
        if self._left_ids > 0:
            self._left_ids -= 1
            self._note_ids(index, paths)
        self._add(index, paths)

    def _add(self, index, paths):
        self._unsent += _SAMPLE.pack(index, len(paths)), paths
        self._bytes += _SAMPLE.size + len(paths)
        if self._bytes >= _MOST:
            self._send()

    def _note_beside(self, beside):
        """Reports what a sample has opened beside the file that a list names. Most samples open that file alone."""
        self._listed += 1 if len(beside) > 1 else _FEWER
        if self._listed >= _LISTED:
            self._others = _OTHERS
        if len(beside) > 1:
            paths = os.fsencode("\0".join([*beside, ""]))
            sender.report(self._place, self._dataset, sender.BESIDE, paths)

    def _note_ids(self, index, paths):
        for key, names in self._ids.items():
            call(self._note_id, key, names, index, paths)

    def _note_id(self, key, names, index, paths):
        name = names.take((index,))[0]
        if _may_follow(name, paths):
            sender.report(self._place, key, sender.BESIDE, os.fsencode(name) + b"\0" + paths)

    def _send_if_many(self):
        if self._bytes >= self._least:
            self._least = min(2 * self._least, _MOST)
            self._send()

    def _send(self):
        if self._unsent:
            sender.report(self._place, self._dataset, sender.OPENED, b"".join(self._unsent))
            self._unsent, self._bytes = [], 0


def _ranges_of(paths, is_first):
    """Returns the paths, without those of big files whose ranges are among them. Each sample may open such a file, or the
    first one of a process: the names of ranges say so."""
    names = paths.split(b"\0")[:-1]
    big = {name.partition(_RANGE)[0] for name in names if _RANGE in name}
    opened = set() if is_first else big.intersection(names)
    return b"".join(name + (_ANEW if name.partition(_RANGE)[0] in opened else b"") + b"\0"
                    for name in names if name not in big)


def _may_follow(name, paths):
    """Returns false if a number has been filled up with zeros, and the name has not, or the other way round."""
    digits = name.lstrip("/0") or "0"
    filled = any(os.path.splitext(path)[0].endswith("0" + digits) for path in os.fsdecode(paths).split("\0"))
    return not name[1:].isdecimal() or filled == (name != "/" + digits)


def beside_list(lists, index, paths):
    """Returns the path by which a list names one of the files that a sample has opened, and the files that no list names;
    or None. `paths`: as the preload gives them. A list may name a file by a link."""
    others = dict.fromkeys(os.fsdecode(paths).split("\0")[:-1])
    named = [os.path.abspath(name) for each in lists for name in each.take((index,))]
    found = [name for name in named if _take_out(name, others)]
    return [found[0], *others] if found else None


def _take_out(name, others):
    """Takes a file out of those that were opened. Returns true if it was there. Resolving links asks storage for each
    directory, so that is done only for a name that was not opened."""
    if name not in others:
        name = os.path.realpath(name)
    return others.pop(name, others) is None


class _Marked(list):
    """The indices of a batch. The fetcher's loop over them makes one sample after the other."""

    __slots__ = ("_notes",)

    def __init__(self, indices, notes):
        super().__init__(indices)
        self._notes = notes

    def __iter__(self):
        note = self._notes.note
        for index in list.__iter__(self):
            yield index
            call(note, index)


# ---- which data set ----

def key_of(dataset):
    """Returns a number for a data set, the same in each process: by its class, and by the texts and a subset's indices
    that it holds. Two data sets that are alike in these share it, and what they open is compared."""
    return _number_of(repr(_traits(dataset, _DEPTH)))


def ids_of(dataset, most, key):
    """Returns {a number, the same in each process: Names of ids} of the data set with that key."""
    lists = sample_paths.ids_of(dataset, most)
    return {_number_of(f"{key} {names.take((0,))[0]}"): names for names in lists}


def _number_of(text):
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little") | 1


def _traits(thing, depth):
    attributes = sample_paths.attributes_of(thing)
    if attributes is None:
        return None
    kind = type(thing)
    _, *texts = directories_in(attributes)  # all that might be one
    indices = rows_of(attributes.get("indices"), "iu")
    first = indices.take(range(min(indices.count, _LOOKED_AT))) if indices else ()
    inner = _traits(attributes.get("dataset"), depth - 1) if depth > 1 else None
    module = kind.__module__.replace("__mp_main__", "__main__")  # as spawned processes call it
    return module, kind.__qualname__, texts, indices and indices.count, [i for i in first if type(i) is int], inner
