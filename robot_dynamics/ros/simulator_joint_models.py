"""What the simulator node adds to an ideal arm, and how it is told to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.ros.parameters import (
    LARGEST_EFFORT,
    LARGEST_GAIN,
    RobotParameters,
    joint_order,
    parameter,
    per_joint,
)
from robot_dynamics.simulation import (
    FRICTION_LAWS,
    Actuators,
    Elasticity,
    InelasticStop,
    JointEffects,
    SpringDamperStop,
)
from robot_dynamics.spatial import Array


@dataclass(frozen=True)
class EffectParameters(RobotParameters):
    """What is between an ideal torque and an ideal joint."""

    dry_friction: str = parameter(
        'smooth',
        'How dry friction acts near standstill: smooth (a pushed joint creeps, as feed-forward '
        'has it) or stick_slip (it stands still until it breaks loose).',
        choices=FRICTION_LAWS,
    )
    stops_kind: str = parameter(
        'inelastic',
        "What a joint meets at the URDF's position limits: inelastic (a hard stop), spring (a "
        'yielding one), none (it goes through).',
        choices=('inelastic', 'spring', 'none'),
        name='stops.kind',
    )
    stops_stiffness: tuple[float, ...] = parameter(
        [10000.0],
        'Of stops that yield, N m/rad or N/m, one value or one per joint.',
        low=0.0,
        high=LARGEST_GAIN,
        name='stops.stiffness',
    )
    stops_damping: tuple[float, ...] = parameter(
        [100.0],
        'Of stops that yield, N m s/rad or N s/m, one value or one per joint.',
        low=0.0,
        high=LARGEST_GAIN,
        name='stops.damping',
    )
    drives_delay: float = parameter(
        0.0, 'Between a command and its torque, s.', low=0.0, high=1.0, name='drives.delay'
    )
    drives_rate_limit: tuple[float, ...] = parameter(
        [0.0],
        'Largest change of torque, N m/s or N/s, one value or one per joint; 0: none.',
        low=0.0,
        high=LARGEST_EFFORT,
        name='drives.rate_limit',
    )
    drives_speed_limits: bool = parameter(
        False,
        "Drives lose their torque towards the URDF's velocity limits.",
        name='drives.speed_limits',
    )
    elasticity_stiffness: tuple[float, ...] = parameter(
        [0.0],
        'Of a spring between each motor and its link, N m/rad or N/m, one value or one per joint; '
        '0: rigid joints. The motors need rotor inertia.',
        low=0.0,
        high=LARGEST_GAIN,
        name='elasticity.stiffness',
    )
    elasticity_damping: tuple[float, ...] = parameter(
        [0.0],
        'Of those springs, N m s/rad or N s/m, one value or one per joint.',
        low=0.0,
        high=LARGEST_GAIN,
        name='elasticity.damping',
    )


def joint_effects(parameters: EffectParameters, model: RobotModel) -> JointEffects:
    """Return the effects that are asked for.

    Raises:
        ParameterError: neither one value nor one for each joint.
    """
    order = joint_order(parameters.joints, model.joint_names)

    def of_joints(name: str, value: tuple[float, ...]) -> Array:
        return per_joint(name, value, order, model.joint_names)

    rate_limit = of_joints('drives.rate_limit', parameters.drives_rate_limit)
    limited = parameters.drives_speed_limits
    actuators = None
    if parameters.drives_delay > 0 or rate_limit.any() or limited:
        actuators = Actuators(
            parameters.drives_delay,
            np.where(rate_limit > 0, rate_limit, np.inf),
            None if limited else np.inf,
        )
    stops = {
        'none': None,
        'inelastic': InelasticStop(),
        'spring': SpringDamperStop(
            of_joints('stops.stiffness', parameters.stops_stiffness),
            of_joints('stops.damping', parameters.stops_damping),
        ),
    }[parameters.stops_kind]
    stiffness = of_joints('elasticity.stiffness', parameters.elasticity_stiffness)
    damping = of_joints('elasticity.damping', parameters.elasticity_damping)
    elasticity = Elasticity(stiffness, damping) if stiffness.any() else None
    return JointEffects(parameters.dry_friction, actuators, stops, elasticity)
