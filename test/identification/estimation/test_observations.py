# SPDX-License-Identifier: Apache-2.0
"""Rows of a recording: the model's regressor reproduces its efforts, whatever the settings."""

import numpy as np
import pytest
from recorded_runs import lively, torque

from robot_dynamics.common.resources import share_file
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.identification.estimation.observations import observations
from robot_dynamics.recordings.recording import Recording
from robot_dynamics.urdf.loading import load_urdf

MODEL = load_urdf(share_file('urdf/planar_2r.urdf'))
PAYLOAD = MODEL.with_payload(MODEL.link_names[-1], 1.5, (0.1, 0.0, 0.2))
RATE, CUTOFF = 250.0, 8.0
SCALES = (1.0, -2.0, np.array([0.5, -3.0]))


def recorded(*, scale=1.0, compensated=False, model=MODEL, delay=0.0, sign=1.0, noise=0.0):
    """Return the recording of an arm without friction."""
    t, *motion = lively(MODEL, duration=12.0, rate=RATE)
    q, qd, _ = (sign * x for x in motion)
    late = [sign * x for x in shifted(t, delay)]
    tau = torque(model, *late)
    if compensated:
        tau = tau - Dynamics(model).gravity_torque(late[0])
    tau = tau + noise * np.random.default_rng(2).normal(size=tau.shape)
    return Recording(MODEL.joint_names, t, q, qd, tau / scale)


def shifted(t, delay):
    """Return the motion of `lively` at times that are earlier by a delay, s."""
    steps = round(delay * RATE)
    assert steps == pytest.approx(delay * RATE)
    motion = lively(MODEL, duration=12.0 + 2 * abs(delay), rate=RATE)[1:]
    index = np.clip(np.arange(len(t)) - steps, 0, None)
    return [x[index] for x in motion]


def assert_explained(seen, rel=0.01, model=None):
    """The efforts are those of the regressor."""
    modelled = seen.Y @ (MODEL if model is None else model).inertial_parameters()
    inner = slice(20, -20)
    error = np.abs(modelled - seen.effort)[inner].max(axis=0)
    assert (error < rel * seen.effort.std(axis=0)).all()


@pytest.mark.parametrize('sign', [1.0, -1.0])
@pytest.mark.parametrize('scale', SCALES, ids=['1', '-2', 'by joint'])
@pytest.mark.parametrize('compensated', [False, True])
@pytest.mark.parametrize('loaded', [False, True])
def test_efforts_are_those_of_the_model(scale, compensated, loaded, sign):
    model = PAYLOAD if loaded else MODEL
    seen = observations(
        Dynamics(MODEL),
        recorded(scale=scale, compensated=compensated, model=model, sign=sign),
        CUTOFF,
        effort_scale=scale,
        effort_gravity_compensated=compensated,
    )
    assert_explained(seen, model=model)


@pytest.mark.parametrize('scale', SCALES, ids=['1', '-2', 'by joint'])
@pytest.mark.parametrize('more', SCALES, ids=['1', '-2', 'by joint'])
@pytest.mark.parametrize('delay', [0.02, -0.012])
def test_delayed_efforts_are_moved_and_scaled(scale, more, delay):
    one = recorded(scale=np.multiply(scale, more), delay=delay)
    seen = observations(Dynamics(MODEL), one, CUTOFF, effort_scale=scale)
    moved = seen.delayed(delay, more)
    assert_explained(moved)
    np.testing.assert_allclose(moved.noise, np.abs(more) * seen.noise)
    # The slope is the derivative of the same efforts.
    step = seen.t[1] - seen.t[0]
    slope = np.gradient(moved.effort, step, axis=0)
    inner = slice(20, -20)
    assert np.abs(slope - moved.slope)[inner].max() < 0.05 * moved.slope.std()
    if delay > 0:
        with pytest.raises(AssertionError):
            assert_explained(seen.delayed(-delay, more))


@pytest.mark.parametrize('scale', SCALES, ids=['1', '-2', 'by joint'])
def test_noise_is_that_of_the_low_passed_efforts(scale):
    size = np.array([0.5, 0.2])
    one = recorded(scale=scale, noise=size)
    seen = observations(Dynamics(MODEL), one, CUTOFF, effort_scale=scale)
    wanted = size * np.sqrt(CUTOFF / (RATE / 2))
    np.testing.assert_allclose(seen.noise, wanted, rtol=0.25)
    rest = (seen.Y @ MODEL.inertial_parameters() - seen.effort).std(axis=0)
    np.testing.assert_allclose(rest, wanted, rtol=0.25)


def test_stretches_have_blocks_of_their_own_and_selected_rows_stay_together():
    one = recorded()
    keep = (one.t < 5.0) | (one.t > 7.0)
    parts = (x[keep] for x in (one.t, one.q, one.qd, one.effort))
    seen = observations(Dynamics(MODEL), Recording(one.joint_names, *parts), CUTOFF)
    assert len(seen.pieces) == 2
    second = seen.t > 6.0
    assert seen.block[~second].max() < seen.block[second].min()
    for rows in (~second, second):
        inside = seen.t[rows] - seen.t[rows][0]
        np.testing.assert_array_equal(seen.block[rows] - seen.block[rows][0], inside // 1.0)
    some = seen.select(second)
    np.testing.assert_array_equal(some.t, seen.t[second])
    np.testing.assert_allclose(some.delayed(0.0).effort, seen.effort[second], atol=1e-12)
    few = seen.independent()
    np.testing.assert_array_equal(few.qdd, seen.qdd[::4])
