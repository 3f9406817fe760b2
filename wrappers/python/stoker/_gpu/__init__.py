"""Batches of bytes as normalised numbers, on a GPU or on the processor. docs/gpu.md describes all of it.

The README of this folder has the order in which to read its files.
"""
