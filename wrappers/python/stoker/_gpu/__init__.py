"""Batches of bytes as normalised numbers, on a GPU or on this processor. docs/gpu.md has the whole of it.

What is wanted of a batch (images), where its tensors are (leaves), a device and the slots that it has
locked (device), what is under way there (ahead), and all that asks torch for a GPU (cuda).
"""
