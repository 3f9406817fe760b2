"""NumPy, SciPy, pandas and what reads arrays with them."""

from .case import BAD_DIRECTORIES, case, some_bytes


def an_array(*shape):
    import numpy

    return numpy.frombuffer(some_bytes(4 * numpy.prod(shape, dtype=int)), "u1")[
        :numpy.prod(shape, dtype=int)].reshape(shape)


def make_npy(path):
    import numpy

    numpy.save(path, an_array(100, 200))


@case("numpy.load of .npy", "numpy", ".npy", make_npy)
def npy(path):
    import numpy

    return numpy.load(path)


@case("numpy.load(mmap_mode='r')", "numpy", ".npy", make_npy)
def npy_mapped(path):
    import numpy

    return numpy.array(numpy.load(path, mmap_mode="r"))


def make_npz(path):
    import numpy

    numpy.savez_compressed(path, one=an_array(100, 100), two=an_array(5000))


@case("numpy.load of .npz", "numpy", ".npz", make_npz)
def npz(path):
    import numpy

    with numpy.load(path) as found:
        return {name: found[name] for name in found}


@case("numpy.fromfile", "numpy")
def fromfile(path):
    import numpy

    return numpy.fromfile(path, "<u2"), numpy.fromfile(path, "u1", count=100, offset=59000)


@case("numpy.memmap", "numpy")
def memmap(path):
    import numpy

    return numpy.array(numpy.memmap(path, "u1", "r")), numpy.memmap(path, "u1", "c")[100:200] + 1


def make_numbers(path):
    path.write_text("".join(f"{n},{n * 0.5},{n % 7}\n" for n in range(2000)))


@case("numpy.loadtxt, genfromtxt", "numpy", ".csv", make_numbers)
def loadtxt(path):
    import numpy

    return numpy.loadtxt(path, delimiter=","), numpy.genfromtxt(path, delimiter=",")


def make_wav(path):
    import scipy.io.wavfile

    scipy.io.wavfile.write(path, 8000, an_array(10000))


# Its result for a file cut short is memory it has not written.
@case("scipy.io.wavfile", "scipy numpy", ".wav", make_wav, main=False)
def wavfile(path):
    import scipy.io.wavfile

    return scipy.io.wavfile.read(path), scipy.io.wavfile.read(path, mmap=True)


def make_mat(path):
    import scipy.io

    scipy.io.savemat(path, {"data": an_array(100, 100)})


@case("scipy.io.loadmat", "scipy numpy", ".mat", make_mat, main=False)
def loadmat(path):
    import scipy.io

    found = scipy.io.loadmat(path)
    return {name: found[name] for name in found if name != "__header__"}


def make_npz_sparse(path):
    import scipy.sparse

    scipy.sparse.save_npz(path, scipy.sparse.eye(100).tocsr())


@case("scipy.sparse.load_npz", "scipy numpy", ".npz", make_npz_sparse, main=False)
def sparse(path):
    import scipy.sparse

    return scipy.sparse.load_npz(path).toarray()


@case("pandas.read_csv", "pandas", ".csv", make_numbers, main=False)
def read_csv(path):
    import pandas

    return pandas.read_csv(path, header=None)


@case("pandas.read_csv(memory_map=True)", "pandas", ".csv", make_numbers, main=False)
def read_csv_mapped(path):
    import pandas

    return pandas.read_csv(path, header=None, memory_map=True)


@case("pandas.read_csv(engine='python')", "pandas", ".csv", make_numbers, main=False)
def read_csv_python(path):
    import pandas

    return pandas.read_csv(path, header=None, engine="python")


def make_frame(path):
    import pandas

    pandas.DataFrame({"a": range(1000), "b": [str(n) for n in range(1000)]}).to_pickle(path)


@case("pandas.read_pickle", "pandas", ".pkl", make_frame, main=False)
def read_pickle(path):
    import pandas

    return pandas.read_pickle(path)


def make_hdf(path):
    import pandas

    pandas.DataFrame({"a": range(1000)}).to_hdf(path, key="frame")


@case("pandas.read_hdf", "pandas tables", ".h5", make_hdf, main=False, threads=False)
def read_hdf(path):
    import pandas

    return pandas.read_hdf(path, "frame")


def make_tiff(path):
    import tifffile

    tifffile.imwrite(path, an_array(120, 100, 3), photometric="rgb")


@case("tifffile.imread", "tifffile", ".tif", make_tiff)
def tiff(path):
    import tifffile

    return tifffile.imread(path)


@case("tifffile.memmap", "tifffile", ".tif", make_tiff)
def tiff_mapped(path):
    import numpy
    import tifffile

    return numpy.array(tifffile.memmap(path, mode="r"))


def make_nifti(path):
    import nibabel
    import numpy

    nibabel.save(nibabel.Nifti1Image(an_array(20, 20, 20), numpy.eye(4)), path)


@case("nibabel.load of .nii", "nibabel", ".nii", make_nifti, main=False)
def nifti(path):
    import numpy
    import nibabel

    image = nibabel.load(path)
    return numpy.asarray(image.dataobj), image.get_fdata(), image.affine


@case("nibabel.load of .nii.gz", "nibabel", ".nii.gz", make_nifti, main=False)
def nifti_packed(path):
    import nibabel

    return nibabel.load(path).get_fdata()


def make_zarr(path):
    import zarr

    zarr.save(str(path), an_array(200, 200))


# It opens several files at a time, and speaks of the first that may not be read.
@case("zarr.load", "zarr", "", make_zarr, main=False, bad=BAD_DIRECTORIES, but=["closed"])
def zarr_load(path):
    import zarr

    return zarr.load(str(path))
