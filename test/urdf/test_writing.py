# SPDX-License-Identifier: Apache-2.0
"""URDF of a model: what is read back is the same robot, by its own functions and by Pinocchio."""

import re
from dataclasses import replace

import numpy as np
import pytest
import robots
from hypothesis import given, settings
from hypothesis import strategies as st

import robot_dynamics as rd
from robot_dynamics.check.examination import examine
from robot_dynamics.common.resources import bundled_robots
from robot_dynamics.common.spatial import pose, rotation_rpy
from robot_dynamics.core import kinematics
from robot_dynamics.core.model import robots as textbook_robots
from robot_dynamics.core.model.coordinates import with_coordinates
from robot_dynamics.core.model.robot_model import RATE_LIMITS
from robot_dynamics.core.model.robots import random_inertial, random_tree
from robot_dynamics.formulations.newton_euler_link_frame import inverse_dynamics
from robot_dynamics.ros.parameter_files import read_parameters
from robot_dynamics.ros.robot_parameters import MeasuredParameters
from robot_dynamics.urdf.geometry.shapes import link_shapes
from robot_dynamics.urdf.mjcf.writing import to_mjcf
from robot_dynamics.urdf.reader import xml_root
from robot_dynamics.urdf.writing import to_urdf

EPS = np.finfo(float).eps
MEANT = 'ignore::UserWarning', 'ignore::robot_dynamics.InertialWarning'
pytestmark = [pytest.mark.filterwarnings(one) for one in MEANT]
LIMITS = ('lower', 'upper', *RATE_LIMITS, 'effort_limit', 'viscous', 'coulomb')


def read_back(model):
    """Return the robot of its URDF; what a URDF cannot hold is added, by the names of joints."""
    again = rd.parse_urdf(to_urdf(model), gravity=model.gravity)
    order = [model.joint_names.index(name) for name in again.joint_names]
    return again.with_actuation(rotor_inertia=model.reflected_inertia[order]), order


def assert_same(model, seed=0):
    """Torques, mass matrix, frames and limits are the same but for rounding."""
    again, order = read_back(model)
    rng = np.random.default_rng(seed)
    q, qd, qdd = rng.uniform(-1, 1, (3, model.n))
    tau = inverse_dynamics(model, q, qd, qdd)
    found = inverse_dynamics(again, q[order], qd[order], qdd[order])
    largest = np.abs(model.inertial_parameters()).max() * model.nb**2
    tolerance = 64 * EPS * model.nb * (np.abs(tau).max() + largest)
    np.testing.assert_allclose(found, tau[order], rtol=0, atol=tolerance)
    assert set(model.frame_names) <= set(again.frame_names)
    for frame in model.frame_names:
        T = kinematics.frame_pose(model, q, frame)
        T_found = kinematics.frame_pose(again, q[order], frame)
        atol = 64 * EPS * model.nb * (1 + np.abs(T).max())
        np.testing.assert_allclose(T_found, T, rtol=0, atol=atol, err_msg=frame)
    for name in LIMITS:
        given, read = getattr(model, name)[order], getattr(again, name)
        np.testing.assert_allclose(read, given, rtol=4 * EPS, err_msg=name)


FILES = [*bundled_robots(), *robots.NAMES]


@pytest.mark.parametrize('name', FILES)
def test_robots_of_files_are_read_back(name):
    """Also joints, bodies and links are the same, in the same order: nothing has a new name."""
    path = robots.path(name) if name in robots.NAMES else bundled_robots()[name]
    model = rd.load_urdf(path)
    assert_same(model)
    again, _ = read_back(model)
    for names in ('joint_names', 'body_names', 'link_names', 'frame_names', 'moving_links'):
        assert getattr(again, names) == getattr(model, names)
    for array in ('S', 's0', 'parent', 'revolute', 'mass', 'frame_body'):
        np.testing.assert_array_equal(getattr(again, array), getattr(model, array))


@pytest.mark.parametrize(
    'model',
    [
        textbook_robots.vertical_particle(),
        textbook_robots.geared_link(),
        textbook_robots.cartesian_arm(),
        textbook_robots.planar_2r(),
        textbook_robots.puma560(),
    ],
    ids=lambda model: model.name,
)
def test_robots_of_books_are_read_back(model):
    assert_same(model)


