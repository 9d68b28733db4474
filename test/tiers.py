# SPDX-License-Identifier: Apache-2.0
"""Marks for the tiers of tests: `./run test`, `./run test --all` and `./run test --soak`."""

import pytest


def slow(values):
    """Return parameters of `pytest.mark.parametrize` that are marked slow."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def soak(values):
    """Return parameters of `pytest.mark.parametrize` that only a soak runs."""
    return [pytest.param(value, marks=pytest.mark.soak) for value in values]
