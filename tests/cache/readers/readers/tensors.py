"""Tensors and tables: torch, safetensors, Arrow and Parquet."""

import os

from .arrays import rows_of_bytes
from .reader import ROWS, SIZE, UNSEEN, Each, Stream, reader

PARTS = 8


# ---- torch ----

def make_torch(path):
    import torch

    rows = torch.from_numpy(rows_of_bytes())
    torch.save({f"part{number}": rows[number::PARTS].clone() for number in range(PARTS)}, path)


def parts_of(found):
    return Each(PARTS, lambda number: found[f"part{number}"].numpy())


@reader("torch.load", "torch", ".pt", make_torch)
def load(path):
    import torch

    return Stream(lambda: iter(parts_of(torch.load(path))))


@reader("torch.load, mapped", "torch>=2.1", ".pt", make_torch, sees=UNSEEN)
def load_mapped(path):
    import torch

    return parts_of(torch.load(path, mmap=True))


@reader("torch.from_file", "torch numpy", sees=UNSEEN)
def from_file(path):
    import torch

    rows = torch.from_file(str(path), size=os.path.getsize(path), dtype=torch.uint8)
    return Each(ROWS, lambda row: rows.view(ROWS, -1)[row].numpy())


# ---- safetensors ----

def make_safetensors(path):
    from safetensors.numpy import save_file

    rows = rows_of_bytes()
    save_file({f"part{number}": rows[number::PARTS].copy() for number in range(PARTS)}, path)


@reader("safetensors", "safetensors numpy", ".safetensors", make_safetensors, sees=UNSEEN)
def safetensors(path):
    from safetensors import safe_open

    opened = safe_open(path, framework="numpy")
    return Each(PARTS, lambda number: opened.get_tensor(f"part{number}"))


# ---- Arrow ----

def make_table():
    import pyarrow

    rows = rows_of_bytes()
    return pyarrow.table({"number": range(ROWS), "data": [row.tobytes() for row in rows]})


def make_arrow(path):
    import pyarrow

    with pyarrow.OSFile(str(path), "wb") as sink:
        with pyarrow.ipc.new_file(sink, make_table().schema) as writer:
            writer.write_table(make_table(), max_chunksize=ROWS // 16)


def batches(source):
    import pyarrow

    found = pyarrow.ipc.open_file(source)
    return Each(found.num_record_batches,
                lambda number: text_of(found.get_batch(number).to_pydict()))


def text_of(columns):
    return repr(sorted(columns.items())).encode()


@reader("pyarrow, by reading", "pyarrow", ".arrow", make_arrow)
def arrow_read(path):
    import pyarrow

    return batches(pyarrow.OSFile(str(path), "rb"))


@reader("pyarrow, mapped", "pyarrow", ".arrow", make_arrow, sees=UNSEEN)
def arrow_mapped(path):
    import pyarrow

    return batches(pyarrow.memory_map(str(path)))


def make_parquet(path):
    import pyarrow.parquet

    pyarrow.parquet.write_table(make_table(), path, row_group_size=ROWS // 16)


def row_groups(path, **how):
    import pyarrow.parquet

    file = pyarrow.parquet.ParquetFile(path, **how)
    return Each(file.num_row_groups, lambda number: text_of(file.read_row_group(number).to_pydict()))


@reader("Parquet, by row groups", "pyarrow", ".parquet", make_parquet)
def parquet(path):
    return row_groups(path)


@reader("Parquet, asked for ahead", "pyarrow", ".parquet", make_parquet)
def parquet_ahead(path):
    return row_groups(path, pre_buffer=True)


@reader("Parquet, mapped", "pyarrow", ".parquet", make_parquet, sees=UNSEEN)
def parquet_mapped(path):
    return row_groups(path, memory_map=True)


@reader("pyarrow.dataset", "pyarrow", ".parquet", make_parquet)
def dataset(path):
    import pyarrow.dataset

    found = pyarrow.dataset.dataset(str(path))
    return Stream(lambda: iter([text_of(found.to_table().to_pydict())]))


assert SIZE == ROWS * 8192
