# SPDX-License-Identifier: Apache-2.0
"""Parameters of the nodes with few of their own, and the names of those of all nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from robot_dynamics.common.settings import LOWEST_RATE, RATE, TIME
from robot_dynamics.ros.feedforward_parameters import FeedforwardParameters
from robot_dynamics.ros.observer_parameters import ObserverParameters
from robot_dynamics.ros.parameters import parameter, specs
from robot_dynamics.ros.robot_parameters import (
    HOLD,
    DriveParameters,
    MeasuredParameters,
    RobotParameters,
    VaryingRobotParameters,
)
from robot_dynamics.ros.simulator_parameters import SimulatorParameters
from robot_dynamics.validation.comparison import TOLERANCE
from robot_dynamics.validation.engines import ENGINES

SCALE = (0.0, 1e6)  # bounds of lengths per quantity
OF_ROS = ('use_sim_time', 'start_type_description_service')


@dataclass(frozen=True)
class DynamicsParameters(MeasuredParameters):
    """Parameters of the dynamics node."""

    publish_rate: float = parameter(
        0.0,
        'Largest rate of the output, Hz of the stamps; 0: one for every joint state.',
        RATE,
        smallest=LOWEST_RATE,
        live=True,
    )
    acceleration_source: str = parameter(
        'differentiate',
        'Where accelerations come from: none (no inertia and inverse dynamics torque), '
        'differentiate (measured velocities, low-pass filtered), reference (a one-point '
        'JointTrajectory on the topic reference).',
        choices=('none', 'differentiate', 'reference'),
    )
    acceleration_cutoff: float = parameter(
        20.0, 'Cut-off frequency of that low-pass, Hz.', (0.1, 1000.0), live=True
    )


@dataclass(frozen=True)
class MarkersParameters(VaryingRobotParameters):
    """Parameters of the markers node."""

    input_timeout: float = parameter(0.5, HOLD, TIME)
    publish_rate: float = parameter(
        20.0,
        'Largest rate of the markers, Hz of the stamps; 0: one for every joint state.',
        RATE,
        smallest=LOWEST_RATE,
    )
    show_weight: bool = parameter(True, 'Draw the weight of every body.', live=True)
    show_joint_torque: bool = parameter(True, 'Draw the torque of every joint.', live=True)
    show_center_of_mass: bool = parameter(True, 'Draw the centre of mass of each body.', live=True)
    show_inertia: bool = parameter(True, 'Draw the inertia of every body.', live=True)
    show_manipulability: bool = parameter(
        True, 'Draw the manipulability ellipsoid at tip_frame.', live=True
    )
    show_tip_inertia: bool = parameter(
        True, 'Draw the ellipsoid of the effective inertia at tip_frame.', live=True
    )
    tip_frame: str = parameter(
        '', 'Link of both ellipsoids. Empty: tip_link; if that is empty as well, none is drawn.'
    )
    torque_source: str = parameter(
        'gravity',
        'Torques drawn: gravity (gravity torques) or effort (those of joint_states).',
        choices=('gravity', 'effort'),
        live=True,
    )
    inertia_shape: str = parameter(
        'ellipsoid',
        'Solid that shows an inertia.',
        choices=('ellipsoid', 'box'),
        live=True,
    )
    force_scale: float = parameter(0.003, 'Length of forces, m per N.', SCALE, live=True)
    torque_scale: float = parameter(
        0.01, 'Length of torques, m per N m (or N, where a joint slides).', SCALE, live=True
    )
    manipulability_scale: float = parameter(
        0.2, 'Half-axes of the manipulability ellipsoid, m per m/s.', SCALE, live=True
    )
    tip_inertia_scale: float = parameter(
        0.2, 'Half-axes of the tip inertia ellipsoid: this, m, at 1 kg.', SCALE, live=True
    )


@dataclass(frozen=True)
class ValidatorParameters(VaryingRobotParameters, DriveParameters):
    """Parameters of the validator node."""

    engines: tuple[str, ...] = parameter(
        list(ENGINES),
        f'Candidates for the reference engine, in this order; of {", ".join(ENGINES)}.',
    )
    additional_engines: tuple[str, ...] = parameter(
        [''], f'Engines to compare with at the random states as well; of {", ".join(ENGINES)}.'
    )
    random_states: int = parameter(
        100, 'Number of random states compared at the start.', (1, 100_000)
    )
    seed: int = parameter(0, 'Seed of the random states.', (0, 2**31))
    tolerance: float = parameter(
        TOLERANCE, 'Largest difference, relative to the largest torque.', (0.0, 1.0)
    )
    check_rate: float = parameter(
        10.0, 'Live states checked per second; 0: none.', (0.0, 1000.0), smallest=LOWEST_RATE
    )
    motion_time: float = parameter(
        0.1,
        'Length of the motion before a live state with which its inertia torque and effort are '
        'compared, s: at least five times the lag of the accelerations of the dynamics node; 0: '
        'they are not compared.',
        (0.0, 10.0),
    )
    effort_tolerance: float = parameter(
        0.1,
        'Largest difference of a measured effort from the torque of the observed motion, beyond '
        'friction, relative to the largest torque; 0: efforts are not compared.',
        (0.0, 1.0),
    )
    dynamics_node: str = parameter(
        'dynamics_node',
        'Name of the node whose torques are checked: the first part of its topics.',
    )
    input_timeout: float = parameter(0.1, HOLD, TIME)
    engine_timeout: float = parameter(
        10.0,
        'Timeout of an engine, after which it is restarted, s.',
        (0.1, TIME[1]),
    )
    one_shot: bool = parameter(
        False, 'End after the random states, with exit code 1 if an engine differs.'
    )


@dataclass(frozen=True)
class StatePublisherParameters(RobotParameters):
    """Parameters of the state publisher."""

    publish_frequency: float = parameter(
        20.0,
        'Largest rate of the transforms of a joint, Hz of the stamps; 0: all.',
        RATE,
        smallest=LOWEST_RATE,
    )
    ignore_timestamp: bool = parameter(
        False, 'Stamp transforms with the present time, for joint states without stamps.'
    )


@cache
def every_name() -> frozenset[str]:
    """Return the names of the parameters of all nodes, and those that every node of ROS has."""
    tables = (
        DynamicsParameters,
        FeedforwardParameters,
        MarkersParameters,
        ObserverParameters,
        SimulatorParameters,
        StatePublisherParameters,
        ValidatorParameters,
    )
    return frozenset(OF_ROS).union(*map(specs, tables))
