"""Explanations of differing torques: each known mistake made on purpose, and found by name."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import robots

from robot_dynamics.errors import ModelError
from robot_dynamics.model.urdf import parse_urdf
from robot_dynamics.validation.bare_urdf import parsed
from robot_dynamics.validation.diagnosis import gravity_columns, likely_cause, torques
from robot_dynamics.validation.engines import installed
from robot_dynamics.validation.faults import default_inertials, faulty_robots
from robot_dynamics.validation.states import random_states

ARM = (Path(__file__).parent / 'arm.urdf').read_text()


@pytest.fixture(scope='module')
def panda():
    return robots.load('panda')


@pytest.fixture(scope='module')
def arm():
    return parse_urdf(ARM)


def states_of(model, count=12, seed=0):
    return random_states(model, count, np.random.default_rng(seed))


def cause(model, said_by, count=12, faults=None):
    """Return the cause found where `said_by` is the robot somebody else has in mind."""
    states = states_of(model, count)
    return likely_cause(model, states, torques(said_by, states), faults)


def test_no_difference_has_no_cause(panda):
    assert cause(panda, panda) == ''


def test_noise_has_no_cause(panda):
    states = states_of(panda)
    said = torques(panda, states) + np.random.default_rng(1).normal(size=states.q.shape)
    assert likely_cause(panda, states, said) == ''


def test_one_state_is_no_evidence(panda):
    # Any torques of a single state are ours times something.
    states = states_of(panda, count=1)
    said = torques(panda, states) + np.random.default_rng(1).normal(size=states.q.shape)
    assert likely_cause(panda, states, said) == ''


@pytest.mark.parametrize('gravity', [(0, 0, 9.81), (0, 0, 0), (0, 0, -9.80665), (3, -4, -8)])
def test_gravity_is_told(panda, gravity):
    found = cause(panda, panda.with_gravity(gravity), count=3)
    shown = ', '.join(f'{float(f"{g:.4g}"):g}' for g in gravity)
    assert found == f'gravity ({shown}) m/s^2 instead of (0, 0, -9.81)'


def test_gravity_columns_are_the_gravity_torque(arm):
    model = arm.with_gravity([1.0, -2.0, 3.0])
    for q in states_of(model, 5).q:
        rest = np.zeros((1, model.n))
        expected = torques(model, type(states_of(model))(q[None], rest, rest))[0]
        assert np.abs(gravity_columns(model, q) @ model.gravity - expected).max() < 1e-13


def test_joints_in_another_order(panda):
    states = states_of(panda)
    said = torques(panda, states)[:, [1, 0, 2, 3, 4, 6, 5, *range(7, panda.n)]]
    assert likely_cause(panda, states, said).startswith(
        f'the joints in another order ({panda.joint_names[1]}, {panda.joint_names[0]}, '
    )


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        (lambda tau, s: -tau, 'torques multiplied by -1'),
        (lambda tau, s: tau / 100, 'torques multiplied by 0.01'),
        (lambda tau, s: tau + 0.5, 'a constant torque added, 0.5 N m or N'),
        (lambda tau, s: tau + 0.3 * s.qdd, 'rotor inertia added, 0.3 kg m^2 or kg'),
        (
            lambda tau, s: tau + 0.4 * s.qd + 0.7 * np.sign(s.qd),
            'friction added, viscous 0.4 N m s/rad or N s/m, dry 0.7 N m or N',
        ),
    ],
)
def test_what_joints_do_by_themselves(panda, change, words):
    states = states_of(panda)
    assert likely_cause(panda, states, change(torques(panda, states), states)) == words


def test_one_joint_of_the_opposite_sign(panda):
    states = states_of(panda)
    signs = np.ones(panda.n)
    signs[2] = -1
    found = likely_cause(panda, states, signs * torques(panda, states))
    assert found.startswith('torques multiplied by (1, 1, -1, 1, 1')


def test_a_payload_nobody_told_us_of(panda):
    link = panda.body_names[4]
    found = cause(panda, panda.with_payload(link, 1.2, (0.0, 0.1, 0.05)))
    before = panda.mass[4]
    assert found.startswith(
        f'another link {link!r}: {before + 1.2:.6g} kg instead of {before:.6g} kg, centre ('
    )
    # the payload's and the link's own centre together
    centre = (panda.com[4] * before + 1.2 * np.array([0.0, 0.1, 0.05])) / (before + 1.2)
    for value in centre:
        assert f'{float(f"{value:.4g}"):g}' in found


def test_a_link_that_lost_its_inertia(panda):
    mass, com, tensor = panda.mass.copy(), panda.com.copy(), panda.inertia_com.copy()
    mass[4], com[4], tensor[4] = 0.0, 0.0, 0.0
    lost = replace(panda, mass=mass, com=com, inertia_com=tensor)
    assert cause(panda, lost) == (
        f'another link {panda.body_names[4]!r}: without its {panda.mass[4]:.6g} kg'
    )


def test_a_mass_that_cannot_be_told_is_not_told(arm):
    """The first joint's axis stands still: what its link weighs, no torque says completely."""
    mass = arm.mass.copy()
    mass[0] *= 1.5
    found = cause(arm, replace(arm, mass=mass))
    assert found == "another link 'upper': its mass or its centre of mass"


