"""Libraries around torch's DataLoader, as people use them. Arguments: which one; a folder of images.

They print each loss of a training and the weights at its end, to the last bit.
"""

import contextlib
import logging
import os
import sys

import saying
import torch
from samples import array, image
from torch.utils.data import DataLoader, Dataset, IterableDataset

os.environ.update(HF_HUB_OFFLINE="1", NO_ALBUMENTATIONS_UPDATE="1", TOKENIZERS_PARALLELISM="false")
logging.disable(logging.WARNING)
SIDE = 60  # a sample has 43 KB
WORKERS = 2


class Images(Dataset):
    def __len__(self):
        return 22

    def __getitem__(self, index):
        return image(index, SIDE), index % 5


def bits(number):
    return float(number).hex()


def weights(model):
    return saying.digest_of([one for one in model.state_dict().values()])


def make_model():
    """Small, but of what networks are made of."""
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 5, stride=2), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
        torch.nn.Conv2d(8, 8, 3, stride=2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(2),
        torch.nn.Flatten(), torch.nn.Dropout(0.2), torch.nn.Linear(32, 5))


def train(model, loader, epochs=2, **options):
    loss_of = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, **options)
    losses = []
    for _ in range(epochs):
        for images, targets in loader:
            optimizer.zero_grad()
            loss = loss_of(model(images), targets)
            loss.backward()
            optimizer.step()
            losses.append(bits(loss))
    return losses, weights(model)


# ---- torch and torchvision alone ----

def folder_of(directory, side=64):
    from torchvision import datasets, transforms
    return datasets.ImageFolder(directory, transforms.Compose([
        transforms.RandomResizedCrop(side), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
        transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]))


def trained(directory, make, **options):
    loader = DataLoader(folder_of(directory), batch_size=6, shuffle=True, num_workers=WORKERS,
                        persistent_workers=True, timeout=100, **options)
    return lambda: train(make(), loader)


def resnet():
    from torchvision import models
    return models.resnet18(num_classes=5)


def torchvision_cases(directory):
    return {"small network": trained(directory, make_model),
            "small network, pin_memory": trained(directory, make_model, pin_memory=True),
            "ResNet-18": trained(directory, resnet)}


# ---- torchdata ----

class Resumed(Images):
    """With a state of its own, some of it large enough for a slot."""

    def __init__(self):
        self.given = torch.zeros(90, 90)

    def __getitem__(self, index):
        self.given.view(-1)[index] += 1
        return image(index, SIDE) + torch.rand(()), float(self.given.sum())

    def state_dict(self):
        return {"given": self.given.clone()}  # the worker goes on, and torch shares what is sent

    def load_state_dict(self, state):
        self.given = state["given"].clone()


class ResumedStream(IterableDataset):
    """A stream of such images, each worker with its share."""

    def __init__(self):
        self.at, self.sum = None, torch.zeros(3, SIDE, SIDE)

    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        at, self.at = self.at, None
        self.at = worker.id if at is None else at
        while self.at < 25:
            one = image(self.at, SIDE)
            self.sum += one
            self.at += worker.num_workers
            yield one, self.sum.clone()
        self.at = None

    def state_dict(self):
        return {"at": self.at, "sum": self.sum.clone()}

    def load_state_dict(self, state):
        self.at, self.sum = state["at"], state["sum"]


def stopped_and_resumed(make, after, **options):
    """Takes an epoch; a part of one; by another loader the rest, and the next epoch. The kept part
    of the state is then what it was."""
    from torchdata.stateful_dataloader import StatefulDataLoader

    def loader():
        return StatefulDataLoader(make(), **{"batch_size": 4, "num_workers": WORKERS, "timeout": 100,
                                             **options})
    first = loader()
    saw = [saying.describe(batch) for batch in first]
    batches = iter(first)
    saw += [saying.describe(next(batches)) for _ in range(after)]
    state = first.state_dict()
    before = saying.describe(state)
    saw += [saying.describe(batch) for batch in batches]
    del batches, first
    second = loader()
    second.load_state_dict(state)
    for _ in range(2):
        saw += [saying.describe(batch) for batch in second]
    return saw, before, before == saying.describe(state), saying.draws()


