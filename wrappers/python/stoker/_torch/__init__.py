"""Batches on their way from a DataLoader's workers to its main process, for scripts as they are.

A worker collates into slots: memory of its own (ring/) that its main process maps once, and that is
written again when the last tensor over it has ended there. What is not exactly known goes torch's own
way. docs/batches.md has the whole of it.
"""
