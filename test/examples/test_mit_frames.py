# SPDX-License-Identifier: Apache-2.0
"""The example of frames for drives in MIT mode: their bits, and how far an arm sags."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import robot_dynamics as rd

FRAMES = runpy.run_path(str(Path(__file__).parents[2] / 'examples' / 'mit_frames.py'))

# An arm like OpenArm: axis, offset to the next joint [m], mass [kg] and centre of mass [m].
JOINTS = (
    ('0 1 0', 0.06, 1.14, 0.03),
    ('1 0 0', 0.06, 0.28, 0.03),
    ('0 0 1', 0.15, 1.07, 0.06),
    ('0 1 0', 0.10, 0.55, 0.03),
    ('0 0 1', 0.12, 0.35, 0.07),
    ('1 0 0', 0.04, 0.35, 0.02),
    ('0 1 0', 0.04, 0.75, 0.09),
)
# Gains of lerobot's openarm_follower, and ranges of its drives: rad, rad/s, N m.
KP = [240.0, 240.0, 240.0, 240.0, 24.0, 31.0, 25.0]
KD = [5.0, 5.0, 3.0, 5.0, 0.3, 0.3, 0.3]
RANGES = [(12.5, 45.0, 54.0)] * 2 + [(12.5, 8.0, 28.0)] * 2 + [(12.5, 30.0, 10.0)] * 3
START = np.array([0.65, 0.2, 0.1, 0.5, 0.2, 0.1, 0.2])


def resolution(name):
    low, high, bits = FRAMES['FIELDS'][name]
    return (high - low) / (2**bits - 1)


def arm_like_openarm(scale=1.0):
    """Return the arm, which hangs down at q = 0, with masses times a scale."""
    links, above = ['<link name="link0"/>'], 0.0
    for j, (axis, offset, mass, com) in enumerate(JOINTS):
        m, size = scale * mass, 0.05
        links.append(
            f'<link name="link{j + 1}"><inertial><origin xyz="0 0 {-com}"/><mass value="{m}"/>'
            f'<inertia ixx="{m * size**2}" iyy="{m * size**2}" izz="{m * size**2}" ixy="0" '
            f'ixz="0" iyz="0"/></inertial></link><joint name="joint{j + 1}" type="revolute">'
            f'<parent link="link{j}"/><child link="link{j + 1}"/><origin xyz="0 0 {-above}"/>'
            f'<axis xyz="{axis}"/><limit lower="-3" upper="3" effort="{RANGES[j][2]}" '
            'velocity="5"/></joint>'
        )
        above = offset
    return rd.Dynamics(rd.parse_urdf(f'<robot name="arm">{"".join(links)}</robot>'))


def test_a_frame_has_64_bits_and_its_numbers_return():
    rng = np.random.default_rng(0)
    assert sum(field.bits for field in FRAMES['FIELDS'].values()) == 64
    for _ in range(50):
        given = {name: rng.uniform(low, high) for name, (low, high, _) in FRAMES['FIELDS'].items()}
        found = FRAMES['unpack'](FRAMES['pack'](**given))
        for name, value in given.items():
            assert abs(found[name] - value) <= 0.5001 * resolution(name)
    # Position first, most significant byte first; numbers beyond the range are clamped.
    ends = {'q': 99.0, 'qd': -99.0, 'kp': 0.0, 'kd': 9.0, 'tau': -99.0}
    assert FRAMES['pack'](**ends).hex() == 'ffff000000fff000'


def test_a_command_has_a_frame_for_each_joint():
    arm = arm_like_openarm()
    fields = [FRAMES['fields_of'](*ranges) for ranges in RANGES]
    loop = rd.ControlLoop(arm, kp=KP, kd=KD)
    for k in range(60):
        command = loop.command(0.005 * k, START, np.zeros(7))
    for j, frame in enumerate(FRAMES['frames'](command, fields)):
        assert len(frame) == 8
        found = FRAMES['unpack'](frame, fields[j])
        for name, row in zip(fields[j], command, strict=True):
            low, high, bits = fields[j][name]
            assert abs(found[name] - row[j]) <= 0.5001 * (high - low) / (2**bits - 1)


@pytest.fixture(scope='module')
def sags():
    """Return how far the arm sags in mrad: without tau_ff, with it, and with 5 % more mass."""
    arm, heavier = arm_like_openarm(), arm_like_openarm(1.05)
    found = []
    for real, with_torque in ((arm, False), (arm, True), (heavier, True)):
        fields = [FRAMES['fields_of'](*ranges) for ranges in RANGES]
        drives = [FRAMES['StandInDrive'](*row) for row in zip(KP, KD, fields, strict=True)]
        loop = rd.ControlLoop(arm, kp=KP, kd=KD)
        off = FRAMES['sag'](loop, real, drives, START, with_torque, duration=1.5)
        found.append(1e3 * np.abs(off).max())
    return found


def test_a_light_arm_sags_without_tau_ff_and_is_held_with_it(sags):
    without, exact, heavier = sags
    assert 25 < without < 40
    assert exact <= 2
    assert heavier <= 2


def test_the_sag_without_tau_ff_is_gravity_over_stiffness():
    """An independent figure: at rest kp (q_d - q) = g(q)."""
    arm, q = arm_like_openarm(), START
    for _ in range(20):
        q = START - arm.gravity_torque(q) / KP
    assert 25 < 1e3 * np.abs(q - START).max() < 40


@pytest.mark.slow
def test_the_example_prints_the_difference(capsys):
    FRAMES['main']()
    lines = capsys.readouterr().out.splitlines()
    assert float(lines[0].split()[2]) > 20 > 2 > float(lines[1].split()[2])
