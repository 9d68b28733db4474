# SPDX-License-Identifier: Apache-2.0
"""Joints of MJCF files as coordinates: equalities, friction, rotors, ranges, efforts."""

import mjcf_text
import mujoco
import numpy as np
import pytest
from mjcf_text import ARM, link, world

from robot_dynamics import load_mjcf

PAIR = (
    link('a', '<joint name="a"/>')
    + link('b', '<joint name="b"/>')
    + link('c', '<joint name="c"/>')
)


def equality(*lines):
    return f'<equality>{"".join(f"<joint {line}/>" for line in lines)}</equality>'


def test_values_of_joints_are_those_of_the_file(write):
    model = load_mjcf(write(ARM))
    # qpos = c0 + ref1 + c1 (qpos2 - ref2)
    offset = 0.2 + np.radians(5) + 1.5 * np.radians(20)
    np.testing.assert_allclose(model.S, [[1, 0], [0, 1], [0, -1.5]], rtol=1e-15)
    refs = np.array([0.1, np.radians(20), np.radians(5)])
    np.testing.assert_allclose(model.s0, np.array([0, 0, offset]) - refs, rtol=1e-14)
    # B = r^2 B_m, and that of the joint that follows
    np.testing.assert_allclose(
        model.reflected_inertia, (0.1, 0.1 + 0.003 * 10**2 + 1.5**2 * 0.02), rtol=1e-15
    )
    # kv is no friction
    np.testing.assert_allclose(model.viscous, (0.5, 0.5 + 0.02 * 10**2 + 1.5**2 * 0.5), rtol=1e-15)
    np.testing.assert_allclose(model.coulomb, (0, 1.5 * 0.3), rtol=1e-15)
    np.testing.assert_allclose(model.lower, (-0.2, np.radians(-90)), rtol=1e-15)
    np.testing.assert_allclose(model.upper, (0.3, np.radians(60)), rtol=1e-15)
    np.testing.assert_allclose(model.effort_limit, (40, 40), rtol=1e-15)
    assert np.isinf(model.velocity_limit).all()


@pytest.mark.parametrize(
    ('joint', 'actuator', 'effort'),
    [
        ('actuatorfrcrange="-30 20"', '', 20),
        ('actuatorfrcrange="-30 30"', '<motor joint="j" gear="-5" ctrlrange="-4 4"/>', 20),
        ('', '<general joint="j" gainprm="3" ctrlrange="-4 4" gear="2"/>', 24),
        ('', '<motor joint="j" ctrlrange="0 4"/>', 4),
        ('', '<motor joint="j" ctrlrange="-4 0"/>', 4),
        ('', '<motor joint="j" ctrlrange="-4 4" forcerange="-9 9"/>', 4),
        ('', '<general joint="j" ctrlrange="-4 4" gainprm="5" forcerange="-9 9" gear="-3"/>', 27),
        ('', '<position joint="j" kp="10" ctrlrange="-4 4"/>', np.inf),
        ('', '<motor joint="j"/>', np.inf),
    ],
)
def test_the_effort_is_the_least_that_the_file_allows(write, joint, actuator, effort):
    text = world(link('a', f'<joint name="j" {joint}/>'), f'<actuator>{actuator}</actuator>')
    assert load_mjcf(write(text)).effort_limit == pytest.approx([effort], rel=1e-15)
    m = mujoco.MjModel.from_xml_string(text)
    d = mujoco.MjData(m)
    d.ctrl[:] = 1e3
    mujoco.mj_forward(m, d)
    assert abs(d.qfrc_actuator).max() <= effort


@pytest.mark.parametrize(
    ('actuators', 'effort'),
    [
        ('<position joint="a" kp="9" forcerange="-4 4"/>', 8),
        ('<motor joint="a" ctrlrange="-4 4" gear="2"/><motor joint="c"/>', np.inf),
        ('<motor joint="a" ctrlrange="-4 4"/><motor joint="c" ctrlrange="-3 3"/>', 3),
        ('<motor joint="b" ctrlrange="-4 4"/>', 12),
    ],
)
def test_actuators_of_joints_that_follow_limit_their_leader(write, actuators, effort):
    lines = equality(
        'joint1="a" joint2="c" polycoef="0 -2"', 'joint1="b" joint2="c" polycoef="0 3"'
    )
    text = world(PAIR, f'{lines}<actuator>{actuators}</actuator>')
    assert load_mjcf(write(text)).effort_limit == pytest.approx([effort], rel=1e-15)


def test_joints_follow_through_others(write):
    lines = equality(
        'joint1="a" joint2="b" polycoef="0.1 2 0 0 0"', 'joint1="b" joint2="c" polycoef="0.2 -3"'
    )
    text = world(PAIR, lines)
    model = load_mjcf(write(text))
    assert model.joint_names == ('c',)
    np.testing.assert_allclose(model.S[:, 0], (-6, -3, 1), rtol=1e-15)
    np.testing.assert_allclose(model.s0, (0.5, 0.2, 0), rtol=1e-15)
    mjcf_text.compare(model, text, ['a', 'b', 'c'])


def test_ranges_of_joints_that_follow_bind_their_leader(write):
    body = '<joint name="a" range="-20 40"/>', '<joint name="b" range="-90 90"/>'
    text = world(
        link('a', body[0]) + link('b', body[1]),
        equality('joint1="a" joint2="b" polycoef="0 -2 0 0 0"'),
    )
    model = load_mjcf(write(text))
    np.testing.assert_allclose(np.degrees([model.lower[0], model.upper[0]]), (-20, 10), rtol=1e-14)


@pytest.mark.parametrize(
    ('lines', 'message', 'n'),
    [
        (['joint1="a" joint2="b" polycoef="0 1 0.5 0 0"'], "no straight line .* 'a'", 3),
        (['joint1="a" polycoef="0.3 0 0 0 0"'], "hold a joint still .* 'a'", 3),
        (['joint1="a" joint2="b"', 'joint1="b" joint2="a"'], "already are left out: 'b'", 2),
        (['joint1="a" joint2="b"', 'joint1="a" joint2="c"'], "already are left out: 'a'", 2),
    ],
)
def test_other_equalities_are_left_out_by_name(write, lines, message, n):
    with pytest.warns(UserWarning, match=message):
        assert load_mjcf(write(world(PAIR, equality(*lines)))).n == n


def test_an_equality_that_is_not_active_has_no_effect(write):
    text = world(PAIR, equality('joint1="a" joint2="b" active="false"'))
    assert load_mjcf(write(text)).n == 3


@pytest.mark.parametrize('line', ['<joint joint1="a" joint2="b"/>', '<weld body1="a" body2="b"/>'])
def test_equalities_that_a_flag_switches_off_have_no_effect(write, line):
    off = f'<option><flag equality="disable"/></option><equality>{line}</equality>'
    model = load_mjcf(write(world(PAIR, off)))
    assert (model.n, len(model.frame_names)) == (3, 4)
