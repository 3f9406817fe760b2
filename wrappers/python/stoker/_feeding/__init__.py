"""Batches that threads of this process read and decode, and the random numbers of their images."""
