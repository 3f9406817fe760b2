"""Decoding by Stoker and by other libraries (bench/parts/peers.py)."""
