"""Modules that every folder of the package may use. They need no library."""
