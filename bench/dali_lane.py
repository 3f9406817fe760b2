"""DALI's batches for device_script.py: an image folder, cropped, flipped, resized and normalised by it."""

from nvidia.dali import fn, pipeline, types
from nvidia.dali.plugin.pytorch import DALIClassificationIterator, LastBatchPolicy

READER = "files"


def build(directory, threads, device, decoder, batch, mean_and_std):
    """`decoder` is "cpu", or "mixed": by the device. What is decoded here goes there as bytes."""
    on_device = device.type == "cuda"
    pipe = pipeline.Pipeline(batch_size=batch, num_threads=threads, prefetch_queue_depth=2,
                             device_id=(device.index or 0) if on_device else None)
    with pipe:
        files, labels = fn.readers.file(file_root=directory, random_shuffle=True, name=READER)
        images = fn.decoders.image_random_crop(files, device=decoder)
        images = fn.resize(images, size=[224, 224], antialias=True, interp_type=types.INTERP_LINEAR)
        if on_device:
            images, labels = images.gpu(), labels.gpu()
        mean, std = ([255 * each for each in values] for values in mean_and_std)
        pipe.set_outputs(fn.crop_mirror_normalize(
            images, mirror=fn.random.coin_flip(), dtype=types.FLOAT, output_layout="CHW",
            mean=mean, std=std), labels)
    return pipe


class Batches:
    """(images, labels), one pass for each iteration; the last batch is as short as it is."""

    def __init__(self, directory, threads, *rest):
        self._batches = DALIClassificationIterator(
            build(directory, threads, *rest), reader_name=READER, auto_reset=True,
            last_batch_policy=LastBatchPolicy.PARTIAL)

    def __iter__(self):
        for output, in self._batches:
            yield output["data"], output["label"]
