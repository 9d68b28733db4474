"""The parameters of nodes whose robot may change, but for its URDF. No ROS here."""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics.control import VelocityFilter
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.ros.parameters import LONGEST_TIME, RobotParameters, live, parameter

LONGEST_DIFFERENCE = 0.5  # s between two samples that still give a derivative


@dataclass(frozen=True)
class VaryingRobotParameters(RobotParameters):
    """What a node needs to know its robot, with gravity and the load free to change."""

    gravity: tuple[float, ...] = live(RobotParameters, 'gravity')
    base_orientation: tuple[float, ...] = live(RobotParameters, 'base_orientation')
    payload_link: str = live(RobotParameters, 'payload_link')
    payload_mass: float = live(RobotParameters, 'payload_mass')
    payload_com: tuple[float, ...] = live(RobotParameters, 'payload_com')
    payload_inertia: tuple[float, ...] = live(RobotParameters, 'payload_inertia')


@dataclass(frozen=True)
class LiveRobotParameters(VaryingRobotParameters):
    """The same of a node that answers joint states, with friction free to change as well."""

    friction_viscous: tuple[float, ...] = live(RobotParameters, 'friction_viscous')
    friction_coulomb: tuple[float, ...] = live(RobotParameters, 'friction_coulomb')
    input_timeout: float = parameter(
        0.1,
        'How long the last value of a joint not heard again is held, s.',
        low=0.0,
        high=LONGEST_TIME,
        live=True,
    )
    missing_velocity: str = parameter(
        'gravity',
        'What to do where joint states have no velocity: gravity (only what needs none is '
        'answered), differentiate (positions, low-pass filtered).',
        choices=('gravity', 'differentiate'),
        live=True,
    )
    velocity_cutoff: float = parameter(
        50.0, 'Cut-off frequency of that low-pass, Hz.', low=0.1, high=1000.0, live=True
    )


def payload_link(parameters: RobotParameters, model: RobotModel) -> str:
    """Return what carries the load: `payload.link`, `tip_link`, or the last link that moves."""
    return (
        parameters.payload_link
        or parameters.tip_link
        or next(
            link
            for link in reversed(model.link_names)
            if model.frame_body[model.frame_index(link)] >= 0
        )
    )


def velocity_filter(parameters: LiveRobotParameters) -> VelocityFilter | None:
    """Return what estimates the velocities that joint states lack; None if nothing does."""
    if parameters.missing_velocity == 'gravity':
        return None
    return VelocityFilter(cutoff=parameters.velocity_cutoff, max_gap=LONGEST_DIFFERENCE)
