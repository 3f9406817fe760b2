"""Video and sound."""

from .arrays import an_array
from .case import case


def make_video(path):
    import av
    import numpy

    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 160, 120, "yuv420p"
        for number in range(12):
            plane = numpy.full((120, 160, 3), number * 20, "u1")
            for packet in stream.encode(av.VideoFrame.from_ndarray(plane, format="rgb24")):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)


@case("av.open", "av numpy", ".mp4", make_video, main=False)
def with_av(path):
    import av

    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


@case("torchvision.io.read_video", "torchvision av numpy", ".mp4", make_video, main=False)
def read_video(path):
    import torchvision.io

    if not hasattr(torchvision.io, "read_video"):
        return with_av(path)  # gone from newer versions
    return torchvision.io.read_video(str(path), pts_unit="sec")[0]


def make_motion(path):
    import cv2

    video = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 10, (160, 120))
    for number in range(12):
        video.write(an_array(120, 160, 3) // 2 + number)
    video.release()


# A file that is no video is shown to one backend after the other, which takes seconds.
@case("cv2.VideoCapture", "cv2 numpy", ".avi", make_motion, bad=("missing",))
def capture(path):
    import cv2

    video, frames = cv2.VideoCapture(str(path)), []
    while True:
        found, frame = video.read()
        if not found:
            return frames
        frames.append(frame)


def make_sound(path):
    import numpy
    import soundfile

    wave = numpy.sin(numpy.arange(20000) / 30) * 0.5
    soundfile.write(str(path), wave, 8000)


def with_soundfile(path):
    import soundfile

    return soundfile.read(str(path))


# Its error for a file that it cannot open is one variable for all threads.
for suffix in (".wav", ".flac", ".ogg"):
    case(f"soundfile.read of {suffix}", "soundfile numpy", suffix, make_sound,
         threads=False)(with_soundfile)
