"""DALI on the processor: pipelines of one thread that take all photographs as one batch."""

import numpy
import nvidia.dali
from nvidia.dali import fn, pipeline, types

from . import MEAN, STD


def region(photo):
    left, top, right, bottom = photo.crop
    return numpy.int64([left, top]), numpy.int64([right - left, bottom - top])


INPUTS = {"decode": 1, "crop": 3, "center": 1, "tensor": 4}


def sources(photos):
    """The pipelines' inputs: the files' bytes, crops (two), flips."""
    files = [numpy.frombuffer(photo.data, numpy.uint8) for photo in photos]
    anchors, shapes = zip(*map(region, photos))
    return files, list(anchors), list(shapes), [numpy.int32(photo.flip) for photo in photos]


def cut(files, anchors, shapes):
    return fn.resize(fn.decoders.image_slice(files, anchors, shapes, axis_names="WH"),
                     size=[224, 224], interp_type=types.INTERP_LINEAR, antialias=True)


def normalised(image, flips):
    return fn.crop_mirror_normalize(image, mirror=flips, dtype=types.FLOAT, output_layout="CHW",
                                    mean=[255 * each for each in MEAN],
                                    std=[255 * each for each in STD])


def outcome(job, files, *crop_and_flip):
    if job == "decode":
        return fn.decoders.image(files)
    if job == "crop":
        return cut(files, *crop_and_flip)
    if job == "center":
        image = fn.resize(fn.decoders.image(files), resize_shorter=256, antialias=True,
                          interp_type=types.INTERP_LINEAR)
        return fn.crop(image, crop=(224, 224))
    *crop, flips = crop_and_flip
    return normalised(cut(files, *crop), flips)


def build(job, photos):
    pipe = pipeline.Pipeline(batch_size=len(photos), num_threads=1, device_id=None,
                             prefetch_queue_depth=1)
    batch = sources(photos)[:INPUTS[job]]
    with pipe:
        inputs = fn.external_source(lambda: batch, num_outputs=len(batch))
        pipe.set_outputs(outcome(job, *inputs))
    pipe.build()
    return pipe


class Library:
    version = nvidia.dali.__version__

    def __init__(self, photos):
        self.pipes = {}

    def begin(self):
        pass

    def run(self, job, photos):
        key = job, photos[0].path
        if key not in self.pipes:
            self.pipes[key] = build(job, photos)
        output, = self.pipes[key].run()
        return [numpy.array(output.at(i)) for i in range(len(photos))]
