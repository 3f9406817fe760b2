"""A loader sends paths to the command in its order, as long as the pass is as it was foretold."""

import array
import contextlib
import os
import select
import socket
import struct

import pytest
from torch.utils.data import BatchSampler

from stoker._torch import ahead
from stoker._torch.order import WINDOW
from stoker._torch.sample_paths import paths_of

COUNT = 4000
HEAD = struct.Struct("=QQQQ")


class Data:
    def __init__(self, **attributes):
        vars(self).update(attributes)


class Command:
    """Receives what a loader sends."""

    def __init__(self, monkeypatch):
        self._hearing = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        place = f"stoker-orders-{os.getpid()}"
        self._hearing.bind("\0" + place)
        self._hearing.listen(8)
        self._hearing.settimeout(20)
        monkeypatch.setenv("STOKER_ORDERS", place)
        self.connections = []

    def accept(self):
        connection = self._hearing.accept()[0]
        connection.setblocking(False)
        self.connections.append(connection)
        return connection

    def is_called(self):
        return self.is_called_within(0)

    def is_called_within(self, seconds):
        return bool(select.select([self._hearing], [], [], seconds)[0])

    def close(self):
        for each in (self._hearing, *self.connections):
            each.close()


def received(connection):
    """Returns the paths that have come, and the last (done, asked); None instead of these once it is closed."""
    paths, state = [], ()
    with contextlib.suppress(BlockingIOError):
        while True:
            message = connection.recv(1 << 16)
            if not message:
                return paths, None
            state = HEAD.unpack(message[:HEAD.size])[2:]
            paths += message[HEAD.size:].decode().split("\0")[:-1]
    return paths, state


@pytest.fixture
def command(monkeypatch):
    command = Command(monkeypatch)
    yield command
    command.close()


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    directory = tmp_path_factory.mktemp("names")
    for kind in "am":
        (directory / f"{kind}0.jpg").touch()
    return lambda kind: [f"{directory}/{kind}{number}.jpg" for number in range(COUNT)]


def begin(data, indices):
    return ahead.begin(iter(indices), data, lambda most: paths_of(data, most))


def batches(step=7):
    order = [number * step % COUNT for number in range(COUNT)]
    return order, [order[at:at + 8] for at in range(0, COUNT, 8)]


def test_a_window_and_then_all(command, names):
    order, asked = batches()
    data = Data(samples=names("a"))
    begun = begin(data, asked)
    connection = command.accept()
    paths, state = received(connection)
    assert paths == [data.samples[index] for index in order[:WINDOW]] and state == (0, 0)
    for batch in asked:
        ahead.follow(begun, batch, 2)
        further, said = received(connection)
        paths, state = paths + further, said or state
    assert paths == [data.samples[index] for index in order]
    assert state[1] - state[0] <= 3 * 8 and COUNT - 64 <= state[1] <= COUNT


def test_what_workers_are_asked_for_is_said_at_once(command, names):
    """The command takes no more than ORDER_UNHEARD samples (cli/ahead/orders/order.h) for asked for unless it hears so."""
    asked, state = batches()[1], (0, 0)
    begun = begin(Data(samples=names("a")), asked)
    connection = command.accept()
    for number, batch in enumerate(asked, 1):
        assert number * 8 - state[1] <= 128
        ahead.follow(begun, batch, number)  # none has come back
        state = received(connection)[1] or state
    assert state[0] == 0


def test_the_first_difference_ends_it(command, names):
    data = Data(samples=names("a"))
    begun = begin(data, batches()[1])
    connection = command.accept()
    for batch in batches(step=9)[1][:8]:
        assert received(connection)[1] is not None
        ahead.follow(begun, batch, 0)
    assert received(connection)[1] is None


def test_each_list_is_believed_alone(command, names):
    data = Data(images=names("a"), masks=names("m"))
    asked = batches()[1]
    begun = begin(data, asked)
    of_images, of_masks = command.accept(), command.accept()
    assert received(of_images)[0][1] == data.images[7] and received(of_masks)[0][1] == data.masks[7]
    for word in b"p", b"b":
        of_images.send(word)
    of_masks.send(b"p")
    for batch in asked[:20]:
        ahead.follow(begun, batch, 0)
    del begun
    again = begin(data, asked)
    assert received(command.accept())[0][1] == data.images[7]
    assert not command.is_called_within(0.1)
    again.close()