@settings(max_examples=10)
@given(n=st.integers(1, 12), seed=st.integers(0, 2**32 - 1))
def test_trees_are_read_back(n, seed):
    """Also those whose bodies are not numbered depth-first, with limits and payload."""
    rng = np.random.default_rng(seed)
    model = random_tree(n, rng)
    load = random_inertial(rng)
    loaded = model.with_payload('link1', load.mass, load.com, load.inertia_com)
    assert_same(
        replace(
            loaded,
            lower=-rng.uniform(0.1, 3, n),
            upper=rng.uniform(0.1, 3, n),
            **{name: rng.uniform(0.1, 3, n) for name in RATE_LIMITS},
            effort_limit=rng.uniform(0.1, 3, n),
            viscous=rng.uniform(0, 1, n),
            coulomb=rng.uniform(0, 1, n),
        ),
        seed,
    )


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), sign=st.sampled_from([-1.0, 1.0]))
def test_joints_that_follow_others_are_read_back(seed, sign):
    """As mimic joints; a coordinate is a joint but for its zero and its sign; a row is locked."""
    rng = np.random.default_rng(seed)
    S = np.array([[0, sign], [rng.uniform(0.2, 2), 0], [1, 0], [0, -rng.uniform(0.2, 2)], [0, 0]])
    model = with_coordinates(random_tree(5, rng), S, rng.uniform(-1, 1, 5))
    given = replace(model, lower=np.array([-1.0, -np.inf]), upper=np.array([2.0, np.inf]))
    assert_same(given, seed)


@pytest.mark.parametrize('side', [1.0, -1.0])
@pytest.mark.parametrize('ratio', [0.7, -0.7, 2.5, -2.5])
def test_limits_of_a_joint_that_follows_another_are_those_of_its_leader(ratio, side):
    """Also of a coordinate that is a joint but for its sign, with a range on one side of zero."""
    S = np.array([[side, 0], [ratio, 0], [0, 1], [0, -side * ratio]])
    model = with_coordinates(
        random_tree(4, np.random.default_rng(5)), S, np.array([0.2, -0.3, 0.0, 0.4])
    )
    ends = np.sort(side * np.array([[0.1, 1.3], [-0.2, 1.7]]))
    model = replace(
        model,
        lower=ends[:, 0],
        upper=ends[:, 1],
        velocity_limit=np.array([2.0, 3.0]),
        effort_limit=np.array([40.0, 50.0]),
    )
    assert_same(model)
    joints = {joint.get('name'): joint for joint in xml_root(to_urdf(model)).findall('joint')}
    following = [joint for joint in joints.values() if joint.find('mimic') is not None]
    assert len(following) == 2
    for joint in following:
        mimic = joint.find('mimic')
        m, b = (float(mimic.get(key)) for key in ('multiplier', 'offset'))
        limits, leaders = (
            {key: float(value) for key, value in one.find('limit').items()}
            for one in (joint, joints[mimic.get('joint')])
        )
        ends = sorted(m * leaders[key] + b for key in ('lower', 'upper'))
        np.testing.assert_allclose([limits['lower'], limits['upper']], ends, rtol=1e-12)
        assert limits['effort'] == 0  # none: it has no drive
        assert limits['velocity'] == pytest.approx(abs(m) * leaders['velocity'], rel=1e-12)


@pytest.mark.parametrize('name', LIMITS)
@pytest.mark.parametrize('joint', range(3))
def test_each_number_of_a_joint_alone_is_read_back(name, joint):
    """Of revolute and prismatic joints that have no other one."""
    kinds = np.array([True, False, True])
    model = replace(random_tree(3, np.random.default_rng(2), prismatic=0.0), revolute=kinds)
    values = {key: np.array(getattr(model, key)) for key in LIMITS}
    assert not any(np.isfinite(values[key]).any() for key in LIMITS[:-2])
    assert not any(values[key].any() for key in LIMITS[-2:])
    values[name][joint] = -0.7 if name == 'lower' else 0.7
    assert_same(replace(model, **values))


