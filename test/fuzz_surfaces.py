# SPDX-License-Identifier: Apache-2.0
"""Files for `./run fuzz`: valid ones, their reader, and a second reader of their numbers."""

import contextlib
import csv
import functools
import itertools
import math
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import yaml
from elbow import ELBOW
from numpy.testing import assert_allclose, assert_array_equal
from recorded_runs import lively, samples, torque, write_bag

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.resources import share_file
from robot_dynamics.control.trajectory_file import read_trajectory
from robot_dynamics.core.kinematics import frame_pose
from robot_dynamics.core.model.dh import load_dh
from robot_dynamics.recordings import read_bag, read_coupling
from robot_dynamics.recordings.recording_files import read_csv
from robot_dynamics.ros.parameter_files import read_parameters
from robot_dynamics.ros.robot_parameters import MeasuredParameters
from robot_dynamics.simulation import load_environment
from robot_dynamics.urdf.loading import parse_urdf

sys.path.append(str(Path(__file__).with_name('urdf')))
import test_against_pinocchio

CLOSE = {'rtol': 1e-12, 'atol': 1e-12}
JOINTS = 'shoulder', 'elbow'


class Surface(NamedTuple):
    """A kind of files."""

    name: str
    suffix: str
    files: Callable[[], list[bytes]]  # valid ones
    read: Callable[[Path], Any]
    other: str  # library that reads the same
    compare: Callable[[Path, Any], None]  # AssertionError: it reads other numbers


# -- URDF ----------------------------------------------------------------------------------------

JOINT_KINDS = """<robot name="kinds">
<link name="base"><inertial><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="a"><inertial><origin xyz="0.1 0 0" rpy="0.1 0.2 0.3"/><mass value="1.5"/>
<inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0.01" ixz="0" iyz="0"/></inertial></link>
<link name="b"><inertial><mass value="0.5"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="c"/><link name="d"><inertial><mass value="0.2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="slide" type="prismatic"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
<origin xyz="0 0 1" rpy="0 1.5708 0"/><limit lower="-1" upper="1" effort="9" velocity="1"/></joint>
<joint name="turn" type="continuous"><parent link="a"/><child link="b"/><axis xyz="1 1 0"/>
<limit effort="10" velocity="1"/><dynamics damping="0.1" friction="0.2"/></joint>
<joint name="fix" type="fixed"><parent link="b"/><child link="c"/><origin xyz="0 .2 0"/></joint>
<joint name="follow" type="revolute"><parent link="c"/><child link="d"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="10" velocity="1"/>
<mimic joint="turn" multiplier="-0.5" offset="0.1"/></joint>
</robot>
"""


@functools.cache
def urdf_files():
    shipped = [share_file('urdf/panda.urdf'), share_file('urdf/scara_rrp.urdf')]
    return [*(path.read_bytes() for path in shipped), ELBOW.encode(), JOINT_KINDS.encode()]


def compare_urdf(path, _model):
    if b'\t' in path.read_bytes():
        raise ValueError('urdfdom omits a body with tabs between its numbers')
    # Pinocchio takes an axis within 1e-12 of z for z.
    test_against_pinocchio.compare(path, tolerance=1e-11)


# -- YAML ----------------------------------------------------------------------------------------

TRAJECTORY = b"""joint_names: [shoulder, elbow]
points:
- positions: [0.0, 0.0]
  velocities: [0.0, 0.0]
  time_from_start: {sec: 0, nanosec: 0}
- positions: [0.8, -6.0e-1]
  velocities: [0.1, 0.2]
  accelerations: [0.0, -0.5]
  time_from_start: {sec: 1, nanosec: 500000000}
- positions:
  - 0.0
  - 1e-3
  velocities: [0.0, 0.0]
  time_from_start:
    sec: 3
    nanosec: 0
"""
ENVIRONMENT = b"""planes:
  table: {point: [0, 0, 0.1], normal: [0, 0, 1], stiffness: 2.0e+4, friction: 0.5}
spheres:
  ball:
    centre: [0.5, 0.1, 0.3]
    radius: 0.05
    damping: 10
touch_points:
  flange: {link: forearm, point: [0.1, 0, 0.2]}
"""
PARAMETERS = b"""/**:
  ros__parameters:
    joints: [shoulder, elbow]
    gravity: [0.0, 0.0, -9.81]
    effort_scale: [1.02, 0.98]
    effort_scale_known: [true, false]
    effort_offset: [0.1, -2.0e-1]
    effort_gravity_compensated: false
    friction:
      law: coulomb
      viscous: [0.5, 0.2]
      coulomb: [1, 2]
    payload.link: forearm
    payload.mass: 1.5
"""
PLAIN = [TRAJECTORY, b'joint_names: [a]\npoints: [{positions: [1], time_from_start: {sec: 1}}]\n']


def plain(path):
    """Return a YAML file with its scalars as text."""
    return yaml.load(path.read_bytes(), yaml.BaseLoader)


