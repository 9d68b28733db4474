"""Control law for a batch of arms: feed-forward of a model along a trajectory, with PD feedback.

The model of the controller may differ from the arms. `there_and_back` returns a test motion for
any robot.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.control import Gains, Switches, Trajectory, feedforward
from robot_dynamics.control.feedforward import EVERYTHING, require_order
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.spatial import Array

LARGEST = 0.6, 0.1  # rad, m, of the motion either way
OF_LIMIT = 0.7  # of speed and effort; the rest is for feedback
SHRINK, ROUNDS = 0.8, 20  # of a motion beyond the limits


@dataclass(frozen=True, eq=False)
class Tracking:
    """A law of `simulate_batch`; see `control.feedforward`.

    Attributes:
        believed: the controller's model of the arms.
        trajectory: what to follow, joints in the order of the model.
        gains: of the feedback on positions and velocities.
        switches: which parts of the model to use.

    Raises:
        TrajectoryError: the trajectory has other joints, or another order of them.
    """

    believed: Dynamics
    trajectory: Trajectory
    gains: Gains
    switches: Switches = EVERYTHING

    def __post_init__(self) -> None:
        require_order(self.believed, self.trajectory)

    def __call__(self, t: float, q: Array, qd: Array) -> Array:
        """Return the torques (N, n) of arms at q, qd (N, n) at a time [s]."""
        desired = self.trajectory.sample(t)
        # Along the desired motion: the same for all arms.
        ahead = feedforward(self.believed, desired, desired.q, desired.qd, self.switches).tau
        # tau = tau_d + Kp (q_d - q) + Kd (qd_d - qd)
        error, rate = desired.q - q, desired.qd - qd
        return np.asarray(ahead + self.gains.kp * error + self.gains.kd * rate)


def there_and_back(arm: Dynamics, duration: float) -> Trajectory:
    """Return a motion of all joints from rest to rest, well within the limits of arm and drives.

    The motion is small if the drives can barely hold the arm.
    """
    model = arm.model
    width = model.upper - model.lower
    free = ~np.isfinite(width) | (width <= 0)
    lower, upper = (np.where(free, 0.0, limit) for limit in (model.lower, model.upper))
    quarter = 0.25 * (upper - lower)
    room = np.where(free, np.inf, quarter)
    home = np.clip(0.0, lower + quarter, upper - quarter)
    # A quintic from rest to rest over T has a top speed of 15/8 of its mean.
    fastest = OF_LIMIT * model.velocity_limit * (duration / 3) / (15 / 8) / 2
    swing = np.minimum(np.minimum(np.where(model.angular, *LARGEST), room), fastest)
    swing = swing * np.where(np.arange(model.n) % 2, -1, 1)
    times, rest = np.linspace(0.0, duration, 4), np.zeros((4, model.n))
    for _ in range(ROUNDS):
        points = home + np.outer([-1.0, 1.0, -0.5, -1.0], swing)
        motion = Trajectory(model.joint_names, times, points, rest, rest)
        desired = motion.sample(np.linspace(0.0, duration, 100))
        tau = arm.inverse_dynamics(*desired) + arm.friction_torque(desired.qd)
        if (np.abs(tau) <= OF_LIMIT * model.effort_limit).all():
            break
        swing = SHRINK * swing
    return motion
