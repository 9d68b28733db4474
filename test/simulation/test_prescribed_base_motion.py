# SPDX-License-Identifier: Apache-2.0
"""Prescribed motion of a base: its derivatives, and the file it is read from."""

from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.spatial import unskew
from robot_dynamics.core.base_motion import BaseMotion
from robot_dynamics.simulation import (
    MotionComponent,
    PrescribedBaseMotion,
    Ramp,
    Sine,
    load_base_motion,
)

G = np.array([0.5, -2.0, -9.0])
# All kinds of terms, in every component; and times within and outside ramps, not at their ends.
EVERYTHING = PrescribedBaseMotion(
    x=MotionComponent(sines=[Sine(0.5, 0.8, 0.3), Sine(0.1, 2.0)]),
    y=MotionComponent(offset=-2.0, velocity=0.7, ramps=[Ramp(0.5, 1.0, velocity=-2.0)]),
    z=MotionComponent(ramps=[Ramp(0.2, 2.0, position=0.3)]),
    roll=MotionComponent(
        offset=1.0, sines=[Sine(-0.6, 0.9)], ramps=[Ramp(0.0, 3.0, velocity=1.0)]
    ),
    pitch=MotionComponent(velocity=-0.9, sines=[Sine(0.4, 0.5, 1.0)]),
    yaw=MotionComponent(velocity=2.0, ramps=[Ramp(0.1, 1.4, position=-1.5)]),
)
TIMES = np.array([-0.4, 0.05, 0.3, 0.9, 1.3, 1.7, 2.6, 3.5])
STEP = 3e-4


def slope(function, t):
    """Return the derivative by differences of order 4: an error of about 1e-11."""
    values = [function(t + k * STEP) for k in (-2, -1, 1, 2)]
    return (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * STEP)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())


def test_twist_and_motion_are_derivatives_of_the_pose():
    poses, rates = EVERYTHING.pose(TIMES), slope(EVERYTHING.pose, TIMES)
    R = poses[:, :3, :3]
    np.testing.assert_allclose(R @ np.swapaxes(R, 1, 2), np.tile(np.eye(3), (8, 1, 1)), atol=1e-15)
    twist = EVERYTHING.twist(TIMES)
    # [w] = R^T dR/dt,  v = R^T dp/dt
    turning = np.swapaxes(R, 1, 2) @ rates[:, :3, :3]
    close(twist[:, :3], np.array([unskew(m) for m in turning]))
    close(twist[:, 3:], np.einsum('kji,kj->ki', R, rates[:, :3, 3]))
    expected = BaseMotion.from_odometry(twist, slope(EVERYTHING.twist, TIMES), R, gravity=G)
    close(EVERYTHING.motion(TIMES, G).array(), expected.array())


def test_one_time_gives_the_row_of_many():
    rows = EVERYTHING.motion(TIMES).array()
    for t, row in zip(TIMES, rows, strict=True):
        np.testing.assert_allclose(EVERYTHING.motion(t).array(), row, rtol=0, atol=1e-13)
    assert EVERYTHING.motion(0.0).array().shape == (9,)