def test_tensors_of_one_link_and_of_all(panda):
    tensor = panda.inertia_com.copy()
    tensor[3] = tensor[3] + np.diag([0.1, 0.2, 0.15])
    found = cause(panda, replace(panda, inertia_com=tensor))
    assert found == f'another inertia tensor of link {panda.body_names[3]!r}'
    # as PyBullet does without URDF_USE_INERTIA_FROM_FILE
    shapes = np.random.default_rng(2).uniform(0.01, 0.1, (panda.nb, 3))
    boxes = replace(panda, inertia_com=[np.diag(row) for row in shapes])
    assert 'as where tensors come from collision shapes' in cause(panda, boxes)


# -- known faults ---------------------------------------------------------------------------------


def with_faults(urdf, model):
    return faulty_robots(urdf, model, parse_urdf)


LINK = """<robot name="one"><link name="base"/><link name="bob"><inertial>
<origin xyz="0.1 -0.2 0.3" rpy="{rpy}"/><mass value="2"/>
<inertia ixx="0.5" ixy="0.01" ixz="0.02" iyy="0.6" iyz="0.03" izz="0.7"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="bob"/>
<axis xyz="1 2 3"/><limit effort="1" velocity="1"/></joint></robot>"""
WRITTEN = np.array([[0.5, 0.01, 0.02], [0.01, 0.6, 0.03], [0.02, 0.03, 0.7]])


def test_each_fault_is_what_it_says():
    rpy, c = (0.3, -0.2, 0.9), np.array([0.1, -0.2, 0.3])
    text = LINK.format(rpy=' '.join(map(str, rpy)))
    turned = with_faults(text, parse_urdf(text))
    (unturned,) = (robot for what, robot in turned.items() if 'without the rpy' in what)
    assert np.allclose(unturned.inertia_com[0], WRITTEN, rtol=0, atol=1e-15)
    # A tensor about the link's origin, read as one about the centre of mass, and the other way.
    straight = LINK.replace(' rpy="{rpy}"', '')
    robots_ = with_faults(straight, parse_urdf(straight))
    (negated,) = (robot for what, robot in robots_.items() if 'opposite sign' in what)
    signs = 2 * np.eye(3) - 1
    assert np.array_equal(negated.inertia_com[0], signs * WRITTEN)
    (about_origin,) = (robot for what, robot in robots_.items() if "links' origins" in what)
    # I_o = I_com + m (c.c 1 - c c^T) is what was written
    parallel_axes = 2 * (c @ c * np.eye(3) - np.outer(c, c))
    assert np.allclose(about_origin.inertia_com[0] + parallel_axes, WRITTEN, rtol=0, atol=1e-15)
    for robot in (unturned, negated, about_origin):
        assert np.array_equal(robot.com[0], c)
        assert robot.mass[0] == 2.0


def test_a_mimic_that_stands_still_stands_still(arm):
    still = with_faults(ARM, arm)['joints with <mimic> that stand still']
    leader = arm.joint_names.index('grip')
    moved = {'thumb': [0.0], 'finger': [1.0]}
    for link, rate in moved.items():
        assert still.S[still.body_names.index(link), leader] == rate
    assert arm.S[arm.body_names.index('thumb'), leader] == -0.5


def test_every_fault_of_the_awkward_arm_is_found_by_name(arm):
    faults = with_faults(ARM, arm)
    assert len(faults) == 5
    for what, robot in faults.items():
        assert cause(arm, robot, faults=faults) == what


def test_the_faults_say_what_they_are(arm):
    words = ' / '.join(with_faults(ARM, arm))
    assert "PyBullet's default, for links without <inertial> ('bracket')" in words
    assert 'without the rpy of <inertial>' in words
    assert 'products of inertia (ixy, ixz, iyz) of the opposite sign' in words
    assert "about the links' origins" in words
    assert 'joints with <mimic> that stand still' in words


LOADER = """
import pybullet, sys
pybullet.connect(pybullet.DIRECT)
body = pybullet.loadURDF(
    sys.argv[1], useFixedBase=True, flags=pybullet.URDF_USE_INERTIA_FROM_FILE
)
print(*pybullet.getDynamicsInfo(body, 0)[0:3:2])
"""


def test_default_inertials_are_those_of_pybullet(tmp_path):
    """One kilogram and the unit tensor: what pybullet makes of a link that has no <inertial>."""
    if not installed('pybullet'):
        pytest.skip('PyBullet is not installed')
    file = tmp_path / 'bare.urdf'
    file.write_text(BARE)
    said = subprocess.run(
        [sys.executable, '-c', LOADER, str(file)], capture_output=True, text=True, check=True
    )
    assert said.stdout.splitlines()[-1] == '1.0 (1.0, 1.0, 1.0)'
    changed = parsed(BARE)
    assert default_inertials(changed).endswith("for links without <inertial> ('a', 'b')")
    (tensor,) = changed.findall('link[@name="b"]/inertial/inertia')
    assert tensor.attrib == {
        'ixx': '1.0',
        'ixy': '0.0',
        'ixz': '0.0',
        'iyy': '1.0',
        'iyz': '0.0',
        'izz': '1.0',
    }


BARE = """<robot name="r"><link name="a"/><link name="b"/>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""


def test_a_robot_without_awkward_corners_has_no_faults():
    simple = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="2"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
    <joint name="j" type="continuous"><parent link="a"/><child link="b"/>
    <limit effort="1" velocity="1"/></joint></robot>"""
    # The base's inertia is missing, and has no effect on torques.
    assert with_faults(simple, parse_urdf(simple)) == {}


def test_texts_that_are_refused_are_left_out(arm):
    def read(text):
        raise ModelError('no')

    assert list(faulty_robots(ARM, arm, read)) == ['joints with <mimic> that stand still']
