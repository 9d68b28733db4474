# SPDX-License-Identifier: Apache-2.0
"""Real robots, number by number, against Pinocchio's own URDF reader."""

import warnings

import numpy as np
import pinocchio as pin
import pytest
import robots

from robot_dynamics.common.errors import ModelError
from robot_dynamics.core.kinematics import frame_pose
from robot_dynamics.core.model.inertia import to_parameters
from robot_dynamics.urdf.loading import load_urdf, parse_urdf

TOLERANCE = 1e-12
# m, m c, then I_xx I_xy I_xz I_yy I_yz I_zz; Pinocchio swaps I_xz and I_yy.
OUR_ORDER = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]


def compare(path, tolerance=TOLERANCE):
    """Assert that both libraries read the same bodies, frames and joints from a file."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', UserWarning)
        model = load_urdf(path)
    theirs = pin.buildModelFromUrdf(str(path))
    # Body i is moved by the joint before its link.
    number = [theirs.frames[theirs.getFrameId(body, pin.BODY)].parentJoint
              for body in model.body_names]  # fmt: skip
    assert sorted(number) == list(range(1, theirs.njoints))
    assert [0 if p < 0 else number[p] for p in model.parent] == [theirs.parents[j] for j in number]
    for i, name in enumerate(model.joint_names):
        followers = {theirs.names[number[b]] for b in np.flatnonzero(model.S[:, i])}
        assert name in followers
    compare_inertias(model, theirs, number, tolerance)
    for seed in range(3):
        compare_frames(model, theirs, number, seed, tolerance)


def compare_inertias(model, theirs, number, tolerance):
    bodies = [(model.inertial(i), theirs.inertias[j]) for i, j in enumerate(number)]
    bodies.append((model.base, theirs.inertias[0]))
    for body, other in bodies:
        expected = other.toDynamicParameters()[OUR_ORDER]
        size = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(to_parameters(body), expected, rtol=0, atol=tolerance * size)
        if body.mass > 0:
            size = max(1.0, np.abs(other.lever).max())
            np.testing.assert_allclose(body.com, other.lever, rtol=0, atol=tolerance * size)
    total = sum(inertia.mass for inertia in theirs.inertias)
    assert model.mass.sum() + model.base.mass == pytest.approx(total, rel=tolerance)


def compare_frames(model, theirs, number, seed, tolerance):
    """Compare all link frames: at zero for seed 0, else at a random posture."""
    q = np.zeros(model.n) if seed == 0 else np.random.default_rng(seed).uniform(-2, 2, model.n)
    position = pin.neutral(theirs)
    for j, angle in zip(number, model.S @ q + model.s0, strict=True):
        joint = theirs.joints[j]
        # Pinocchio gives a continuous joint its cosine and sine.
        value = [angle] if joint.nq == 1 else [np.cos(angle), np.sin(angle)]
        position[joint.idx_q : joint.idx_q + joint.nq] = value
    data = theirs.createData()
    pin.framesForwardKinematics(theirs, data, position)
    for link in model.link_names:
        expected = data.oMf[theirs.getFrameId(link, pin.BODY)].homogeneous
        size = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(
            frame_pose(model, q, link), expected, rtol=0, atol=tolerance * size, err_msg=link
        )


@pytest.mark.parametrize('name', robots.NAMES)
def test_the_robots_of_the_other_tests(name):
    compare(robots.path(name))


# -- every robot that is shipped --------------------------------------------------------------

# Their files are wrong, or contain joints that this package does not support.
REFUSED = {
    'ur3.urdf': 'has no link',
    'bike.urdf': "xyz='0.07, 0, -0.69', which must be a number",
    'biped2d_pybullet.urdf': 'lower=1 and upper=-1; lower must not exceed',
    'cube_no_rotation.urdf': 'lower=1 and upper=-1; lower must not exceed',
    'humanoid.urdf': 'not well-formed XML',
    'husky.urdf': 'optenv HUSKY_IMU_XYZ',
    'microtaur.urdf': "rpy='-3.14159 1.57079 0 0', which has 4 values",
    'spirit40newer.urdf': "joint 'RL_lower_joint' has <axis> 2 times",
    'spherical_joint_limit.urdf': "'neck' has type='spherical'",
    'torus_deform.urdf': 'has no link',
}
# Single bodies, such as balls and tables.
NO_ROBOT = 'has no moving joint'


def shipped():
    yield from robots.example_robot_data().rglob('*.urdf')
    if 'xarm6' in robots.NAMES:
        for file in robots.pybullet_data().rglob('*.urdf'):
            if 'random_urdfs' not in file.parts:
                yield file


@pytest.mark.slow
def test_every_shipped_robot_is_read_like_pinocchio_or_rejected_with_a_reason():
    loaded = []
    for file in shipped():
        rejection = rejection_of(file)
        if rejection is None:
            compare(file)
            loaded.append(file.name)
        elif NO_ROBOT not in rejection:
            assert REFUSED[file.name] in rejection
    assert len(loaded) > 60
    assert 'panda.urdf' in loaded


def rejection_of(file):
    """Return why a file is rejected, or None if it loads."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', UserWarning)
        try:
            load_urdf(file)
        except ModelError as error:
            return str(error)
    return None


def test_impossible_tensors_of_tiago_are_named():
    message = r"link 'base_antenna_left_link': principal moments \(-3\.535e-08"
    with pytest.warns(UserWarning, match=message):
        load_urdf(robots.path('tiago'))
    with pytest.raises(ModelError, match=message):
        load_urdf(robots.path('tiago'), strict_inertials=True)


def test_the_parser_prints_nothing(capfd):
    for name in robots.NAMES:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', UserWarning)
            parse_urdf(robots.path(name).read_bytes())
    assert capfd.readouterr() == ('', '')
