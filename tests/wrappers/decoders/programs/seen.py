"""Calls the replaced functions in one way for each case, and prints the outcomes.

    seen.py LIBRARY DIRECTORY
"""

import copy
import inspect
import json
import os
import pathlib
import pickle
import sys
import warnings

from libraries import LIBRARIES, images, outcome, outcome_alone

CASES = {"opencv": {}, "torchvision": {}}


def case(library):
    def add(function):
        CASES[library][function.__name__] = function
        return function
    return add


def paths(directory):
    """Names that a library gets: a file by many names, and what is no file."""
    photo = directory / "color.jpg"
    other = directory / "é ö.jpg"
    other.write_bytes(photo.read_bytes())
    (directory / "link.jpg").symlink_to(photo)
    (directory / "empty.jpg").write_bytes(b"")
    return [str(photo), photo, os.fsencode(photo), str(other), str(directory / "link.jpg"), str(directory),
            str(directory / "empty.jpg"), str(directory / "absent.jpg"), "color.jpg", "", "a\0b", "/dev/null",
            str(directory / "picture.png"), 3, None]


# ---- OpenCV ----

@case("opencv")
def cv2_paths(library, directory):
    os.chdir(directory)
    return [outcome(library.module.imread, path) for path in paths(directory)]


@case("opencv")
def cv2_arguments(library, directory):
    cv2, name = library.module, str(directory / "color.jpg")
    read, decode = cv2.imread, cv2.imdecode
    data = library.numpy.fromfile(name, library.numpy.uint8)
    return [outcome(*each) for each in (
        (read,), (read, name, 1, 2), (read, name, None), (read, name, 1.0), (read, name, True), (read, name, "1"),
        (read, name, library.numpy.int64(1)), (decode, data), (decode, data, None), (decode, None, 1), (decode, data, True))
    ] + [outcome(read, filename=name), outcome(read, filename=name, flags=0), outcome(read, flags=0),
         outcome(read, name, flag=1), outcome(read, name, filename=name), outcome(decode, buf=data, flags=1),
         outcome(decode, data, flags=4), outcome(decode, data, 1, flags=1), outcome(decode, flags=4)]


@case("opencv")
def cv2_buffers(library, directory):
    numpy, decode = library.numpy, library.module.imdecode
    data = numpy.fromfile(directory / "color.jpg", numpy.uint8)
    frozen = data.copy()
    frozen.flags.writeable = False
    buffers = [data, frozen, data.reshape(-1, 1), data.reshape(1, -1), data.reshape(1, 1, -1), data[::-1], data[::2],
               numpy.repeat(data, 2)[::2], data.astype(numpy.int8), data.astype(numpy.uint16), data.view(numpy.matrix),
               bytes(data), bytearray(data), memoryview(data), list(data[:4]), data[:0], data[:2], data[:4],
               numpy.asfortranarray(data.reshape(-1, 1))]
    if len(data) % 2 == 0:
        buffers.append(data.reshape(2, -1))
    return [outcome(decode, buffer, 1) for buffer in buffers]


@case("opencv")
def cv2_functions(library, directory):
    cv2, name = library.module, str(directory / "color.jpg")

    class Holder:
        read = cv2.imread
    found = [outcome(Holder().read, name), outcome(Holder.read, name)]
    for function in (cv2.imread, cv2.imdecode):
        again = pickle.loads(pickle.dumps(function))
        found += [again is function, copy.copy(function) is function, copy.deepcopy(function) is function,
                  function.__name__, function.__qualname__, function.__module__, (function.__doc__ or "")[:80],
                  repr(function), callable(function), function == function, outcome(inspect.signature, function)[:2]]
    return found


@case("opencv")
def cv2_results_are_ordinary(library, directory):
    image = library.module.imread(str(directory / "color.jpg"))
    image += 1
    again = library.module.imread(str(directory / "color.jpg"))
    image.resize((3, 3, 3), refcheck=False)
    return image.shape, int(again.sum()), library.module.cvtColor(again, 6).shape


# ---- torchvision ----

@case("torchvision")
def torchvision_paths(library, directory):
    os.chdir(directory)
    os.mkfifo("pipe")  # opening it would block
    found = [outcome(library.module.read_image, "pipe")]
    for path in paths(directory):
        found += [outcome(library.module.read_image, path), outcome(library.module.decode_image, path)]
    return found