def torchdata_cases(directory):
    def case(make, after, **options):
        return lambda: stopped_and_resumed(make, after, **options)
    files = folder_of(directory)
    return {"map": case(Images, 3), "map, shuffled": case(Images, 2, shuffle=True),
            "map, persistent": case(Images, 3, shuffle=True, persistent_workers=True),
            "map, batches of the data set": case(Images, 5, batch_size=None),
            "map with a state": case(Resumed, 3),
            "map with a state, sometimes": case(Resumed, 3, snapshot_every_n_steps=2),
            "stream": case(ResumedStream, 3),
            "stream, persistent": case(ResumedStream, 4, persistent_workers=True),
            "stream, sometimes": case(ResumedStream, 5, snapshot_every_n_steps=3),
            "spawn": case(Images, 3, multiprocessing_context="spawn"),
            "files": case(lambda: files, 2, shuffle=True, pin_memory=True)}


# ---- Lightning ----

def make_module():
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model, self.said = make_model(), []

        def _loss(self, batch):
            images, targets = batch
            loss = torch.nn.functional.cross_entropy(self.model(images), targets)
            self.said.append(bits(loss))
            return loss

        def training_step(self, batch, number):
            return self._loss(batch)

        def validation_step(self, batch, number):
            self._loss(batch)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.05)

    return Module()


def fitted(train, validate, **options):
    import lightning
    module = make_module()
    trainer = lightning.Trainer(**{
        "accelerator": "cpu", "devices": 1, "max_epochs": 2, "logger": False,
        "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False,
        **options})
    trainer.fit(module, train, validate)
    return module.said, weights(module), saying.draws()


def lightning_cases(directory):
    def loader(**options):
        return DataLoader(folder_of(directory), batch_size=6, num_workers=WORKERS, timeout=100,
                          **options)
    return {
        "fit": lambda: fitted(loader(shuffle=True), loader()),
        "fit, persistent": lambda: fitted(loader(shuffle=True, persistent_workers=True),
                                          loader(persistent_workers=True, pin_memory=True)),
        "fit, two loaders at once": lambda: fitted(
            _Combined({"a": loader(shuffle=True), "b": loader(shuffle=True)}).as_pairs(), loader()),
        "fit, batches gathered": lambda: fitted(loader(shuffle=True), loader(),
                                                accumulate_grad_batches=2, limit_val_batches=1),
        "fit, two ranks": lambda: fitted(loader(shuffle=True), loader(), devices=2,
                                         strategy="ddp_fork", use_distributed_sampler=True),
    }


class _Combined:
    """Lightning's own way to go through several loaders, whose batches are joined."""

    def __init__(self, loaders):
        self._loaders = loaders

    def as_pairs(self):
        from lightning.pytorch.utilities import CombinedLoader
        combined = CombinedLoader(self._loaders, "max_size_cycle")

        class Joined:
            def __iter__(self):
                for batch, _, _ in combined:
                    pairs = list(batch.values())
                    yield tuple(torch.cat(parts) for parts in zip(*pairs))

            def __len__(self):
                iter(combined)
                return len(combined)
        return Joined()


# ---- timm ----

def timm_cases(directory):
    from timm import data

    def seen(mixed=False, **options):
        options = {"is_training": True, "use_prefetcher": False, "device": torch.device("cpu"), **options}
        if mixed:
            options["collate_fn"] = data.FastCollateMixup(0.8, 1.0, num_classes=5)
        loader = data.create_loader(data.ImageDataset(directory), (3, SIDE, SIDE), 6,
                                    num_workers=WORKERS, **options)
        return [saying.describe(batch) for _ in range(2) for batch in loader], saying.draws()
    return {
        "plain": seen,
        "prefetched": lambda: seen(use_prefetcher=True),
        "prefetched, erased": lambda: seen(use_prefetcher=True, re_prob=0.5, re_mode="pixel"),
        "augmented": lambda: seen(auto_augment="rand-m9-mstd0.5", re_prob=0.4, color_jitter=0.3),
        "mixed": lambda: seen(mixed=True, use_prefetcher=True),
        "validation": lambda: seen(is_training=False, use_prefetcher=True, pin_memory=True),
        "validation, plain": lambda: seen(is_training=False, persistent_workers=False),
        "epochs in one": lambda: seen(use_multi_epochs_loader=True),
        "trained": lambda: train(make_model(), data.create_loader(
            data.ImageDataset(directory), (3, SIDE, SIDE), 6, is_training=True, num_workers=WORKERS,
            use_prefetcher=True, device=torch.device("cpu"))),
    }


