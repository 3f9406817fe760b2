"""The differences between the outcomes of two runs of a program."""


def differences(plain, other, where=""):
    """Where two outcomes differ, as text."""
    if plain == other:
        return
    if type(plain) is type(other) and isinstance(plain, dict) and plain.keys() == other.keys():
        for key in plain:
            yield from differences(plain[key], other[key], f"{where}.{key}")
    elif isinstance(plain, list) and isinstance(other, list) and len(plain) == len(other):
        for i, pair in enumerate(zip(plain, other)):
            yield from differences(*pair, f"{where}[{i}]")
    else:
        yield f"{where}: plain {str(plain)[:300]}, under Stoker {str(other)[:300]}"
