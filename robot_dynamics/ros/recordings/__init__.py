"""Runs of the simulator in MCAP files: written, read, and made again bit for bit.

`run_messages` says what is kept, and as which messages; `run_recorder` keeps it in a `run_file`,
encoded by `cdr`; `run_reader` reads it back, and `replay` makes the motion again.
"""