# ---- Hugging Face ----

WORDS = ("<pad> <unk> <mask> a batch of words goes from one process to another and nothing of it is "
         "lost on the way").split()


def make_tokenizer():
    import tokenizers
    import transformers
    plain = tokenizers.Tokenizer(tokenizers.models.WordLevel(
        {word: i for i, word in enumerate(dict.fromkeys(WORDS))}, unk_token="<unk>"))
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="<pad>", unk_token="<unk>", mask_token="<mask>")


class Texts(Dataset):
    """Texts of different lengths; the longest are worth a slot."""

    def __init__(self, *more):
        self._more, self._tokenizer = more, make_tokenizer()

    def __len__(self):
        return 22

    def __getitem__(self, index):
        words = [WORDS[3 + (index + i) % (len(WORDS) - 3)] for i in range(10 + 60 * index)]
        one = dict(self._tokenizer(" ".join(words)))
        return {**one, **{key: [i % 3 for i in one["input_ids"]] if key == "labels" else index % 5
                          for key in self._more}}


class Pictures(Images):
    """As feature extractors give them."""

    def __init__(self, make):
        self._make = make

    def __getitem__(self, index):
        return {"pixel_values": self._make(index, SIDE), "label": index % 5, "path": "not for models"}


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = make_model()

    def forward(self, pixel_values, labels):
        out = self.model(pixel_values)
        return {"loss": torch.nn.functional.cross_entropy(out, labels), "logits": out}


def trained_by_trainer(directory, **options):
    import tempfile

    import transformers
    model = Classifier()
    with tempfile.TemporaryDirectory() as out, contextlib.redirect_stdout(sys.stderr):
        arguments = transformers.TrainingArguments(
            out, use_cpu=True, per_device_train_batch_size=4, per_device_eval_batch_size=4,
            num_train_epochs=2, logging_steps=1, save_strategy="no", eval_strategy="epoch",
            report_to=[], disable_tqdm=True, dataloader_num_workers=WORKERS, seed=3, **options)
        trainer = transformers.Trainer(model, arguments, train_dataset=Pictures(image),
                                       eval_dataset=Pictures(array))
        trainer.train()
    told = [{key: bits(value) for key, value in row.items() if "loss" in key or "grad" in key}
            for row in trainer.state.log_history]
    return told, weights(model), saying.draws()


def transformers_cases(directory):
    import transformers
    tokenizer = make_tokenizer()

    def seen(dataset, collate, **options):
        loader = DataLoader(dataset, batch_size=4, shuffle=True, num_workers=WORKERS, timeout=100,
                            collate_fn=collate, **options)
        return [saying.describe(batch) for _ in range(2) for batch in loader], saying.draws()
    made = {
        "default": lambda: seen(Pictures(image), transformers.default_data_collator),
        "default, arrays": lambda: seen(Pictures(array), transformers.default_data_collator,
                                        persistent_workers=True, pin_memory=True),
        "default, spawn": lambda: seen(Pictures(image), transformers.default_data_collator,
                                       multiprocessing_context="spawn"),
        "padding": lambda: seen(Texts("label"), transformers.DataCollatorWithPadding(tokenizer)),
        "padding to a multiple": lambda: seen(
            Texts(), transformers.DataCollatorWithPadding(tokenizer, pad_to_multiple_of=64)),
        "tokens": lambda: seen(Texts("labels"),
                               transformers.DataCollatorForTokenClassification(tokenizer)),
        "masked": lambda: seen(Texts(), transformers.DataCollatorForLanguageModeling(tokenizer)),
        "sequences": lambda: seen(Texts("labels"),
                                  transformers.DataCollatorForSeq2Seq(tokenizer, padding=True)),
    }
    try:
        import accelerate  # noqa: F401
    except ImportError:
        return made
    return {**made, "Trainer": lambda: trained_by_trainer(directory),
            "Trainer, persistent": lambda: trained_by_trainer(
                directory, dataloader_persistent_workers=True, dataloader_prefetch_factor=4)}


TABLES = {"torchvision": torchvision_cases, "torchdata": torchdata_cases,
          "lightning": lightning_cases, "timm": timm_cases, "transformers": transformers_cases}

if __name__ == "__main__":
    name, folder = sys.argv[1:3]
    del sys.argv[1:3]
    saying.run(TABLES[name](folder))
