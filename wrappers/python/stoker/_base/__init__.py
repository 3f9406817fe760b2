"""Modules that every room of the package may use. They need no library."""
