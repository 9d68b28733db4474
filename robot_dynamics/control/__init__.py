# SPDX-License-Identifier: Apache-2.0
"""Control laws, trajectories and limits, without ROS and without a clock.

Input: measured states and references. Output: torques within limits, motions that can be
followed, and what is felt from outside. Other wings use `Trajectory` and
`Reference` (trajectory), and `JointReading` (joint_reading).

Reading order: `spline` (one polynomial between two points), `trajectory` (several points, sampled
at any time), `limits` (trajectory against the limits of the robot), `feedforward` (torque of a
reference), `feasibility` (torques of a trajectory, its largest feasible speed), `sizing` (loads of
the drives along it, drives that bear them, largest payloads), `time_law` and `retiming` (the
fastest motion along its path), `retiming_process` (the same beside a loop), `trajectory_file`
(trajectories as YAML), `control_laws` (other laws), `gains` (feedback gains of a robot),
`torque_limiting` (limits of the drives), `filters` (differentiation of measurements),
`arm_on_moving_base` (an arm that laws take if its base moves), `base_motion_sources` and
`base_motion_estimate` (how the base moves, from measurements), `momentum_observer` (torques from
outside), `contact` (what they mean, with `contact_thresholds`, `threshold_learning`,
`contact_wrench`, `payload_test` and `contact_level`), `impedance` (a spring between a frame and a
target), `feedback_derivatives` (laws as linear feedback), `stream_clock`, `stream_path` with
`stream_programs`, and `stream_following` (a stream of references as one curve), `pose_following`
(targets along a stream of poses), `transitions` (stops and joins), `swing` (a trajectory for any
robot), `control_cycle` (a state, its reference, torque and limits, with `law_torque`) and
`control_loop` (commands to drives without ROS, with `loop_settings`).
"""

from robot_dynamics.control.control_laws import (
    LAWS,
    computed_torque,
    gravity_only,
    joint_impedance,
    joint_impedance_derivatives,
    pd_plus,
)
from robot_dynamics.control.feedforward import (
    FeedForward,
    Gains,
    Switches,
    feedforward,
    waypoint_efforts,
)
from robot_dynamics.control.filters import AccelerationFilter, VelocityFilter
from robot_dynamics.control.gains import feedback_eigenvalue, free_inertias, pd_gains
from robot_dynamics.control.impedance import CartesianImpedance, Impedance, PoseReference
from robot_dynamics.control.limits import violations
from robot_dynamics.control.trajectory import Reference, Trajectory

__all__ = [
    'LAWS',
    'AccelerationFilter',
    'CartesianImpedance',
    'FeedForward',
    'Gains',
    'Impedance',
    'PoseReference',
    'Reference',
    'Switches',
    'Trajectory',
    'VelocityFilter',
    'computed_torque',
    'feedback_eigenvalue',
    'feedforward',
    'free_inertias',
    'gravity_only',
    'joint_impedance',
    'joint_impedance_derivatives',
    'pd_gains',
    'pd_plus',
    'violations',
    'waypoint_efforts',
]