@pytest.mark.parametrize("unread", [False, True])
@pytest.mark.parametrize("later", [40, 500])
def test_a_list_is_doubted_once_it_is_refuted(command, names, unread, later):
    """The command closes the connection then. `unread`: before it has received all that was sent. `later`: the pass ends
    there, at once or after more batches."""
    data, asked = Data(samples=names("a")), batches()[1]
    begun = begin(data, asked)
    connection = command.accept()
    for word in b"p", b"b", b"r":
        connection.send(word)
    for batch in asked[:40]:
        ahead.follow(begun, batch, 0)
    if not unread:
        received(connection)
    connection.close()
    for batch in asked[40:later]:
        ahead.follow(begun, batch, 0)
    begun.close()
    begin(data, asked)
    assert not command.is_called_within(0.1)


def test_a_list_is_doubted_after_a_short_pass(command, names):
    """It is over before a comparison that counts 64 samples as done."""
    data, (order, _) = Data(samples=names("a")), batches()
    begun = begin(data, asked := [order[:72]])
    command.accept().send(b"p")
    ahead.follow(begun, asked[0], 2)
    begun.close()
    begin(data, asked)
    assert not command.is_called_within(0.1)


@pytest.mark.parametrize(("words", "batches_done"), [((), 20), ([b"p"], 7)], ids=["all files were there", "closed at once"])
def test_a_list_is_not_doubted_unless_its_files_are_not_opened(command, names, words, batches_done):
    """Many programs take one batch, look at it, and begin."""
    data, asked = Data(samples=names("a")), batches()[1]
    begun = begin(data, asked)
    connection = command.accept()
    for word in words:
        connection.send(word)
    for number, batch in enumerate(asked[:20], 1):
        ahead.follow(begun, batch, max(0, number - batches_done - 1))
    begun.close()
    again = begin(data, asked)
    assert received(command.accept())[0][1] == data.samples[7]
    again.close()


def test_a_data_set_without_a_list(command):
    """Its samples' indices are sent, with its number."""
    order, asked = batches()
    begun = ahead.begin(iter(asked), Data(), lambda most: [], key=9)
    message = command.accept().recv(1 << 16)
    begun.close()
    assert HEAD.unpack(message[:HEAD.size])[1:] == (9, 0, 0)
    sent = array.array("Q", message[HEAD.size:]).tolist()
    assert len(sent) > 64 and sent == order[:len(sent)]


def test_an_item_unlike_the_first_ends_its_list(command, names):
    data = Data(images=names("a"), masks=[*names("m")[:3000], *[None] * 1000])
    asked = batches(step=1)[1]
    begun = begin(data, asked)
    of_images, of_masks = command.accept(), command.accept()
    for batch in asked:
        ahead.follow(begun, batch, 0)
        images = received(of_images)
    assert images[1] is not None and received(of_masks)[1] is None


def made_iterator(data, **attributes):
    """An iterator of a loader, with what torch's own has at the end of its first __init__()."""
    class Iterator:
        def __init__(self):
            vars(self).update({"_dataset": data, "_dataset_kind": 0, "_num_workers": 2,
                               "_sampler_iter": iter(BatchSampler(range(COUNT), 8, False)), **attributes})

        def _next_index(self):
            return next(self._sampler_iter)

        def _reset(self, loader, first_iter=False):
            self._sampler_iter = iter(BatchSampler(range(COUNT), 8, False))

    ahead.install(Iterator)
    return Iterator


def test_a_pass_begins_before_its_workers_start(command, names):
    """Workers start behind __init__(). Their first indices are as foretold, and the next pass has an order of its own."""
    iterator = made_iterator(Data(samples=names("a")))()
    connection = command.accept()
    assert received(connection) == (names("a")[:WINDOW], (0, 0))
    connection.send(b"b")
    iterator._reset(None, first_iter=True)
    for _ in range(100):
        iterator._next_index()
    assert received(connection)[1][1] > 700
    iterator._reset(None, False)
    assert received(connection)[1] is None
    iterator._next_index()
    assert received(command.accept())[0] == names("a")[:WINDOW]


@pytest.mark.parametrize("attributes", [{"_num_workers": 0}, {"_dataset_kind": 1}, {"_sampler_iter": iter(batches()[1])}])
def test_a_pass_that_may_draw_first_begins_with_its_first_index(command, names, attributes):
    made_iterator(Data(samples=names("a")), **attributes)()
    assert not command.is_called()


def test_an_iterator_of_another_library_may_be_resumed(command, names):
    kind = made_iterator(Data(samples=names("a")))
    type("Resumed", (kind,), {"__module__": "library"})()
    assert not command.is_called()