def numbers(values):
    """Return texts as numbers, as Python reads them."""
    return [float(value) for value in values]


def compare_trajectory(path, trajectory):
    content = plain(path)
    points = content['points']
    assert list(trajectory.joint_names) == content['joint_names']
    assert len(trajectory.times) == len(points)
    for k, point in enumerate(points):
        time = point['time_from_start']
        seconds = float(time.get('sec', 0)) + 1e-9 * float(time.get('nanosec', 0))
        assert_allclose(trajectory.times[k], seconds, **CLOSE)
        for name, row in zip(
            ('positions', 'velocities', 'accelerations'), trajectory.waypoint(k), strict=True
        ):
            given = numbers(point.get(name) or [])
            assert_array_equal([] if row is None or not given else row, given)


def compare_coupling(path, coupling):
    content = plain(path)
    order = [content['joints'].index(name) for name in coupling.joints]
    matrix = np.array([numbers(row) for row in content['matrix']])
    assert_array_equal(coupling.matrix, matrix[np.ix_(order, order)])
    assert_array_equal(coupling.ratios, np.array(numbers(content['ratios']))[order])


def compare_environment(path, environment):
    content = plain(path)
    places = {'planes': ('point', 'normal'), 'spheres': ('centre',), 'touch_points': ('point',)}
    for section, vectors in places.items():
        for name, entry in (content.get(section) or {}).items():
            found = environment.touch_points if section == 'touch_points' else environment.bodies
            one = found[name]
            for key, text in entry.items():
                if key == 'link':
                    assert one.link == text
                elif key in vectors:
                    assert_array_equal(getattr(one, key), numbers(text))
                else:
                    owner = one if key == 'radius' else one.material
                    assert getattr(owner, key) == float(text), key


def read_robot_parameters(path):
    """Return the parameters of a file, which fit a robot or not."""
    table = read_parameters(path, MeasuredParameters)
    with contextlib.suppress(RobotDynamicsError):
        table.robot(ELBOW.encode())
    return table


def compare_parameters(path, table):
    """Compare numbers and texts with the parser of ROS, where both have the parameter."""
    import rclpy

    context = rclpy.Context()
    context.init(args=[])
    try:
        node = rclpy.create_node(
            'fuzzed',
            context=context,
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
            cli_args=['--ros-args', '--params-file', str(path)],
        )
        given = {name: one.value for name, one in node._parameter_overrides.items()}
        node.destroy_node()
    finally:
        context.try_shutdown()
    for name, value in given.items():
        ours = getattr(table, name.replace('.', '__'), None)
        texts = np.array(ours).dtype.kind == 'U', np.array(value).dtype.kind == 'U'
        if all(texts):
            assert_array_equal(np.ravel(ours), np.ravel(value), name)
        elif ours is not None and not any(texts):
            assert_array_equal(np.ravel(ours).astype(float), np.ravel(value).astype(float), name)


# -- tables --------------------------------------------------------------------------------------

DH = b"""# a comment
a, alpha, d, theta, type, mass, com, inertia
0.4, 0, 0.1, 0, revolute, 2.0, -0.2 0 0, 0.01 0.02 0.02
0.3, 1.5707963267948966, 0, 0.5, revolute, 1.5, -0.1 0 0.05, 0.01 0 0 0.02 0 0.02
0, -pi/2, 0.2, pi, prismatic, 0.5, 0 0 -0.1, 0.001 0.001 0.001
"""


def compare_dh(path, model):
    """Compare the last frame and the mass with the textbook formula."""
    text = [line for line in path.read_text('utf-8-sig').splitlines() if not line.startswith('#')]
    rows = list(csv.DictReader(text, skipinitialspace=True))
    T, mass = np.eye(4), 0.0
    for row in rows:
        row = {name.strip(): value.strip() for name, value in row.items()}
        a, alpha, d, theta = (number_of_pi(row[name]) for name in ('a', 'alpha', 'd', 'theta'))
        c, s, ca, sa = math.cos(theta), math.sin(theta), math.cos(alpha), math.sin(alpha)
        T = T @ [
            [c, -s * ca, s * sa, a * c],
            [s, c * ca, -c * sa, a * s],
            [0, sa, ca, d],
            [0, 0, 0, 1],
        ]
        mass += float(row['mass'])
    ours = frame_pose(model, np.zeros(model.n), model.frame_names[-1])
    size = max(1.0, np.abs(T).max())
    assert_allclose(ours, T, rtol=0, atol=1e-12 * size)
    assert_allclose(model.mass.sum(), mass, rtol=1e-12)


def number_of_pi(text):
    """Return a number with at most one factor pi; ValueError for others."""
    factor, pi, divisor = text.partition('pi')
    if not pi:
        return float(text)
    sign = {'': 1.0, '-': -1.0, '+': 1.0}
    factor = sign[factor] if factor in sign else float(factor.removesuffix('*'))
    return factor * math.pi / (float(divisor.removeprefix('/')) if divisor else 1.0)


