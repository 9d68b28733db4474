# SPDX-License-Identifier: Apache-2.0
"""The convex solver and its threads: optional packages, imported where a problem is solved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from robot_dynamics.common.errors import RobotDynamicsError


class SolverError(RobotDynamicsError, RuntimeError):
    """The convex problem was not solved, or its solver is not installed."""


def solver() -> Any:
    """Return cvxpy, with clarabel installed. Raises SolverError if either is missing."""
    try:
        import cvxpy  # isort: skip
        import clarabel  # noqa: F401
    except ImportError as error:
        raise _missing(error) from error
    return cvxpy


@contextmanager
def single_thread() -> Iterator[None]:
    """Bound linear algebra to one thread: with more, small matrices take up to ten times as long.

    Raises:
        SolverError: threadpoolctl is not installed.
    """
    try:
        from threadpoolctl import threadpool_limits
    except ImportError as error:
        raise _missing(error) from error
    with threadpool_limits(limits=1):
        yield


def _missing(error: ImportError) -> SolverError:
    return SolverError(
        f'identification needs cvxpy, clarabel and threadpoolctl; one cannot be imported '
        f"({error}): in a checkout pip install '.[identify]'"
    )
