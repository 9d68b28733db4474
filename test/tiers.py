# SPDX-License-Identifier: Apache-2.0
"""Marks for the tiers of tests: `./run test` leaves out the slow ones."""

import pytest


def slow(values):
    """Return parameters of `pytest.mark.parametrize` that are marked slow."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]
