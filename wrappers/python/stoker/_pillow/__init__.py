"""Pillow's images, with JPEGs that wait as plans. Everything here needs Pillow."""
