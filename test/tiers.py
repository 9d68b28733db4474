# SPDX-License-Identifier: Apache-2.0
"""Marks for the tiers of tests: `./run test`, `./run test --all` and `./run test --soak`."""

import pytest


def slow(values):
    """Return parameters of `pytest.mark.parametrize` that are marked slow."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def soak(values):
    """Return parameters of `pytest.mark.parametrize` that only a soak runs."""
    return [pytest.param(value, marks=pytest.mark.soak) for value in values]


def slow_rows(rows):
    """Return rows of parameters, for several names, that are marked slow."""
    return [pytest.param(*row, marks=pytest.mark.slow) for row in rows]


def soak_rows(rows):
    """Return rows of parameters, for several names, that only a soak runs."""
    return [pytest.param(*row, marks=pytest.mark.soak) for row in rows]
