"""Decoders of JPEGs besides Pillow, each replaced by functions with the same results."""
