"""What is between an ideal torque and an ideal joint, chosen one by one.

| effect | where it is set | what it is |
|---|---|---|
| rotor inertia, gear ratio | `RobotModel.with_actuation` | r^2 J_m is added to M: 000, ex. 6.1 |
| viscous and dry friction | coefficients in the model; `friction` | how dry friction is taken |
| torque limits | `RobotModel.effort_limit` | always in force |
| speed and rate limits, delay | `actuators` | see `actuators.py` |
| position limits | places in the model; `stops` | see `stops.py` |
| joint elasticity | `elasticity` | see `elastic_arm.py`: 000, ex. 6.2 |

What is not chosen costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics.simulation.joint_models.actuators import Actuators
from robot_dynamics.simulation.joint_models.stops import InelasticStop, SpringDamperStop, Stops
from robot_dynamics.simulation.steps.elastic_arm import Elasticity

# How dry friction F_s is taken:
# smooth: F_s tanh(qd / v_0), as feed-forward and `Dynamics.friction_torque` have it. A joint that
#     is pushed less than F_s creeps at less than v_0.
# stick_slip: F_s sgn(qd), and anything up to F_s at standstill. A joint that is pushed less than
#     F_s stands still.
FRICTION_LAWS = ('smooth', 'stick_slip')


@dataclass(frozen=True)
class JointModels:
    """The effects that a simulator adds to the equation of motion.

    Raises:
        ValueError: the friction law is not one of `FRICTION_LAWS`, or `stops` are none.
    """

    friction: str = 'smooth'
    actuators: Actuators | None = None
    stops: Stops | None = None
    elasticity: Elasticity | None = None

    def __post_init__(self) -> None:
        if self.friction not in FRICTION_LAWS:
            raise ValueError(
                f'friction is {self.friction!r}; it must be one of {", ".join(FRICTION_LAWS)}'
            )
        stops: object = self.stops
        if not isinstance(stops, InelasticStop | SpringDamperStop | None):
            raise ValueError(
                f'stops is {stops!r}; it must be an InelasticStop(), a SpringDamperStop(...) or '
                'None'
            )
