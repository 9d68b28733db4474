# SPDX-License-Identifier: Apache-2.0
"""Callers of an object that use their arrays again, or keep its results."""

import enum
import importlib
import inspect
import pkgutil

import numpy as np

from robot_dynamics.control import Reference


class Caller:
    """Caller of an object, whose arrays are overwritten after each call if it reuses them.

    Otherwise it keeps the results as they were returned.
    """

    def __init__(self, reuses):
        self._reuses, self._arrays, self.results, self._returned = reuses, [], [], []

    def __call__(self, values):
        """Return an array with these values."""
        self._arrays.append(np.array(values))
        return self._arrays[-1]

    def reference(self, *rows):
        return Reference(*map(self, rows))

    def reuse(self, *results):
        """Keep the results of a call, then use its arrays, and those that it returned, again."""
        results = [value for value in flat(results) if value is not None]
        copies = [np.array(value) for value in results]
        assert all(array.flags.writeable for array in self._arrays)  # they are the caller's
        self.results += copies
        if self._reuses:
            for array in (*self._arrays, *results):
                if isinstance(array, np.ndarray) and array.flags.writeable:
                    array[...] = ~array if array.dtype == bool else array + 0.37
        else:
            self._returned += zip(results, copies, strict=True)
        self._arrays.clear()

    def check_returned(self):
        """Assert that no later call has changed a result."""
        for returned, before in self._returned:
            np.testing.assert_array_equal(returned, before)


def flat(results):
    for value in results:
        if isinstance(value, tuple):
            yield from flat(value)
        else:
            yield value


def check_reuse(case):
    """Assert that a case has the same results for a caller that reuses its arrays."""
    own, reused = Caller(reuses=False), Caller(reuses=True)
    case(own)
    case(reused)
    own.check_returned()
    assert len(own.results) == len(reused.results) > 0
    for wanted, found in zip(own.results, reused.results, strict=True):
        np.testing.assert_array_equal(found, wanted)


def objects_of(packages, *modules):
    """Return the public classes of packages and modules that may keep an array of their caller."""
    found = [
        importlib.import_module(one.name)
        for package in packages
        for one in pkgutil.walk_packages(package.__path__, f'{package.__name__}.')
    ]
    return {
        kind
        for module in [*found, *modules]
        for name, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__ and not name.startswith('_')
        if not issubclass(kind, tuple | enum.Enum | Exception)
        if not getattr(kind, '_is_protocol', False)
    }
