"""The parts of the benchmark, in the order in which they run and are shown. measure() of each returns a table."""

PARTS = ("calls.hit", "calls.stat", "calls.uncovered", "calls.miss", "calls.outside", "jobs.epochs", "calls.first",
         "pixels.decode", "pixels.peers", "pixels.stages", "pixels.entropy", "pixels.form", "pixels.memory",
         "pixels.samples", "pixels.image", "jobs.recipes", "jobs.batches", "jobs.feed", "storage.warm", "storage.scan",
         "jobs.ahead", "jobs.order", "storage.big", "storage.readers", "storage.outgrown", "storage.many", "storage.tiers",
         "storage.places", "storage.cluster", "storage.cluster_model", "jobs.gpu")
MODULES = {part.rpartition(".")[2]: "parts." + part for part in PARTS}
ASKED_FOR = ("peers", "gpu")  # parts that only `make bench-peers` and `make bench-gpu` do
