# SPDX-License-Identifier: Apache-2.0
"""Functions under test: their arguments, their shapes, and the errors of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from robot_dynamics.common.errors import RobotDynamicsError, ShapeError
from robot_dynamics.common.spatial import Array

# Arguments of each function, and the axes of its result: n joints, m directions, l parameters.
FORMS: dict[str, tuple[tuple[str, ...], str]] = {
    'mass_matrix': (('q',), 'nn'),
    'coriolis_matrix': (('q', 'qd'), 'nn'),
    'coriolis_torque': (('q', 'qd'), 'n'),
    'gravity_torque': (('q',), 'n'),
    'inverse_dynamics': (('q', 'qd', 'qdd'), 'n'),
    'forward_dynamics': (('q', 'qd', 'tau'), 'n'),
    'kinetic_energy': (('q', 'qd'), ''),
    'potential_energy': (('q',), ''),
    'generalized_momentum': (('q', 'qd'), 'n'),
    'hamiltonian': (('q', 'p'), ''),
    'friction_torque': (('qd',), 'n'),
    'regressor': (('q', 'qd', 'qdd'), 'nl'),
    'task_inertia': (('q',), 'mm'),
    'task_bias': (('q', 'qd'), 'm'),
}
# Where an argument is in a state (q, qd, qdd).
PLACES = {'q': 0, 'qd': 1, 'p': 1, 'qdd': 2, 'tau': 2}


class FunctionError(RobotDynamicsError, ValueError):
    """A function under test cannot be called, raises an exception, or returns NaN or infinity."""


class Function:
    """A function under test, called with copies of its arguments; its results are checked.

    Attributes:
        call: its name and arguments, such as 'mass_matrix(q)'.
        changed: the name of an argument that it has overwritten, None as long as there is none.
    """

    def __init__(self, name: str, function: Callable[..., Any], sizes: Mapping[str, int]):
        self.name, self._function = name, function
        self._arguments, axes = FORMS[name]
        self._shape = tuple(sizes[axis] for axis in axes)
        self.call = f'{name}({", ".join(self._arguments)})'
        self.changed: str | None = None
        if not callable(function):
            raise FunctionError(
                f'{name} is {function!r}; expected a function {self.call} that returns an array '
                f'of shape {self._shape}'
            )

    def __call__(self, *values: Array) -> Array:
        """Return the result as an array of the right shape.

        Raises:
            FunctionError: the function raises an exception, or returns NaN or infinity.
            ShapeError: the result is no array of numbers, or has another shape.
        """
        copies = [np.array(value, dtype=float) for value in values]
        try:
            returned = self._function(*copies)
        except Exception as error:
            raise FunctionError(
                f'{self.call} raised {type(error).__name__}: {error}; {self._place(values)}'
            ) from error
        for name, value, copy in zip(self._arguments, values, copies, strict=True):
            if not np.array_equal(value, copy):
                self.changed = name
        return self._checked(returned, values)

    def arguments_of(self, state: tuple[Array, Array, Array]) -> tuple[Array, ...]:
        """Return the arguments in a state (q, qd, qdd); tau is the same as qdd, p as qd."""
        return tuple(state[PLACES[name]] for name in self._arguments)

    def _checked(self, returned: Any, values: tuple[Array, ...]) -> Array:
        if returned is None:
            raise ShapeError(
                f'{self.call} returned None; expected an array of shape {self._shape}: '
                'is a return statement missing?'
            )
        try:
            result = np.array(returned, dtype=float)
        except (TypeError, ValueError) as error:
            raise ShapeError(
                f'{self.call} returned {type(returned).__name__} {returned!r}; expected an array '
                f'of {self._shape} numbers'
            ) from error
        if result.shape != self._shape and not (self._shape == () and result.size == 1):
            raise ShapeError(
                f'{self.call} returned an array of shape {result.shape}; expected {self._shape}'
                + self._hint(result)
            )
        result = result.reshape(self._shape)
        if not np.isfinite(result).all():
            raise FunctionError(
                f'{self.call} returned {result.tolist()}; expected finite numbers; '
                f'{self._place(values)}'
            )
        return result

    def _hint(self, result: Array) -> str:
        if len(self._shape) == 1 and result.size == self._shape[0]:
            return ', a vector: np.ravel makes one of a column'
        return ''

    def _place(self, values: tuple[Array, ...]) -> str:
        pairs = zip(self._arguments, values, strict=True)
        return 'at ' + ', '.join(f'{name} = {vector(value)}' for name, value in pairs)


def vector(value: Array) -> str:
    """Return an array as a short text: four digits per entry."""
    return np.array2string(np.asarray(value), precision=4, separator=', ', suppress_small=True)
