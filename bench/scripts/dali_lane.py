"""DALI's batches for device_script.py: an image folder, cropped, flipped, resized and normalised by it."""

import torch
from nvidia.dali import fn, pipeline, types

READER = "files"
DEPTH = 2  # of DALI's queue: batches that it has begun with


def build(directory, threads, device, decoder, batch, mean_and_std):
    """`decoder` is "cpu", or "mixed": by the device. Images that are decoded here go there as bytes."""
    on_device = device.type == "cuda"
    pipe = pipeline.Pipeline(batch_size=batch, num_threads=threads, prefetch_queue_depth=DEPTH,
                             device_id=(device.index or 0) if on_device else None, exec_dynamic=True)
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
    pipe.build()
    return pipe


class Batches:
    """(images, labels), in each iteration `count` whole batches.

    DALI's own iterator always has the next batches made, of the next pass, too: outside of an epoch's
    time, and in that of the others. Here all that an iteration gives is begun in it."""

    def __init__(self, directory, threads, device, decoder, batch, mean_and_std, count):
        self._pipe = build(directory, threads, device, decoder, batch, mean_and_std)
        self._count = count
        self._pipe.schedule_run()  # the first one fills the queue
        while not self._pipe.empty():
            self._take()

    def _take(self):
        outputs = [torch.from_dlpack(each.as_tensor()) for each in self._pipe.share_outputs()]
        self._pipe.release_outputs()
        return outputs

    def __iter__(self):
        for begun in range(self._count + DEPTH - 1):
            if begun < self._count:
                self._pipe.schedule_run()
            if begun >= DEPTH - 1:
                yield self._take()
