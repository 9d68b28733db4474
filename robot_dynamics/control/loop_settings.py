# SPDX-License-Identifier: Apache-2.0
"""Settings of a loop of control: limits, times, and where the feedback is computed."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from robot_dynamics.common.settings import EFFORT, POSITION, TIME, joint_setting, setting

SHARE = (0.0, 1.0)
DRIVE, LOOP = FEEDBACK = ('drive', 'loop')
DAMP, HOLD = ON_REJECTED_TARGET = ('damp', 'hold')


@dataclass(frozen=True)
class LoopSettings:
    """Settings of a loop; the parameters of feedforward_node with these names are the same."""

    tolerance: ArrayLike = joint_setting(
        0.1,
        'Largest distance of the arm from its reference, at most start_tolerance',
        'rad or m',
        (0.0, POSITION[1]),
        zero='no limit',
    )
    start_tolerance: ArrayLike = joint_setting(
        0.1,
        'Largest distance of the start of a motion from the arm and from the reference before',
        'rad or m',
        (0.0, POSITION[1]),
    )
    input_timeout: float = setting(
        0.1,
        'Longest time between two states, and after its last point until a stream is over',
        's',
        TIME,
        positive=True,
    )
    torque_limit_scale: float = setting(
        1.0, "Fraction of the description's effort limits to which torques are clamped", '', SHARE
    )
    max_torque_rate: ArrayLike = joint_setting(
        -1.0,
        'Largest change of torque',
        'N m/s or N/s',
        (-1.0, EFFORT[1]),
        zero='no limit',
        none="that of the description's effort limit in 0.1 s, none for a joint without one",
    )
    max_torque_step: ArrayLike = joint_setting(
        0.0,
        'Largest change of torque from one command to the next',
        'N m or N',
        EFFORT,
        zero='no limit',
        note='After lost joint states max_torque_rate alone admits that of 20 ms.',
    )
    ramp_time: float = setting(
        0.05,
        'Time of the smooth transition from the last torque, at the start and where the arm is '
        'held anew',
        's',
        TIME,
        zero='none',
    )
    effort_offset: ArrayLike = joint_setting(
        0.0, 'Torque added to every torque', 'N m or N', (-EFFORT[1], EFFORT[1])
    )
    lead_friction: float = setting(
        0.0,
        'Fraction of the friction at the measured velocity that gravity_only compensates',
        '',
        SHARE,
        note='The rest brakes the arm.',
    )
    reference_window: float = setting(
        0.0,
        'Window W of streams: their references are averaged twice over it, which adds a lag of W',
        's',
        (0.0, 1.0),
        zero='their period, at least 0.02 s, or 0.04 s where the times of references are '
        'irregular by more than 0.15 periods',
    )
    reference_prediction: float = setting(
        1.0,
        'Fraction of its period by which a stream of references with velocities is extrapolated',
        '',
        SHARE,
        note='It reduces the lag.',
    )
    feedback: str = setting(
        DRIVE, 'What computes the feedback: drive, or loop, as a part of tau', choices=FEEDBACK
    )
    on_rejected_target: str = setting(
        DAMP,
        'What a target does that is not followed: damp, or hold (it is left out)',
        choices=ON_REJECTED_TARGET,
    )