def test_ramps_change_velocity_at_constant_acceleration_and_position_from_rest_to_rest():
    braking = PrescribedBaseMotion(x=MotionComponent(velocity=2, ramps=[Ramp(1, 2, velocity=-2)]))
    x, xd, xdd = (row[:, 0] for row in braking.coordinates([0.5, 1.0, 2.0, 2.999, 3.0, 9.0]))
    np.testing.assert_allclose(xdd, [0, -1, -1, -1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(xd, [2, 2, 1, 0.001, 0, 0], atol=1e-12)
    np.testing.assert_allclose(x[[0, 1, 2, 5]], [1, 2, 3.5, 4], atol=1e-12)
    leaning = PrescribedBaseMotion(pitch=MotionComponent(ramps=[Ramp(1, 2, position=0.2)]))
    x, xd, xdd = (row[:, 4] for row in leaning.coordinates([1.0, 2.0, 3.0, 9.0]))
    np.testing.assert_allclose(x, [0, 0.1, 0.2, 0.2], atol=1e-12)
    np.testing.assert_allclose(xd[[0, 2, 3]], 0, atol=1e-12)
    np.testing.assert_allclose(xdd, 0, atol=1e-12)


def test_without_entries_the_base_is_at_rest():
    still = PrescribedBaseMotion()
    np.testing.assert_array_equal(still.motion(3.0, G).array(), [0] * 6 + [-0.5, 2.0, 9.0])
    np.testing.assert_array_equal(still.pose(3.0), np.eye(4))
    np.testing.assert_array_equal(still.twist([1.0, 2.0]), np.zeros((2, 6)))


def test_the_same_is_read_from_a_file(tmp_path):
    file = tmp_path / 'motion.yaml'
    file.write_text("""
x: {sines: [{amplitude: 0.5, frequency: 0.8, phase: 0.3}, {amplitude: 0.1, frequency: 2}]}
y: {offset: -2, velocity: 0.7, ramps: [{start: 0.5, duration: 1, velocity: -2}]}
z: {ramps: [{start: 0.2, duration: 2, position: 0.3}]}
roll:
  offset: 1
  sines: [{amplitude: -0.6, frequency: 0.9}]
  ramps: [{start: 0, duration: 3, velocity: 1}]
pitch: {velocity: -0.9, sines: [{amplitude: 0.4, frequency: 0.5, phase: 1}]}
yaw: {velocity: 2, ramps: [{start: 0.1, duration: 1.4, position: -1.5}]}
""")
    assert load_base_motion(file) == EVERYTHING


def test_the_files_of_guide_and_configuration_are_read(tmp_path):
    root, file = Path(__file__).parents[2], tmp_path / 'motion.yaml'
    page = (root / 'docs/guides/moving_base.md').read_text()
    file.write_text(page.split('```yaml\n')[1].split('```')[0])
    np.testing.assert_allclose(load_base_motion(file).coordinates(1.25).xdd[0], -2.0)
    # As its comment says
    cart = load_base_motion(root / 'config/cart_motion.yaml').coordinates(np.arange(0, 60, 0.01))
    assert 1.8 < np.abs(cart.xdd[:, 0]).max() < 2.0
    assert 0.8 < np.abs(cart.xd[:, 5]).max() < 1.0


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('', 'the file is None; expected entries x, y, z'),
        ('rol: {offset: 1}', "no entry 'rol', the nearest is roll"),
        ('x: 0.5', 'x is 0.5; expected entries offset'),
        ('x: {sine: []}', "x has no entry 'sine', the nearest is sines"),
        ('x: {offset: .nan}', 'x: offset is nan; expected a number in [-1000, 1000]'),
        ('x: {velocity: fast}', "x: velocity is 'fast'; expected a number"),
        ('x: {sines: {amplitude: 1}}', "x: sines is {'amplitude': 1}; expected a list"),
        ('x: {sines: [1]}', 'x: sines[0] is 1; expected entries amplitude'),
        ('x: {sines: [{amplitude: 1}]}', 'x: sines[0] has no frequency'),
        ('x: {sines: [{amplitude: 1, frequency: 0}]}', 'x: sines[0]: frequency is 0; expected'),
        ('x: {sines: [{amplitude: 1, frequency: 1, phase: no}]}', "phase is 'no'"),
        ('y: {ramps: [{duration: 1, position: 1}]}', 'y: ramps[0] has no start'),
        (
            'y: {ramps: [{start: 0, duration: 0, position: 1}]}',
            'ramps[0]: duration is 0; expected',
        ),
        ('y: {ramps: [{start: -1, duration: 1, position: 1}]}', 'ramps[0]: start is -1; expected'),
        (
            'y: {ramps: [{start: 0, duration: 1}]}',
            'y: ramps[0]: a ramp has position None and velocity None; expected one of both',
        ),
        (
            'y: {ramps: [{start: 0, duration: 1, position: 1, velocity: 1}]}',
            'expected one of both',
        ),
        ('yaw: {offset: -90}', 'yaw: offset is -90 rad; expected at most one turn, 6.283'),
        ('roll: {sines: [{amplitude: 10, frequency: 1}]}', 'roll: amplitude is 10 rad; expected'),
        ('x: [', 'is not YAML'),
    ],
)
def test_an_invalid_file_is_rejected_by_name(tmp_path, text, message):
    file = tmp_path / 'motion.yaml'
    file.write_text(text)
    with pytest.raises(ModelError) as caught:
        load_base_motion(file)
    assert message in str(caught.value)
    assert str(file) in str(caught.value)


def test_a_file_that_does_not_exist_is_rejected_by_name(tmp_path):
    with pytest.raises(ModelError, match=r'none\.yaml: No such file'):
        load_base_motion(tmp_path / 'none.yaml')
