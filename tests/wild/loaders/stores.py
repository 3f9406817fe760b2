"""Files with many samples in them: HDF5, NetCDF, LMDB, Parquet and their kind."""

from .arrays import an_array, make_numbers
from .case import BAD_DIRECTORIES, NEVER, case, some_bytes


def make_hdf5(path):
    import h5py

    with h5py.File(path, "w") as file:
        file["whole"] = an_array(100, 200)
        file.create_dataset("chunks", data=an_array(200, 100), chunks=(10, 100),
                            compression="gzip")


@case("h5py.File", "h5py", ".h5", make_hdf5)
def hdf5(path):
    import h5py

    with h5py.File(path, "r") as file:
        return {name: file[name][...] for name in sorted(file)}


@case("h5py.File(driver='core')", "h5py", ".h5", make_hdf5)
def hdf5_core(path):
    import h5py

    with h5py.File(path, "r", driver="core", backing_store=False) as file:
        return file["chunks"][50:70]


@case("h5py.File of a file object", "h5py", ".h5", make_hdf5)
def hdf5_object(path):
    import h5py

    with open(path, "rb") as opened, h5py.File(opened, "r") as file:
        return file["whole"][...]


def make_tables(path):
    import tables

    with tables.open_file(str(path), "w") as file:
        file.create_array("/", "data", an_array(100, 100))


@case("tables.open_file", "tables", ".h5", make_tables, threads=False)
def pytables(path):
    import tables

    with tables.open_file(str(path)) as file:
        return file.root.data[...]


def make_netcdf(path):
    import netCDF4

    with netCDF4.Dataset(path, "w") as found:
        found.createDimension("x", 10000)
        found.createVariable("data", "u1", ("x",))[:] = an_array(10000)


@case("netCDF4.Dataset", "netCDF4", ".nc", make_netcdf, threads=False)
def netcdf(path):
    import netCDF4
    import numpy

    with netCDF4.Dataset(path) as found:
        return numpy.asarray(found["data"][:])


def make_lmdb(path):
    import lmdb

    path.mkdir()
    with lmdb.open(str(path), map_size=1 << 20) as base:
        with base.begin(write=True) as transaction:
            for number in range(30):
                transaction.put(b"%03d" % number, some_bytes(1000))


def lmdb_items(path, **how):
    import lmdb

    with lmdb.open(str(path), readonly=True, **how) as base, base.begin() as transaction:
        return list(transaction.cursor())


# One process may not open an environment twice at a time.
@case("lmdb.open(lock=False)", "lmdb", "", make_lmdb, bad=BAD_DIRECTORIES, threads=False)
def lmdb_unlocked(path):
    return lmdb_items(path, lock=False)


@case("lmdb.open(lock=True)", "lmdb", "", make_lmdb, bad=("missing", "closed"), threads=False,
      sees=NEVER)
def lmdb_locked(path):
    return lmdb_items(path, lock=True)


def make_parquet(path):
    import pyarrow
    import pyarrow.parquet

    rows = pyarrow.table({"n": list(range(5000)), "text": [str(n) for n in range(5000)]})
    pyarrow.parquet.write_table(rows, path)


@case("pyarrow.parquet.read_table", "pyarrow", ".parquet", make_parquet, main=False)
def parquet(path):
    import pyarrow.parquet

    return pyarrow.parquet.read_table(path).to_pydict()


def make_feather(path):
    import pyarrow
    import pyarrow.feather

    pyarrow.feather.write_feather(pyarrow.table({"n": list(range(5000))}), str(path),
                                  compression="uncompressed")


@case("pyarrow.feather, mapped", "pyarrow", ".arrow", make_feather, main=False)
def feather(path):
    import pyarrow.feather

    return pyarrow.feather.read_table(str(path), memory_map=True).to_pydict()


@case("pyarrow.memory_map", "pyarrow", ".arrow", make_feather, main=False)
def arrow_map(path):
    import pyarrow

    with pyarrow.memory_map(str(path)) as source:
        return pyarrow.ipc.open_file(source).read_all().to_pydict()


@case("pyarrow.dataset", "pyarrow", ".parquet", make_parquet, main=False)
def arrow_dataset(path):
    import pyarrow.dataset

    return pyarrow.dataset.dataset(str(path)).to_table().to_pydict()


@case("pyarrow.csv.read_csv", "pyarrow", ".csv", make_numbers, main=False)
def arrow_csv(path):
    import pyarrow.csv

    return pyarrow.csv.read_csv(str(path)).to_pydict()


def duck(path, query):
    import duckdb

    with duckdb.connect() as base:
        return base.execute(query.format(str(path).replace("'", "''"))).fetchall()


@case("duckdb of .parquet", "duckdb pyarrow", ".parquet", make_parquet, main=False)
def duck_parquet(path):
    return duck(path, "select n, text from read_parquet('{}') order by n")


@case("duckdb of .csv", "duckdb", ".csv", make_numbers, main=False)
def duck_csv(path):
    return duck(path, "select * from read_csv_auto('{}')")


@case("polars.read_parquet", "polars pyarrow", ".parquet", make_parquet, main=False)
def polars_parquet(path):
    import polars

    return polars.read_parquet(path).to_dict(as_series=False)


@case("polars.scan_parquet", "polars pyarrow", ".parquet", make_parquet, main=False)
def polars_scan(path):
    import polars

    return polars.scan_parquet(path).collect().to_dict(as_series=False)


@case("polars.read_csv", "polars", ".csv", make_numbers, main=False)
def polars_csv(path):
    import polars

    return polars.read_csv(path).to_dict(as_series=False)