@pytest.mark.parametrize('name', bundled_robots())
def test_bundled_robots_are_read_back_with_what_they_carry(name):
    """With a payload, rotors, friction and another gravity; with a locked joint; and in part."""
    model = rd.load_urdf(name)
    rng = np.random.default_rng(0)
    numbers = dict(
        zip(('rotor_inertia', 'viscous', 'coulomb'), rng.random((3, model.n)), strict=True)
    )
    loaded = model.with_payload(model.moving_links[-1], 1.7, [0.1, -0.05, 0.2])
    assert_same(loaded.with_actuation(**numbers).with_gravity([1.0, 2.0, -9.0]))
    assert_same(rd.load_urdf(name, locked_joints={model.joint_names[0]: 0.4}))
    assert_same(rd.load_urdf(name, tip_link=model.moving_links[0]))


@pytest.mark.parametrize('convention', ['standard', 'modified'])
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_tables_are_read_back(convention, seed):
    """The frames of the table have their names, also away from the joints."""
    rng = np.random.default_rng(seed)
    kinds = rng.choice(['revolute', 'prismatic'], 4)
    table = [(*rng.uniform(-1, 1, 4), str(kind)) for kind in kinds]
    inertias = [random_inertial(rng) for _ in table]
    assert_same(rd.from_dh(table, convention=convention, inertias=inertias), seed)


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), right=st.sampled_from([-1, 1]))
def test_right_angles_of_pitch_are_exact(seed, right):
    """There roll and yaw are about one axis; the standard PUMA has such frames."""
    rng = np.random.default_rng(seed)
    model = random_tree(1, rng)
    R = rotation_rpy(rng.uniform(-3, 3), right * np.pi / 2, rng.uniform(-3, 3))
    assert_same(replace(model, placement=pose(R, rng.uniform(-1, 1, 3))[None]), seed)