@case("torchvision")
def torchvision_arguments(library, directory):
    io, torch = library.module, library.torch
    name = str(directory / "color.jpg")
    data, mode = io.read_file(name), io.ImageReadMode
    return [outcome(*each) for each in (
        (io.decode_jpeg,), (io.decode_jpeg, data, 3), (io.decode_jpeg, data, mode.RGB, "cpu"),
        (io.decode_jpeg, data, mode.RGB, torch.device("cpu")), (io.decode_jpeg, data, mode.RGB, "meta"),
        (io.decode_jpeg, [data, data]), (io.decode_jpeg, []), (io.decode_jpeg, data, "rgb"), (io.decode_jpeg, data, "nothing"),
        (io.decode_image, data, None), (io.read_image, name, "RGB"), (io.read_image, name, mode.RGB, 1),
        (io.read_image, name, mode.RGB, True, 2), (io.decode_jpeg, data, mode.GRAY_ALPHA))
    ] + [outcome(io.read_image, path=name), outcome(io.read_image, name, mode=mode.GRAY), outcome(io.read_image, mode=mode.RGB),
         outcome(io.decode_image, input=data, mode=mode.RGB), outcome(io.decode_image, data, colour=1),
         outcome(io.decode_image, data, input=data), outcome(io.decode_jpeg, data, mode.RGB, mode=mode.RGB)]


@case("torchvision")
def torchvision_tensors(library, directory):
    io, torch = library.module, library.torch
    data = io.read_file(str(directory / "color.jpg"))
    tensors = [data, data[::2], data.repeat_interleave(2)[::2], data.reshape(1, -1), data.to(torch.int8), data[:0], data[:5],
               torch.nn.Parameter(data, requires_grad=False), data.to("meta"), data.numpy(), bytes(data.numpy()), 3]
    found = [outcome(function, tensor) for tensor in tensors for function in (io.decode_jpeg, io.decode_image)]
    with torch.inference_mode():
        found.append(outcome(io.decode_jpeg, data))
    return found


def _is_resizable(torch, tensor):
    try:
        torch.empty(0, dtype=torch.uint8).set_(tensor).resize_(tensor.numel() + 1)
    except RuntimeError:
        return False
    return True


@case("torchvision")
def torchvision_memory(library, directory):
    """The memory of the data and of the result may be resized afterwards."""
    io, torch = library.module, library.torch
    data = torch.frombuffer(bytearray((directory / "color.jpg").read_bytes()), dtype=torch.uint8).clone()
    found = []
    for function in (io.decode_jpeg, io.decode_image):
        image = function(data)
        found.append([_is_resizable(torch, tensor) for tensor in (image, data)])
        found.append([image.data_ptr() % 64, image._is_view()])
    return found


@case("torchvision")
def torchvision_functions(library, directory):
    io = library.module
    package = sys.modules["torchvision.io"]
    found = []
    for name in library.names:
        function = getattr(io, name)
        found += [pickle.loads(pickle.dumps(function)) is function, getattr(package, name) is function, function.__name__,
                  function.__module__, str(inspect.signature(function)), (function.__doc__ or "")[:60]]
    return found


@case("torchvision")
def torchvision_scripted(library, directory):
    io, torch = library.module, library.torch
    data = io.read_file(str(directory / "color.jpg"))

    def decoded(data):
        return io.decode_jpeg(data).sum()
    traced = torch.jit.trace(decoded, data, check_trace=False)
    found = [[node.kind() for node in traced.graph.nodes()], int(traced(data))]
    for name in ("decode_image", "decode_jpeg"):
        found.append(outcome(lambda name=name: torch.jit.script(getattr(io, name))(data))[:2])
    return found


FILTERS = ([("ignore",)], [], [("error",)], [("default",)], [("once",)], [("module",)], [("always",)],
           [("ignore", "", DeprecationWarning)], [("ignore", "The image"), ("error",)], [("ignore", "the IMAGE"), ("error",)],
           [("ignore", "image"), ("error",)], [("ignore", "", UserWarning), ("always",)],
           [("ignore", "", Warning, r"torchvision\.io"), ("always",)], [("ignore", "", Warning, r"io\."), ("always",)],
           [("ignore", "", Warning, "", 3), ("always",)])


@case("torchvision")
def torchvision_warnings(library, directory):
    """The functions of the newest versions warn that they are deprecated."""
    io, name = library.module, str(directory / "color.jpg")
    found = []
    for filters in FILTERS:
        with warnings.catch_warnings(record=True) as caught:
            warnings.resetwarnings()
            for each in reversed(filters):
                warnings.filterwarnings(*each)
            for change in (None, None, "ignore", "always", "default"):
                if change:
                    warnings.simplefilter(change)
                found.append(outcome_alone(lambda: io.decode_image(io.read_file(name)).sum()))
                found.append(outcome_alone(lambda: io.read_image(name).sum()))
                found.append([[str(each.message)[:40], each.filename, each.lineno] for each in caught])
    plain = warnings.warn
    warnings.warn = lambda *arguments, **named: found.append([str(arguments)[:40], sorted(named)])
    warnings.simplefilter("ignore")
    io.read_image(name)
    warnings.warn = plain
    return found


def main():
    library = LIBRARIES[sys.argv[1]]()
    directory = pathlib.Path(sys.argv[2])
    outcomes = {name: function(library, directory)
                for name, function in CASES[sys.argv[1]].items()}
    replaced = [hasattr(getattr(library.module, name), "__wrapped__") for name in library.names]
    print(json.dumps({"outcomes": outcomes, "replaced": replaced, "images": images()}))


main()
