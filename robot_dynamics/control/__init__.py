"""Pure laws of control: what torque follows a trajectory, free of ROS and of any clock.

Reading order: `spline` (one polynomial between two points), `trajectory` (many points, sampled at
any time), `limits` (can this robot follow it), `feedforward` (the torque that does), `saturation`
(what the drives allow), `filters` (accelerations from measured velocities).
"""

from robot_dynamics.control.feedforward import (
    FeedForward,
    Gains,
    Switches,
    feedforward,
    waypoint_efforts,
)
from robot_dynamics.control.filters import AccelerationFilter
from robot_dynamics.control.limits import violations
from robot_dynamics.control.saturation import RateLimiter, Saturated, saturate
from robot_dynamics.control.trajectory import Reference, Trajectory

__all__ = [
    'AccelerationFilter',
    'FeedForward',
    'Gains',
    'RateLimiter',
    'Reference',
    'Saturated',
    'Switches',
    'Trajectory',
    'feedforward',
    'saturate',
    'violations',
    'waypoint_efforts',
]
