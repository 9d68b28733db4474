# SPDX-License-Identifier: Apache-2.0
"""Recordings in other units are rejected by name: by limits, and by velocities and positions."""

from dataclasses import replace

import numpy as np
import pytest
from recorded_runs import lively

from robot_dynamics.recordings.plausibility import require_joints
from robot_dynamics.recordings.recording import Recording, RecordingError
from robot_dynamics.urdf.loading import load_urdf


def recorded_at(model, q):
    q = np.asarray(q, dtype=float)
    zero = np.zeros_like(q)
    return Recording(model.joint_names, np.arange(len(q)) / 100.0, q, zero, zero)


def test_positions_in_degrees_are_rejected():
    model = load_urdf('panda')
    q = np.tile((model.lower + model.upper) / 2, (5, 1))
    require_joints(recorded_at(model, q), model)
    require_joints(recorded_at(model, q + 2 * np.pi), model)  # another turn of the encoders
    with pytest.raises(RecordingError, match=r'panda_joint1 .* -2.897 to 2.897 rad: .*degrees'):
        require_joints(recorded_at(model, np.rad2deg(q + 0.5)), model)


@pytest.mark.parametrize('side', [1.0, -1.0])
@pytest.mark.parametrize('k', [0, 2, 4])
@pytest.mark.parametrize('j', [0, 3, 6])
def test_one_position_in_degrees_is_rejected_on_either_side(j, k, side):
    model = load_urdf('panda')
    q = np.tile((model.lower + model.upper) / 2, (5, 1))
    q[k, j] = side * 160.0
    name, value = model.joint_names[j], f'{q[k, j]:.4g}'
    with pytest.raises(RecordingError, match=f'{name} is recorded at {value} rad, .*degrees'):
        require_joints(recorded_at(model, q), model)


@pytest.mark.parametrize('side', [1.0, -1.0])
def test_commands_in_degrees_are_rejected(side):
    model = load_urdf('panda')
    q = np.tile((model.lower + model.upper) / 2, (5, 1))
    require_joints(replace(recorded_at(model, q), command=q + 0.1), model)
    command = q.copy()
    command[3, 0] = side * 30.0
    with pytest.raises(RecordingError, match=r'panda_joint1 is commanded at -?30 rad, .*degrees'):
        require_joints(replace(recorded_at(model, q), command=command), model)


def test_positions_in_millimetres_are_rejected():
    model = load_urdf('scara_rrp')
    j = int(np.flatnonzero(~model.angular)[0])
    q = np.tile((model.lower + model.upper) / 2, (5, 1))
    require_joints(recorded_at(model, q), model)
    for side in (1.0, -1.0):
        q[3, j] = side * 1000 * model.upper[j]
        with pytest.raises(RecordingError, match='in mm'):
            require_joints(recorded_at(model, q), model)


PANDA = load_urdf('panda')
FREE = replace(
    PANDA,
    lower=np.full(PANDA.n, -np.inf),
    upper=np.full(PANDA.n, np.inf),
    velocity_limit=np.full(PANDA.n, np.inf),
)


def moving(*, of_q=1.0, of_qd=1.0, size=1.0):
    """Return a recording whose positions and velocities are multiples of those of a motion."""
    t, q, qd, _ = lively(PANDA, duration=10.0, rate=100.0)
    middle = q.mean(axis=0)
    q, qd = middle + size * (q - middle), size * qd
    return Recording(PANDA.joint_names, t, of_q * q, of_qd * qd, np.ones_like(q))


@pytest.mark.parametrize('sign', [1.0, -1.0])
@pytest.mark.parametrize(
    ('of_q', 'of_qd', 'what'),
    [
        (180 / np.pi, 1.0, '0.0175 times .*are the positions in degrees'),
        (1.0, 180 / np.pi, '57.3 times .*are the velocities in degrees/s'),
        (1.0, 30 / np.pi, '9.55 times .*are the velocities in 1/min'),
        (1.0, -1.0, '-1 times .*; expected rad and rad/s, of the same sign'),
        (1.0, 3.0, '3 times .*; expected rad and rad/s'),
    ],
)
def test_velocities_in_another_unit_than_positions_are_rejected(of_q, of_qd, what, sign):
    require_joints(moving(of_q=sign, of_qd=sign), FREE)
    with pytest.raises(RecordingError, match=f'panda_joint1: velocities are {what}'):
        require_joints(moving(of_q=sign * of_q, of_qd=sign * of_qd), FREE)


@pytest.mark.parametrize('velocities', [True, False])
def test_small_motions_in_degrees_are_beyond_the_range_or_the_speed_of_a_joint(velocities):
    """Around 0, degrees may be within two turns of the limits."""
    one = moving(size=0.2)
    one = replace(one, q=one.q - one.q.mean(axis=0), qd=one.qd if velocities else None)
    require_joints(one, replace(PANDA, lower=FREE.lower, upper=FREE.upper))
    degrees = replace(one, q=np.rad2deg(one.q), qd=np.rad2deg(one.qd) if velocities else None)
    narrow = replace(PANDA, lower=np.full(7, -2.9), upper=np.full(7, 2.9))
    with pytest.raises(RecordingError, match=r'moves by 1\d.* rad, its limits allow 5.8 rad'):
        require_joints(degrees, replace(narrow, velocity_limit=FREE.velocity_limit))
    with pytest.raises(RecordingError, match=r'its velocity limit is .* positions in degrees'):
        require_joints(degrees, replace(FREE, velocity_limit=np.full(7, 0.5)))


def test_positions_in_millimetres_contradict_velocities():
    model = load_urdf('scara_rrp')
    j = int(np.flatnonzero(~model.angular)[0])
    t, q, qd, _ = lively(model, 10.0, 100.0)
    free = replace(model, lower=np.full(model.n, -np.inf), upper=np.full(model.n, np.inf))
    q[:, j] *= 1000
    with pytest.raises(RecordingError, match=r'0\.001 times .*are the positions in mm'):
        require_joints(Recording(model.joint_names, t, q, qd, qd), free)


def test_velocities_that_are_late_noisy_or_interrupted_are_plausible():
    one, rng = moving(), np.random.default_rng(0)
    late = np.column_stack([np.interp(one.t - 0.05, one.t, x) for x in one.qd.T])
    require_joints(replace(one, qd=late + 0.1 * rng.normal(size=late.shape)), PANDA)
    back = one.t - np.where(one.t > 5.0, 3.0, 0.0) + np.where(one.t > 8.0, 2.0, 0.0)
    require_joints(replace(one, t=back), PANDA)
    still = one.q[:1] + 1e-4 * rng.normal(size=one.q.shape)
    require_joints(replace(one, q=still, qd=0.01 * rng.normal(size=one.q.shape)), PANDA)
