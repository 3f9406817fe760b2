"""NumPy's files, and HDF5."""

from .reader import READS, ROW_BYTES, ROWS, UNSEEN, Each, Stream, make_rows, reader


def rows_of_bytes():
    import numpy

    return numpy.random.default_rng(5).integers(0, 256, (ROWS, ROW_BYTES), dtype="u1")


# ---- NumPy ----

@reader("numpy.memmap", "numpy", make=make_rows, sees=UNSEEN)
def memmap(path):
    import numpy

    return numpy.memmap(path, dtype="u1", mode="r", shape=(ROWS, ROW_BYTES))


@reader("numpy.memmap, copy on write", "numpy", make=make_rows, sees=UNSEEN)
def memmap_private(path):
    import numpy

    rows = numpy.memmap(path, dtype="u1", mode="c", shape=(ROWS, ROW_BYTES))

    def item(row):
        before = rows[row].copy()
        rows[row] ^= 0xff
        after = rows[row] ^ 0xff
        rows[row] = before
        return after
    return Each(ROWS, item)


@reader("numpy.fromfile", "numpy", make=make_rows, sees=UNSEEN)
def fromfile(path):
    import numpy

    return Each(ROWS, lambda row: numpy.fromfile(path, "u1", ROW_BYTES, offset=row * ROW_BYTES))


def make_npy(path):
    import numpy

    numpy.save(path, rows_of_bytes())


@reader("numpy.load", "numpy", ".npy", make_npy, sees=UNSEEN)
def load(path):
    import numpy

    return Stream(lambda: iter(numpy.load(path)))


@reader("numpy.load, mapped", "numpy", ".npy", make_npy, sees=UNSEEN)
def load_mapped(path):
    import numpy

    return numpy.load(path, mmap_mode="r")


def make_npz(path):
    import numpy

    rows = rows_of_bytes()
    numpy.savez(path, **{f"part{number}": rows[number::8] for number in range(8)})


@reader("numpy.load of .npz", "numpy", ".npz", make_npz, alone=True)
def load_npz(path):
    import numpy

    found = numpy.load(path)
    return Each(8, lambda number: found[f"part{number}"])


# ---- HDF5 ----

def make_contiguous(path):
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("data", data=rows_of_bytes())


def make_chunked(path):
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("data", data=rows_of_bytes(), chunks=(4, ROW_BYTES))


def make_packed(path):
    import h5py

    with h5py.File(path, "w", libver="latest") as file:
        file.create_dataset("data", data=rows_of_bytes(), chunks=(1, ROW_BYTES),
                            compression="gzip", compression_opts=1, shuffle=True)


def hdf5(path, **how):
    import h5py

    return h5py.File(path, "r", **how)["data"]


for layout, make in (("contiguous", make_contiguous), ("chunked", make_chunked),
                     ("packed, latest format", make_packed)):
    for words, locking in (("locking", True), ("no locking", False)):
        reader(f"h5py, {layout}, {words}", "h5py", ".h5", make)(
            lambda path, locking=locking: hdf5(path, locking=locking))


@reader("h5py, SWMR of a file that nobody writes", "h5py", ".h5", make_packed, sees=READS)
def swmr(path):
    return hdf5(path, libver="latest", swmr=True)


@reader("h5py of a file object", "h5py", ".h5", make_chunked, alone=True)
def file_object(path):
    return hdf5(open(path, "rb"))
