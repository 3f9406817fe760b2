#!/usr/bin/env python3
"""Draws the batches of loaders of torch and of libraries, of one after the other: PROGRAM DIRECTORY KIND...

The files of the n-th are in DIRECTORY/n. After each loader the program runs the command in AFTER_EACH. Prints a line for
each epoch: a digest of its batches, and draws. The main process draws between its batches, and workers
draw for each sample."""

import contextlib
import hashlib
import io
import os
import random
import sys
import tempfile

import numpy
import torch
from torch import distributed
from torch.utils.data import DataLoader, Dataset, RandomSampler
from torch.utils.data.distributed import DistributedSampler

EPOCHS = 2
USUAL = {"batch_size": 8, "num_workers": 2}


class Files(Dataset):
    def __init__(self, directory):
        self.files = sorted(os.path.join(directory, name) for name in os.listdir(directory))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        with open(self.files[index], "rb") as file:
            number = int.from_bytes(file.read()[:4], "big")
        return number + torch.randint(9, ()).item() + random.randrange(9)


def drawn():
    return torch.rand(1).item(), random.random(), numpy.random.rand()


def said(digest, batch):
    digest.update(str((batch.tolist(), drawn())).encode())


def train(loader, set_epoch=None, most=None):
    for epoch in range(EPOCHS):
        digest = hashlib.sha256()
        for number, batch in enumerate(loader):
            said(digest, batch)
            if number + 1 == most:
                break
        if set_epoch is not None:
            set_epoch(epoch + 1)
        print(digest.hexdigest()[:16], *drawn(), flush=True)


# ---- torch ----

def started(how):
    """One worker: each that is not forked imports torch anew."""
    return lambda data: train(DataLoader(data, shuffle=True, multiprocessing_context=how, persistent_workers=True, batch_size=8,
                                         num_workers=1))


def one_generator(data):
    """The sampler and the loader draw from it, and so does the program."""
    generator = torch.Generator().manual_seed(3)
    loader = DataLoader(data, sampler=RandomSampler(data, generator=generator), generator=generator, **USUAL)
    for _ in range(EPOCHS):
        train(loader)
        print(torch.rand(1, generator=generator).item())


def rank(data):
    sampler = DistributedSampler(data, num_replicas=2, rank=1)
    train(DataLoader(data, sampler=sampler, **USUAL), sampler.set_epoch)


def ranks(data):
    """Two ranks of one job, each a child of this process: without Stoker, for what is printed."""
    with tempfile.TemporaryDirectory() as directory:
        os.environ.update(STORE=f"file://{directory}/store", WORLD_SIZE="2", GLOO_SOCKET_IFNAME="lo")
        children = []
        for number in range(2):
            children.append(os.fork())
            if children[-1] == 0:
                os.environ["RANK"] = str(number)
                seed()  # of which a fork changes random's
                rank_of_two(data)
                sys.stdout.flush()
                os._exit(0)
        assert all(os.waitpid(child, 0)[1] == 0 for child in children)


def rank_of_two(data):
    """The first rank prints for both."""
    distributed.init_process_group("gloo", init_method=os.environ.get("STORE", "env://"), rank=int(os.environ["RANK"]),
                                   world_size=2)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, sampler=sampler, persistent_workers=True, **USUAL)
    lines = io.StringIO()
    with contextlib.redirect_stdout(lines):
        train(loader, sampler.set_epoch)
    both = [None, None]
    distributed.all_gather_object(both, lines.getvalue())
    if distributed.get_rank() == 0:
        print(*both, sep="", end="", flush=True)
    distributed.destroy_process_group()


# ---- libraries ----

def stateful(data):
    """An epoch is left in the middle, and resumed by another loader."""
    from torchdata.stateful_dataloader import StatefulDataLoader

    def loader():
        return StatefulDataLoader(data, shuffle=True, **USUAL)
    first = loader()
    batches = iter(first)
    print([next(batches).tolist() for _ in range(5)])
    state = first.state_dict()
    del batches, first
    second = loader()
    second.load_state_dict(state)
    train(second)


def accelerated(data):
    """The second of two ranks."""
    from accelerate import PartialState
    from accelerate.data_loader import prepare_data_loader
    PartialState(cpu=True)
    loader = prepare_data_loader(DataLoader(data, shuffle=True, **USUAL), num_processes=2, process_index=1,
                                 use_seedable_sampler=True, data_seed=5)
    train(loader)


def many_epochs(data):
    from timm.data.loader import MultiEpochsDataLoader
    train(MultiEpochsDataLoader(data, shuffle=True, drop_last=True, **USUAL))


def repeated(data):
    from timm.data.distributed_sampler import RepeatAugSampler
    sampler = RepeatAugSampler(data, num_replicas=2, rank=1, selected_round=0, selected_ratio=1)
    train(DataLoader(data, sampler=sampler, persistent_workers=True, **USUAL), sampler.set_epoch)


def by_length(data):
    from transformers.trainer_pt_utils import LengthGroupedSampler
    train(DataLoader(data, sampler=LengthGroupedSampler(8, lengths=[number * 7 % 31 for number in range(len(data))]),
                     **USUAL))


def lightning_fit(data):
    """With a look at two validation batches before the first epoch."""
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.weight, self.digest = torch.nn.Parameter(torch.ones(1)), hashlib.sha256()

        def training_step(self, batch, _):
            said(self.digest, batch)
            return (self.weight * batch.float()).mean()

        def validation_step(self, batch, _):
            said(self.digest, batch)

        def on_train_epoch_end(self):
            print(self.digest.hexdigest()[:16], *drawn(), flush=True)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 1e-9)

    trainer = lightning.Trainer(max_epochs=EPOCHS, accelerator="cpu", logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Module(), DataLoader(data, shuffle=True, **USUAL), DataLoader(data, **USUAL))


KINDS = {"fork": started("fork"), "spawn": started("spawn"), "forkserver": started("forkserver"), "one generator": one_generator, "rank": rank,
         "two ranks": ranks, "a rank of two": rank_of_two, "torchdata": stateful, "accelerate": accelerated,
         "timm": many_epochs, "timm repeated": repeated, "transformers": by_length, "lightning": lightning_fit}


def seed():
    torch.manual_seed(7)
    random.seed(7)
    numpy.random.seed(7)


def main():
    torch.set_num_threads(1)
    seed()
    for number, kind in enumerate(sys.argv[2:]):
        KINDS[kind](Files(f"{sys.argv[1]}/{number}"))
        os.system(os.environ.get("AFTER_EACH", ""))


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # Python needs a third of a second to take torch apart
