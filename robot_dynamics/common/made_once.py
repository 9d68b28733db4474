# SPDX-License-Identifier: Apache-2.0
"""Properties that are computed at their first use and then kept."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar('T')


class made_once(Generic[T]):  # noqa: N801  (reads as the decorator it is)
    """As `functools.cached_property`, without the lock that it has before Python 3.12.

    A child forked while another thread is inside such a property would wait for that lock. Two
    threads may compute the value; both get that of the first to finish.
    """

    def __init__(self, method: Callable[[Any], T]):
        functools.update_wrapper(self, method)  # type: ignore[arg-type]
        self.method = method

    def __get__(self, owner: Any, kind: type | None = None) -> T:
        if owner is None:
            return self  # type: ignore[return-value]
        # Python finds this before the descriptor from now on.
        value: T = owner.__dict__.setdefault(self.method.__name__, self.method(owner))
        return value
