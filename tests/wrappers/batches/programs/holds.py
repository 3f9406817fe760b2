"""Ways to hold on to a tensor's memory: {name: (hold, look)}. hold(tensor) gives something that
keeps it alive, look(thing) the same bytes again, later. The tensor itself is dropped by the caller.
"""

import copy
import functools
import gc
import io
import pickle
import queue
import threading
import types
from multiprocessing.reduction import ForkingPickler

import numpy
import torch
from torch.utils.dlpack import from_dlpack, to_dlpack


class Own(torch.Tensor):
    pass


def same(thing):
    return thing


def in_closure(tensor):
    return lambda: tensor


def in_generator(tensor):
    def generator():
        while True:
            yield tensor
    running = generator()
    next(running)
    return running


def in_traceback(tensor):
    held = tensor
    try:
        raise ValueError
    except ValueError as error:
        del tensor
        return error, held.shape


def of_traceback(thing):
    return thing[0].__traceback__.tb_frame.f_locals["held"]


def in_cycle(tensor):
    """Makes a cycle that only its collector would find, and turns the collector off."""
    gc.disable()
    cycle = types.SimpleNamespace(tensor=tensor)
    cycle.cycle = cycle
    return cycle


def in_thread(tensor):
    """Another thread has it, and gives it out when it is asked."""
    ask, answer = queue.Queue(), queue.Queue()

    def hold(tensor):
        while ask.get():
            answer.put(tensor)
    threading.Thread(target=hold, args=(tensor,), daemon=True).start()
    return ask, answer


def of_thread(thing):
    thing[0].put(True)
    return thing[1].get(timeout=60)


def in_lru_cache(tensor):
    @functools.lru_cache
    def load():
        return tensor
    load()
    return load


def in_graph(tensor):
    """Autograd has it, for a backward that is yet to come."""
    weight = torch.ones(1, requires_grad=True)
    return weight, weight * (tensor if tensor.is_floating_point() else tensor.float())


def of_graph(thing):
    weight, out = thing
    ones = torch.ones_like(out)
    return torch.autograd.grad(out, weight, ones, retain_graph=True)[0]


def in_module(tensor):
    module = torch.nn.Module()
    module.register_buffer("held", tensor)
    return module


def by_set(tensor):
    other = torch.empty(0, dtype=tensor.dtype)
    return other.set_(tensor.storage(), tensor.storage_offset(), tensor.size(), tensor.stride())


def saved(tensor):
    file = io.BytesIO()
    torch.save(tensor, file)
    return file.getvalue()


def of_saved(data):
    return torch.load(io.BytesIO(data)), len(data)  # no more than the tensor is saved


def numpy_then_shared(tensor):
    """The memory of a batch from another process is shared, and stays where it is."""
    array = tensor.numpy()
    tensor.share_memory_()
    return array, tensor


def numpy_then_sent(tensor):
    array = tensor.numpy()
    ForkingPickler.dumps(tensor)
    return array, tensor


def numpy_then_pickled(tensor):
    return tensor.numpy(), pickle.dumps(tensor)


def and_zeroed(tensor):
    copied = tensor.clone()
    tensor.zero_()
    return copied, tensor


HOLDS = {
    "itself": (same, same),
    "list": (lambda t: [t], lambda l: l[0]),
    "closure": (in_closure, lambda f: f()),
    "generator": (in_generator, next),
    "traceback": (in_traceback, of_traceback),
    "cycle": (in_cycle, lambda c: c.tensor),
    "thread": (in_thread, of_thread),
    "lru_cache": (in_lru_cache, lambda f: f()),
    "partial": (lambda t: functools.partial(same, t), lambda f: f()),
    "view": (lambda t: t[0], same),
    "last element": (lambda t: t.reshape(-1)[-1:], same),
    "strided": (lambda t: t.transpose(0, 1)[::2], same),
    "rows": (lambda t: list(t), lambda l: l),
    "detached": (lambda t: t.detach(), same),
    "data": (lambda t: t.data, same),
    "alias": (lambda t: torch.ops.aten.alias(t), same),
    "subclass": (lambda t: t.as_subclass(Own), same),
    "parameter": (lambda t: torch.nn.Parameter(t, requires_grad=False), same),
    "module": (in_module, lambda m: m.held),
    "graph": (in_graph, of_graph),
    "other type": (lambda t: t.view(torch.uint8), same),
    "set": (by_set, same),
    "storage": (lambda t: t.storage(), lambda s: torch.empty(0, dtype=s.dtype).set_(s)),
    "NumPy": (lambda t: t.numpy(), same),
    "view of NumPy": (lambda t: t.numpy()[1:], same),
    "asarray": (numpy.asarray, same),
    "memoryview": (lambda t: memoryview(t.numpy()), numpy.asarray),
    "tensor of NumPy": (lambda t: torch.from_numpy(t.numpy()), same),
    "frombuffer": (lambda t: torch.frombuffer(t.numpy(), dtype=torch.uint8), same),
    "DLPack": (lambda t: from_dlpack(to_dlpack(t)), same),
    "capsule": (lambda t: [to_dlpack(t), t.sum(dtype=torch.float64)], lambda l: l[1]),
    "NumPy by DLPack": (numpy.from_dlpack, same),
    "deep copy": (copy.deepcopy, same),
    "shallow copy": (copy.copy, same),
    "pickle": (pickle.dumps, pickle.loads),
    "torch.save": (saved, of_saved),
    "sent to itself": (lambda t: ForkingPickler.loads(ForkingPickler.dumps(t)), same),
    "shared": (lambda t: t.share_memory_(), same),
    "NumPy, then shared": (numpy_then_shared, same),
    "NumPy, then sent": (numpy_then_sent, same),
    "NumPy, then pickled": (numpy_then_pickled, lambda p: (p[0], pickle.loads(p[1]))),
    "zeroed": (and_zeroed, same),
    "grown": (lambda t: t.clone().resize_(40, 40).fill_(2), same),
}

# Torch takes the memory of other tensors away from under their arrays.
OF_BATCHES = ("NumPy, then shared", "NumPy, then sent")
