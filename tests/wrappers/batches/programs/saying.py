"""The programs here share this: each case prints one line, [name, outcome], and the last line
counts.

An outcome has all there is to see of a result: its structure, type, dtype and strides, shared
memory, and a digest of the bytes.
"""

import dataclasses
import faulthandler
import hashlib
import json
import os
import random
import sys
import traceback
import warnings

import numpy
import torch

# A test that hangs says where.
faulthandler.dump_traceback_later(float(os.environ.get("PATIENCE_S", "220")), exit=True)
warnings.simplefilter("ignore")
torch.set_num_threads(1)


def digest(data):
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def bytes_of(tensor):
    plain = tensor.detach().as_subclass(torch.Tensor)
    if plain.is_meta:
        return b""
    if plain.is_complex():
        plain = torch.view_as_real(plain.resolve_conj())
    return plain.resolve_neg().contiguous().reshape(-1).view(torch.uint8).numpy()


def digest_of(thing):
    """Returns a digest of the bytes alone of a tensor, an array, or several of them."""
    if isinstance(thing, torch.Tensor):
        return digest(bytes_of(thing))
    if isinstance(thing, numpy.ndarray):
        return digest(numpy.ascontiguousarray(thing))
    return [digest_of(one) for one in thing] if isinstance(thing, (list, tuple)) else thing


class Describer:
    """Numbers the storages that it meets, so that aliases are seen."""

    def __init__(self):
        self._storages = {}

    def _storage(self, tensor):
        storage = tensor.storage()
        number = self._storages.setdefault(storage.data_ptr(), len(self._storages))
        return [number if tensor.numel() else "empty", storage.nbytes()]

    def _strided(self, tensor):
        return {"stride": list(tensor.stride()), "offset": tensor.storage_offset(),
                "storage": self._storage(tensor), "contiguous": tensor.is_contiguous(),
                "conj": tensor.is_conj(), "neg": tensor.is_neg(), "bytes": digest(bytes_of(tensor))}

    def _sparse(self, tensor):
        if tensor.layout == torch.sparse_coo:
            return {"coalesced": tensor.is_coalesced(), "indices": self(tensor._indices()),
                    "values": self(tensor._values())}
        return {"dense": digest(bytes_of(tensor.to_dense()))}

    def tensor(self, tensor):
        if tensor.is_nested:
            return ["nested", [self(one) for one in tensor.unbind()]]
        said = {"type": type(tensor).__name__, "dtype": str(tensor.dtype),
                "layout": str(tensor.layout), "shape": list(tensor.shape),
                "requires_grad": tensor.requires_grad, "leaf": tensor.is_leaf,
                "pinned": tensor.is_pinned(),
                "names": [str(name) for name in getattr(tensor, "names", [])],
                "more": sorted(vars(tensor)) if hasattr(tensor, "__dict__") else []}
        if tensor.is_quantized:
            return {**said, "bytes": digest(bytes_of(tensor.int_repr())),
                    "scale": tensor.q_scale()}
        strided = tensor.layout == torch.strided
        return {**said, **(self._strided(tensor) if strided else self._sparse(tensor))}

    def __call__(self, thing):
        name = type(thing).__name__
        if isinstance(thing, torch.Tensor):
            return self.tensor(thing)
        if isinstance(thing, numpy.ndarray):
            return [name, str(thing.dtype), list(thing.shape), list(thing.strides),
                    thing.flags.writeable, digest(numpy.ascontiguousarray(thing).tobytes())]
        if isinstance(thing, (list, tuple)):
            fields = list(getattr(thing, "_fields", []))
            return [name, fields, [self(one) for one in thing]]
        if hasattr(thing, "items"):
            return [name, [[str(key), self(value)] for key, value in thing.items()]]
        if dataclasses.is_dataclass(thing):
            return [name, self({field.name: getattr(thing, field.name)
                                for field in dataclasses.fields(thing)})]
        if "Storage" in name:  # which would write down all of its numbers
            return [name, len(thing), self(torch.empty(0, dtype=thing.dtype).set_(thing))]
        return [name, repr(thing)[:200]]


def describe(thing):
    return Describer()(thing)


def raised(error):
    """An error as it is seen: without the frames, which may lead through code of ours."""
    lines = [line for line in str(error).splitlines() if not line.startswith(" ")]
    return ["raised", type(error).__name__, lines]


def outcome(call, *arguments):
    """Returns a call's outcome."""
    try:
        return ["returned", describe(call(*arguments))]
    except Exception as error:
        if "-v" in sys.argv:
            traceback.print_exc()
        return raised(error)


def say(name, outcome):
    print(json.dumps([name, outcome]), flush=True)


def seed(number):
    random.seed(number)
    numpy.random.seed(number)
    torch.manual_seed(number)


def draws():
    """Returns each generator's next number, which shows if other code has drawn from it."""
    return [random.random(), float(numpy.random.random()), float(torch.rand(()))]


def wanted(cases):
    """Those of the cases that the command line names, or all; "-v" shows where errors come from."""
    names = [name for name in sys.argv[1:] if not name.startswith("-")]
    return {name: case for name, case in cases.items() if not names or name in names}


def run(cases):
    """Runs each case of a table, from the same seed. A case returns what is to be said."""
    for name, case in wanted(cases).items():
        seed(7)
        try:
            said = ["returned", case()]
        except Exception as error:
            if "-v" in sys.argv:
                traceback.print_exc()
            said = raised(error)
        say(name, said)