@pytest.mark.parametrize('seed', range(3))
def test_pinocchio_reads_the_same_robot(seed):
    """Its reader and its dynamics share nothing with ours."""
    pin = pytest.importorskip('pinocchio')
    rng = np.random.default_rng(seed)
    table = [(*rng.uniform(-1, 1, 4), kind) for kind in ('revolute', 'prismatic', 'revolute')]
    inertias = [random_inertial(rng) for _ in table]
    model = rd.from_dh(table, convention='standard', inertias=inertias)
    model = replace(model, lower=np.full(3, -2.0), upper=np.full(3, 2.0))
    # Pinocchio has cosine and sine as the coordinates of continuous joints: limits avoid them.
    other = pin.buildModelFromXML(to_urdf(model))
    other.gravity.linear = model.gravity
    data = other.createData()
    q, qd, qdd = rng.uniform(-1, 1, (3, 3))
    tau = rd.Dynamics(model).inverse_dynamics(q, qd, qdd)
    atol = 1e-12 * np.abs(tau).max()
    np.testing.assert_allclose(pin.rnea(other, data, q, qd, qdd), tau, rtol=0, atol=atol)
    M = np.triu(pin.crba(other, data, q))
    expected = np.triu(rd.Dynamics(model).mass_matrix(q))
    np.testing.assert_allclose(M, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    pin.framesForwardKinematics(other, data, q)
    T = data.oMf[other.getFrameId('link3')].homogeneous
    expected = kinematics.frame_pose(model, q, 'link3')
    np.testing.assert_allclose(T, expected, rtol=0, atol=1e-13)


# -- files ----------------------------------------------------------------------------------


def branched():
    """Return a tree with rotors: joint p1 follows p2, which a reader finds first."""
    rng = np.random.default_rng(3)
    S = np.array([[0, 1], [0, -0.5], [-1, 0], [2.0, 0]])
    model = with_coordinates(random_tree(4, rng), S, [0.0, 0.1, 0.0, 0.0])
    return model.with_actuation(rotor_inertia=[0.3, 0.7])


@pytest.mark.parametrize('model', [textbook_robots.puma560(), branched()], ids=lambda m: m.name)
def test_rotors_and_gravity_are_parameters_of_the_nodes(model, tmp_path):
    gravity = np.array([0.0, 9.0, 1.0])
    model = model.with_gravity(gravity)
    urdf = rd.write_urdf(model, tmp_path / 'arm.urdf')
    assert {file.name for file in tmp_path.iterdir()} == {'arm.urdf', 'arm.yaml'}
    nodes = read_parameters(tmp_path / 'arm.yaml', MeasuredParameters)
    again = nodes.robot(urdf.read_bytes())
    for name, inertia in zip(model.joint_names, model.reflected_inertia, strict=True):
        assert again.reflected_inertia[again.joint_names.index(name)] == inertia
    np.testing.assert_allclose(again.gravity, gravity, rtol=4 * EPS)
    # without the parameters there are none
    assert not rd.load_urdf(urdf).reflected_inertia.any()


def test_the_file_has_the_name_of_the_robot(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = replace(textbook_robots.planar_2r(), name='../arm')
    assert rd.load_urdf(rd.write_urdf(model)).name == '../arm'
    assert {file.name for file in tmp_path.iterdir()} == {'arm.urdf', 'arm.yaml'}


def test_other_suffixes_are_rejected(tmp_path):
    with pytest.raises(rd.ModelError, match=r"is 'a\.xml'; expected a name that ends in \.urdf"):
        rd.write_urdf(textbook_robots.planar_2r(), 'a.xml')


# -- shapes ---------------------------------------------------------------------------------


def test_lines_run_along_the_table():
    """From a joint along x by a, then along z by d to the next joint; none is a collision."""
    table = [(0.5, 0.0, 0.0, 0.0, 'revolute'), (0.3, 0.0, 0.2, 0.0, 'prismatic')]
    inertias = [random_inertial(np.random.default_rng(i)) for i in range(2)]
    model = rd.from_dh(table, convention='standard', inertias=inertias)
    links = {link.get('name'): link for link in xml_root(to_urdf(model)).findall('link')}
    along_x, along_z, joint = link_shapes(links['link1_body'], 'visual')
    for shape, length, axis, centre in (
        (along_x, 0.5, [1, 0, 0], [0.25, 0, 0]),
        (along_z, 0.2, [0, 0, 1], [0.5, 0, 0.1]),
    ):
        assert shape.kind == 'cylinder'
        assert shape.size[1] == pytest.approx(length)
        np.testing.assert_allclose(shape.pose[:3, 2], axis, atol=4 * EPS)
        np.testing.assert_allclose(shape.pose[:3, 3], centre, atol=4 * EPS)
    assert joint.size[0] == pytest.approx(2 * along_x.size[0])
    assert link_shapes(links['link2_body'], 'visual')[-1].kind == 'box'
    assert not any(link_shapes(link, 'collision') for link in links.values())


def test_drawn_bodies_have_the_density_of_links(tmp_path):
    """So that the check of a description finds nothing to doubt in them."""
    path = rd.write_urdf(rd.load_urdf('panda'), tmp_path / 'a.urdf')
    kinds = {finding.kind for finding in examine(path).findings}
    assert not kinds & {'density', 'mass-unit', 'com-outside'}


# -- rejections -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('model', 'message'),
    [
        (textbook_robots.remote_elbow(), 'depends on .*; a joint of a URDF depends on one coord'),
        (
            with_coordinates(textbook_robots.vertical_particle(), [[2.0]]),
            r"'p1' moves joints by \[2\.0\]; a URDF needs a joint that moves by 1 or -1",
        ),
        (
            replace(textbook_robots.vertical_particle(), effort_limit=np.zeros(1)),
            "limits of joint 'joint1' are .*expected none that is 0",
        ),
        (
            replace(textbook_robots.vertical_particle(), name='a' * 300),
            'the name of the robot has 300 characters',
        ),
    ],
    ids=['several coordinates', 'no joint of its own', 'limit of zero', 'long name'],
)
def test_what_a_urdf_cannot_hold_is_rejected(model, message):
    with pytest.raises(rd.ModelError, match=message):
        to_urdf(model)


def test_rounding_errors_are_not_written(tmp_path):
    table = tmp_path / 'arm.csv'
    table.write_text(
        'a, alpha, d, theta, type, mass, com, inertia\n'
        '0, pi/2, 0.4, 0, revolute, 3, 0 -0.2 0, 0.04 0.04 0.01\n'
        '0.4, 0, 0.1, pi/2, revolute, 2, -0.2 0 0, 0.001 0.03 0.03\n'
        '0.3, -pi/2, 0, pi, revolute, 1, -0.1 0 0, 0.0003 0.01 0.01\n'
    )
    model = rd.load_dh(table, convention='standard')
    assert_same(model)
    for text in (to_urdf(model), to_mjcf(model)):
        assert not re.search(r'-0\.0\b|\de-1[5-9]|\d\.\d*0000\d|\d\.\d*99999', text)
