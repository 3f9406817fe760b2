"""LMDB: a file that is mapped."""

from .reader import PASSES, ROWS, SIZE, UNSEEN, Each, reader, some_bytes


def make_lmdb(path):
    import lmdb

    with lmdb.open(str(path), map_size=4 * SIZE) as base:
        with base.begin(write=True) as transaction:
            for row in range(ROWS):
                transaction.put(b"%06d" % row, some_bytes(row))


def rows(path, **how):
    import lmdb

    base = lmdb.open(str(path), map_size=4 * SIZE, meminit=False, **how)
    count = base.stat()["entries"]

    def item(row):
        with base.begin() as transaction:
            return transaction.get(b"%06d" % row)
    return Each(count, item)


@reader("lmdb, without its lock", "lmdb", "", make_lmdb, sees=UNSEEN, alone=True)
def unlocked(path):
    return rows(path, readonly=True, lock=False, readahead=False)


@reader("lmdb, to be written to by its map", "lmdb", "", make_lmdb, sees=PASSES, alone=True)
def writable(path):
    return rows(path, writemap=True)
