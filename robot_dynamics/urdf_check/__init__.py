"""Faults of robot descriptions, and their repairs: see `examination.examine`."""
