"""Adapters from physics engines to this package's joint coordinates, each in its own process."""
