"""A script's operations on a file, step by step: the first error keeps its place."""

import io
import tempfile

from cases import Image, outcome


def steps(data, as_file=False, suffix=".jpg"):
    """The outcome of each; from a file by its name, or from memory."""
    results = []
    with tempfile.NamedTemporaryFile(suffix=suffix) as file:
        file.write(data)
        file.flush()

        def fresh():
            return Image.open(file.name if as_file else io.BytesIO(data))

        results.append(outcome(lambda: fresh().size))
        if results[0][0] == "raised":
            return results
        results.append(outcome(lambda: bool(fresh().load())))
        results.append(outcome(lambda: fresh().convert("RGB").tobytes()))

        def region():
            image = fresh().convert("RGB")
            width, height = image.size
            image = image.crop((width // 3, height // 3, width // 3 * 2 + 1, height // 3 * 2 + 1))
            return image.resize((20, 20), 2).transpose(0)

        results.append(outcome(region))
        stream = io.BytesIO(data)

        def position():
            image = Image.open(stream)
            try:
                image.load()
            finally:
                state = (stream.closed, stream.tell(), len(image.tile), image.fp is None)
            return state

        results.append(outcome(position))
    return results
