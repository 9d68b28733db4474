"""What the simulator node can be told, and the simulation that follows from it."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.ros.parameters import (
    FURTHEST,
    LONGEST_TIME,
    ParameterError,
    RobotParameters,
    given,
    joint_order,
    live,
    parameter,
    per_joint,
)
from robot_dynamics.ros.robot_source import bare_robot, friction_of, payload
from robot_dynamics.ros.simulator_joint_models import EffectParameters, joint_effects
from robot_dynamics.simulation import INTEGRATORS, Payload, Simulator
from robot_dynamics.simulation.commands import Load, Place, Plant
from robot_dynamics.simulation.run_control import MOST_STEPS
from robot_dynamics.simulation.scheduling import LoopOptions
from robot_dynamics.spatial import Array


@dataclass(frozen=True)
class SimulatorParameters(EffectParameters):
    """Parameters of the simulator node."""

    payload_mass: float = live(RobotParameters, 'payload_mass')
    payload_com: tuple[float, ...] = live(RobotParameters, 'payload_com')
    payload_inertia: tuple[float, ...] = live(RobotParameters, 'payload_inertia')
    time_step: float = parameter(1e-3, 'Simulated time per step, s.', low=1e-5, high=0.1)
    integrator: str = parameter('rk4', 'How a step is made.', choices=tuple(INTEGRATORS))
    publish_every: int = parameter(
        1,
        'Steps between two joint states (and between two commands in lock step).',
        low=1,
        high=100_000,
        live=True,
    )
    real_time_factor: float = parameter(
        1.0,
        'Simulated time per wall time; 0: as fast as possible.',
        low=0,
        high=1000,
        smallest=1e-3,
        live=True,
    )
    lockstep: bool = parameter(
        False,
        'Wait for the command on joint_effort that carries the stamp of the last joint state '
        'before going on.',
    )
    command_timeout: float = parameter(
        0.5,
        'Wall time after which a command, or the wait for one, is over, s.',
        low=0.001,
        high=LONGEST_TIME,
        live=True,
    )
    on_command_timeout: str = parameter(
        'brake',
        'What the arm does then: brake (held still), zero (no torque), hold_last (last torque).',
        choices=('brake', 'zero', 'hold_last'),
        live=True,
    )
    wrench_timeout: float = parameter(
        0.1,
        'Simulated time for which a message on external_wrench presses on the arm, s.',
        low=0.0,
        high=LONGEST_TIME,
        live=True,
    )
    wrench_frames: tuple[str, ...] = parameter(
        [''],
        'Frames on which wrenches will press: prepared at start. On any other the first one waits '
        'for a compiler.',
    )
    hold_until_command: bool = parameter(
        True, 'Brakes hold the arm until the first command; else it falls.'
    )
    initial_positions: tuple[float, ...] = parameter(
        [0.0],
        'Positions at start and after reset, rad or m: one value for all joints, or one each in '
        'the order of joints.',
        low=-FURTHEST,
        high=FURTHEST,
        live=True,
    )
    initial_velocities: tuple[float, ...] = parameter(
        [0.0],
        'Velocities there, rad/s or m/s. An arm that starts in motion is not held.',
        low=-FURTHEST,
        high=FURTHEST,
        live=True,
    )
    states_names: tuple[str, ...] = parameter(
        [''], 'States of rest that have a name.', name='states.names'
    )
    states_positions: tuple[float, ...] = parameter(
        [0.0],
        'Their positions, one state after the other, rad or m, in the order of joints.',
        low=-FURTHEST,
        high=FURTHEST,
        name='states.positions',
    )
    reset_to: str = parameter(
        '', 'The named state of start and reset; empty: the initial positions.', live=True
    )
    steps_per_call: int = parameter(
        1, 'Steps that one call of ~/step makes.', low=1, high=MOST_STEPS, live=True
    )
    start_paused: bool = parameter(False, 'Start paused; the service ~/resume goes on.')
    publish_clock: bool = parameter(False, 'Publish simulated time on /clock.')
    wall_stamps: bool = parameter(
        False,
        'Stamps count from the wall time at start and reset instead of from 0: for tools that do '
        'not use simulated time.',
    )
    record_to: str = parameter(
        '',
        'Record into this new .mcap file, or into a new file in this folder, from the start; '
        'where ~/record goes on.',
        live=True,
    )


def loop_options(parameters: SimulatorParameters) -> LoopOptions:
    """Return how the loop is to behave."""
    return LoopOptions(
        **{item.name: getattr(parameters, item.name) for item in fields(LoopOptions)}
    )


def unloaded_robot(parameters: SimulatorParameters, text: str) -> RobotModel:
    """Return the robot of a URDF, or of the file that is named, with friction and no payload."""
    model = bare_robot(parameters, text)
    friction = friction_of(parameters, model)
    return model.with_actuation(viscous=friction.viscous, coulomb=friction.coulomb)


def plant(parameters: SimulatorParameters, arm: Dynamics) -> Plant:
    """Return this arm, which carries nothing yet; programs for loads and wrenches are made now.

    Raises:
        ParameterError: neither one value nor one for each joint.
        ModelError: an effect that this arm cannot have.
        FrameNotFound: no such link or frame.
    """
    frames = given(parameters.wrench_frames)
    for frame in frames:
        arm.forward_kinematics(np.zeros(arm.model.n), frame)
    return Plant(
        Simulator(
            arm,
            time_step=parameters.time_step,
            integrator=INTEGRATORS[parameters.integrator],
            effects=joint_effects(parameters, arm.model),
            payload_links=given((parameters.payload_link,)),
            wrench_frames=frames,
        )
    )


def loads(parameters: SimulatorParameters) -> list[Load]:
    """Return the deeds that let the arm carry its payload and nothing else; of mass 0, nothing.

    Raises:
        ModelError: no link carries it, or no body has such an inertia.
    """
    carried, link = payload(parameters), parameters.payload_link
    if not link:
        return []
    if carried.mass == 0 and not carried.inertia_com.any():
        return [Load(link, None)]
    return [Load(link, Payload(carried.mass, carried.com, carried.inertia_com))]


def start_state(parameters: SimulatorParameters, model: RobotModel) -> Place:
    """Return where the arm is put at start and reset.

    Raises:
        ParameterError: a state is outside the joint's limits, or there is none of that name.
    """
    states = named_states(parameters, model)
    if parameters.reset_to:
        if parameters.reset_to not in states:
            known = ', '.join(states) or 'none: see states.names'
            raise ParameterError(f'reset_to is {parameters.reset_to!r}; there are {known}')
        return states[parameters.reset_to]
    return Place(_initial_positions(parameters, model), _initial_velocities(parameters, model))


def named_states(parameters: SimulatorParameters, model: RobotModel) -> dict[str, Place]:
    """Return the states that have a name. Raises ParameterError."""
    names, values = given(parameters.states_names), parameters.states_positions
    order = joint_order(parameters.joints, model.joint_names)
    if not names:
        return {}
    if len(set(names)) != len(names):
        raise ParameterError(f'states.names is {", ".join(names)}; each must be there once')
    if len(values) != len(names) * model.n:
        raise ParameterError(
            f'states.positions has {len(values)} values; {len(names)} states of {model.n} joints '
            f'have {len(names) * model.n}, each in the order {", ".join(order)}'
        )
    rows = np.reshape(values, (len(names), model.n))
    columns = [order.index(joint) for joint in model.joint_names]
    return {
        name: Place(_within(f'state {name!r}', row[columns], model), np.zeros(model.n))
        for name, row in zip(names, rows, strict=True)
    }


def _initial_positions(parameters: SimulatorParameters, model: RobotModel) -> Array:
    values = parameters.initial_positions
    order = joint_order(parameters.joints, model.joint_names)
    q = per_joint('initial_positions', values, order, model.joint_names)
    if len(values) == 1:
        # One value for all may lie outside the limits of some joints: the nearest will do.
        return np.clip(q, model.lower, model.upper)
    return _within('initial_positions', q, model)


def _initial_velocities(parameters: SimulatorParameters, model: RobotModel) -> Array:
    order = joint_order(parameters.joints, model.joint_names)
    qd = per_joint(
        'initial_velocities', parameters.initial_velocities, order, model.joint_names
    ).copy()
    limit = model.velocity_limit
    if (np.abs(qd) > limit).any():
        j = int(np.argmax(np.abs(qd) > limit))
        raise ParameterError(
            f'initial_velocities: joint {model.joint_names[j]} at {qd[j]}; it must be in '
            f'[{-limit[j]}, {limit[j]}]'
        )
    return qd


def _within(what: str, q: Array, model: RobotModel) -> Array:
    outside = (q < model.lower) | (q > model.upper)
    if outside.any():
        j = int(np.argmax(outside))
        raise ParameterError(
            f'{what}: joint {model.joint_names[j]} at {q[j]}; it must be in '
            f'[{model.lower[j]}, {model.upper[j]}]'
        )
    return q