@functools.cache
def csv_files():
    """Return recordings with different separators and words."""
    rng = np.random.default_rng(0)
    t = np.arange(80) / 100
    q = np.sin(t[:, None] * [1.0, 2.0])
    rows = np.column_stack([t, q, np.cos(q), 3 * q + rng.normal(size=q.shape)])
    heads = (
        't,q1,q2,qd1,qd2,effort1,effort2',
        'time [s];shoulder position [rad];elbow position;shoulder velocity;elbow velocity;'
        'shoulder torque [Nm];elbow torque [Nm]',
        '# t q[0] q[1] qd[0] qd[1] current[0] current[1]',
    )
    return [
        '\n'.join([head, *(separator.join(f'{x:.6g}' for x in row) for row in rows)]).encode()
        for head, separator in zip(heads, ',; ', strict=True)
    ]


def read_recorded(path):
    table = read_csv(path)
    table.recording(JOINTS)
    return table


def compare_csv(path, table):
    """Compare all cells with those that NumPy reads."""
    text = path.read_text('utf-8-sig')
    separator = next((one for one in ';\t,' if one in text.splitlines()[-1]), None)
    theirs = np.genfromtxt(
        path, delimiter=separator, skip_header=1, comments='#', encoding='utf-8-sig'
    )
    theirs = np.atleast_2d(theirs)
    if np.isnan(theirs).any():
        raise ValueError('NumPy reads no number in a cell')
    assert_array_equal(table.values, theirs)


# -- recordings ----------------------------------------------------------------------------------


@functools.cache
def bag_files(storage):
    model = parse_urdf(ELBOW)
    t, q, qd, qdd = lively(model, duration=0.4, rate=100.0)
    run = samples(model.joint_names, t, q, qd, torque(model, q, qd, qdd))
    with TemporaryDirectory() as folder:
        topics, texts = {'/joint_states': run}, {'/robot_description': ELBOW}
        bag = write_bag(Path(folder, 'bag'), topics, storage=storage, descriptions=texts)
        (file,) = (path for path in bag.iterdir() if path.suffix != '.yaml')
        return [file.read_bytes()]


def compare_bag(path, bag):
    """Compare every sample with those of rosbags' reader of all formats."""
    from rosbags.highlevel import AnyReader
    from rosbags.typesys import Stores, get_typestore

    with AnyReader([path], default_typestore=get_typestore(Stores.ROS2_HUMBLE)) as reader:
        chosen = [one for one in reader.connections if one.topic == bag.topic]
        messages = list(reader.messages(connections=chosen))
        read = [reader.deserialize(data, one.msgtype) for one, _, data in messages]
    assert len(read) == len(bag.samples)
    for (_, logged, _), theirs, ours in zip(messages, read, bag.samples, strict=True):
        assert logged == ours.logged
        assert tuple(theirs.name) == ours.names
        fields = zip((theirs.position, theirs.velocity, theirs.effort), ours[3:], strict=True)
        for one, other in itertools.chain(fields):
            assert_array_equal(one, other)


def read_recorded_bag(path):
    """Return a recording; by joint as well, whether or not its joints are the arm's."""
    bag = read_bag(path)
    with contextlib.suppress(RobotDynamicsError):
        bag.recording(JOINTS)
    return bag


# -- all -----------------------------------------------------------------------------------------

COUPLING = share_file('config/tx40_coupling.yaml')
MOTOR_JOINTS = tuple(f'joint_{k}' for k in range(1, 7))
SURFACES = {
    surface.name: surface
    for surface in (
        Surface(
            'urdf',
            '.urdf',
            urdf_files,
            lambda path: parse_urdf(path.read_bytes()),
            'Pinocchio',
            compare_urdf,
        ),
        Surface(
            'parameters',
            '.yaml',
            lambda: [PARAMETERS],
            read_robot_parameters,
            'rcl',
            compare_parameters,
        ),
        Surface('csv', '.csv', csv_files, read_recorded, 'NumPy', compare_csv),
        Surface(
            'bag',
            '.mcap',
            lambda: bag_files('mcap'),
            read_recorded_bag,
            'rosbags',
            compare_bag,
        ),
        Surface(
            'bag-sqlite3',
            '.db3',
            lambda: bag_files('sqlite3'),
            read_recorded_bag,
            'rosbags',
            compare_bag,
        ),
        Surface(
            'dh',
            '.csv',
            lambda: [DH],
            lambda path: load_dh(path, convention='standard'),
            'the textbook',
            compare_dh,
        ),
        Surface(
            'coupling',
            '.yaml',
            lambda: [COUPLING.read_bytes()],
            lambda path: read_coupling(path, MOTOR_JOINTS),
            'PyYAML',
            compare_coupling,
        ),
        Surface(
            'environment',
            '.yaml',
            lambda: [ENVIRONMENT],
            load_environment,
            'PyYAML',
            compare_environment,
        ),
        Surface(
            'trajectory', '.yaml', lambda: PLAIN, read_trajectory, 'PyYAML', compare_trajectory
        ),
    )
}
