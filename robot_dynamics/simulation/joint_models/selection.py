# SPDX-License-Identifier: Apache-2.0
"""Selection of the joint models of a simulator.

| model | set by | effect |
|---|---|---|
| rotor inertia, gear ratio | `RobotModel.with_actuation` | r^2 J_m is added to M |
| viscous and dry friction | coefficients of the model; `friction` | law of dry friction |
| torque limits | `RobotModel.effort_limit` | always clamped |
| speed and rate limits, delay of torques | `actuators` | see `actuators.py` |
| position servos, delay of commands | `servo` | see `servo.py` |
| position limits | limits of the model; `stops` | see `stops.py` |
| joint elasticity | `elasticity` | see `steps/elastic_arm.py` |

A model that is not selected takes no time.

Source: Spong, Hutchinson and Vidyasagar, examples 6.1 (rotor inertia) and 6.2 (elasticity).
"""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from robot_dynamics.common.settings import GAIN, joint_setting
from robot_dynamics.core.friction.friction_settings import FrictionSettings
from robot_dynamics.simulation.joint_models.actuators import Actuators
from robot_dynamics.simulation.joint_models.servo import Servo
from robot_dynamics.simulation.joint_models.stops import InelasticStop, SpringDamperStop, Stops

# Laws of dry friction F_s, besides the laws of `FrictionSettings`:
# smooth: F_s tanh(qd / v_0), as in feed-forward and `Dynamics.friction_torque`. A joint under less
#     than F_s creeps at less than v_0.
# stick_slip: F_s sgn(qd), and any value up to F_s at standstill. A joint under less than F_s
#     sticks.
FRICTION_LAWS = ('smooth', 'stick_slip')


@dataclass(frozen=True)
class Elasticity:
    """Springs in the joints, seen at the joints; one number for all joints, or one each."""

    stiffness: ArrayLike = joint_setting(
        0.0,
        'Stiffness between motor and link',
        'N m/rad or N/m',
        GAIN,
        positive=True,
        required=True,
        zero='rigid joints',
        note='Elastic joints need rotor inertia.',
    )
    damping: ArrayLike = joint_setting(
        0.0, 'Damping between motor and link', 'N m s/rad or N s/m', GAIN
    )


@dataclass(frozen=True)
class JointModels:
    """The joint models that a simulator adds to the equation of motion.

    Raises:
        ValueError: the friction is neither one of `FRICTION_LAWS` nor `FrictionSettings`, the
            latter with elastic joints, or `stops` has an unknown type.
    """

    friction: str | FrictionSettings = 'smooth'
    actuators: Actuators | None = None
    stops: Stops | None = None
    elasticity: Elasticity | None = None
    servo: Servo | None = None

    def __post_init__(self) -> None:
        by_law = isinstance(self.friction, FrictionSettings)
        if not by_law and self.friction not in FRICTION_LAWS:
            raise ValueError(
                f'friction is {self.friction!r}; it must be one of {", ".join(FRICTION_LAWS)}, or '
                'FrictionSettings(...)'
            )
        if by_law and self.elasticity is not None:
            raise ValueError(
                f'friction is {self.friction!r}, which needs rigid joints; with elastic ones it '
                f'must be one of {", ".join(FRICTION_LAWS)}'
            )
        stops: object = self.stops
        if not isinstance(stops, InelasticStop | SpringDamperStop | None):
            raise ValueError(
                f'stops is {stops!r}; it must be an InelasticStop(), a SpringDamperStop(...) or '
                'None'
            )
