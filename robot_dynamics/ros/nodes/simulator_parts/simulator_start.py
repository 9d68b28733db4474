# SPDX-License-Identifier: Apache-2.0
"""State of the simulated arm at start and reset: initial positions, or a named state."""

from __future__ import annotations

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.ros.parameters import ParameterError, given, joint_order
from robot_dynamics.ros.simulator_parameters import SimulatorParameters
from robot_dynamics.simulation.plant import SetState


def start_state(parameters: SimulatorParameters, model: RobotModel) -> SetState:
    """Return the state at start and reset.

    Raises:
        ParameterError: a state is outside the joints' limits, or `reset_to` does not exist.
    """
    states = _named_states(parameters, model)
    if parameters.reset_to:
        if parameters.reset_to not in states:
            known = ', '.join(states) or 'none: set states.names'
            raise ParameterError(f'reset_to is {parameters.reset_to!r}; known states: {known}')
        return states[parameters.reset_to]
    q, qd = (
        parameters.of_joints(f'initial_{part}', model) for part in ('positions', 'velocities')
    )
    if len(parameters.initial_positions) == 1:
        # One value for all joints is clamped to the limits of each.
        q = np.clip(q, model.lower, model.upper)
    limit = model.velocity_limit
    return SetState(
        _within('initial_positions', q, model.lower, model.upper, model),
        _within('initial_velocities', qd, -limit, limit, model),
    )


def _named_states(parameters: SimulatorParameters, model: RobotModel) -> dict[str, SetState]:
    names, positions = given(parameters.states__names), parameters.states__positions
    order = joint_order(parameters.joints, model.joint_names)
    if not names:
        return {}
    if len(set(names)) != len(names):
        raise ParameterError(f'states.names is {", ".join(names)}; each name must be unique')
    if len(positions) != len(names) * model.n:
        raise ParameterError(
            f'states.positions has {len(positions)} values; expected {len(names) * model.n}, '
            f'for {len(names)} states of {model.n} joints, each in the order '
            f'{", ".join(order)}'
        )
    rows = np.reshape(positions, (len(names), model.n))
    columns = [order.index(joint) for joint in model.joint_names]
    return {
        name: SetState(
            _within(f'state {name!r}', row[columns], model.lower, model.upper, model),
            np.zeros(model.n),
        )
        for name, row in zip(names, rows, strict=True)
    }


def _within(what: str, values: Array, low: Array, high: Array, model: RobotModel) -> Array:
    """Return the values (n,) of the joints; raise ParameterError if one is outside its limits."""
    outside = (values < low) | (values > high)
    if outside.any():
        j = int(np.argmax(outside))
        raise ParameterError(
            f'{what}: joint {model.joint_names[j]} at {values[j]}; expected a value in '
            f'[{low[j]}, {high[j]}]'
        )
    return values
