"""Decoding by Stoker and by other libraries (bench/parts/pixels/peers.py)."""
