"""Tables of results that are cheap to find again."""


def put(table, key, value, most=64):
    """Puts a value into a table, and returns it. A table that has `most` values is emptied before."""
    if len(table) >= most:
        table.clear()
    table[key] = value
    return value
