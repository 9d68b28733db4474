# SPDX-License-Identifier: Apache-2.0
"""The convex solver and its threads: optional packages, imported where a problem is solved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.extras import needed


class SolverError(RobotDynamicsError, RuntimeError):
    """The convex problem was not solved, or its solver is not installed."""


def solver() -> Any:
    """Return cvxpy, with clarabel installed. Raises SolverError if either is missing."""
    with needed('identify', 'identification needs cvxpy', SolverError):
        import cvxpy
    with needed('identify', 'identification needs clarabel', SolverError):
        import clarabel  # noqa: F401
    return cvxpy


@contextmanager
def single_thread() -> Iterator[None]:
    """Bound linear algebra to one thread: with more, small matrices take up to ten times as long.

    Raises:
        SolverError: threadpoolctl is not installed.
    """
    with needed('identify', 'identification needs threadpoolctl', SolverError):
        from threadpoolctl import threadpool_limits
    with threadpool_limits(limits=1):
        yield
