"""Decoders of JPEGs and PNGs besides Pillow, each replaced by functions with the same results."""
