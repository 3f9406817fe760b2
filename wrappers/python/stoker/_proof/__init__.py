"""The self-test of the decoder: its images, and its remembered answers."""
