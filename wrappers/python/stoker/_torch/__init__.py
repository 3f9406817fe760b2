"""Batches on their way from a DataLoader's workers to its main process, for scripts as they are.

A worker collates into slots: memory of its own (ring/) that its main process maps once. A slot is written again when
the last tensor over it has ended there. A tensor that is not exactly known goes torch's own way. docs/batches.md
describes all of it.
"""
