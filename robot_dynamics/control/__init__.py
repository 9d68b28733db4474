"""Pure laws of control: what torque follows a trajectory, free of ROS and of any clock.

Reading order: `spline` (one polynomial between two points), `trajectory` (many points, sampled at
any time), `limits` (can this robot follow it), `feedforward` (the torque that does), `laws` (other
ways to the same end), `gains` (feedback that suits a robot), `friction`, `saturation` (what the
drives allow), `filters` (velocities and accelerations that nobody measures).
"""

from robot_dynamics.control.feedforward import (
    FeedForward,
    Gains,
    Switches,
    feedforward,
    waypoint_efforts,
)
from robot_dynamics.control.filters import AccelerationFilter, VelocityFilter
from robot_dynamics.control.friction import Friction
from robot_dynamics.control.gains import feedback_eigenvalue, free_inertias, pd_gains
from robot_dynamics.control.laws import LAWS, computed_torque, gravity_only, pd_plus
from robot_dynamics.control.limits import violations
from robot_dynamics.control.saturation import RateLimiter, Saturated, ramp, saturate
from robot_dynamics.control.trajectory import Reference, Trajectory

__all__ = [
    'LAWS',
    'AccelerationFilter',
    'FeedForward',
    'Friction',
    'Gains',
    'RateLimiter',
    'Reference',
    'Saturated',
    'Switches',
    'Trajectory',
    'VelocityFilter',
    'computed_torque',
    'feedback_eigenvalue',
    'feedforward',
    'free_inertias',
    'gravity_only',
    'pd_gains',
    'pd_plus',
    'ramp',
    'saturate',
    'violations',
    'waypoint_efforts',
]
