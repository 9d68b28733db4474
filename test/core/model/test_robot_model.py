# SPDX-License-Identifier: Apache-2.0
"""RobotModel: an immutable value, checked when made; and the models derived from it."""

import dataclasses
import pickle

import numpy as np
import pytest
import robots
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics.common.errors import FrameNotFound, ModelError, ShapeError
from robot_dynamics.core.model.builder import build_tree
from robot_dynamics.core.model.coordinates import with_coordinates
from robot_dynamics.core.model.inertia import Inertial, combined, to_parameters, transformed
from robot_dynamics.core.model.robot_model import RobotModel, check_vector
from robot_dynamics.core.model.robots import planar_2r, random_inertial, random_tree
from robot_dynamics.formulations import newton_euler_link_frame as newton_euler

ARRAYS = [item.name for item in dataclasses.fields(RobotModel) if item.type == 'Array']
EPS = np.finfo(float).eps
trees = st.builds(
    lambda n, seed: random_tree(n, np.random.default_rng(seed)),
    st.integers(1, 10),
    st.integers(0, 2**32 - 1),
)


# -- immutability ---------------------------------------------------------------------------


def test_fields_cannot_be_replaced():
    model = planar_2r()
    for item in dataclasses.fields(model):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(model, item.name, None)


@pytest.mark.parametrize('name', ARRAYS)
def test_arrays_cannot_be_written(name):
    array = getattr(random_tree(3, np.random.default_rng(0)), name)
    with pytest.raises(ValueError, match='read-only'):
        array[...] = 0


def test_arrays_are_copies_of_what_was_given():
    placement = np.tile(np.eye(4), (1, 1, 1))
    model = build_tree('one', [-1], [True], [np.array([0, 0, 1.0])], placement, [Inertial(1.0)])
    placement[0, 0, 3] = 5
    assert model.placement[0, 0, 3] == 0


@given(trees)
def test_sizes_and_names(model):
    assert model.n == len(model.joint_names) == model.S.shape[1]
    assert model.nb == len(model.body_names) == model.S.shape[0]
    assert model.link_names == model.frame_names == ('base', *model.body_names)
    for i, body in enumerate(model.body_names):
        k = model.frame_index(body)
        assert model.frame_body[k] == i
        np.testing.assert_array_equal(model.frame_placement[k], np.eye(4))


@given(trees)
def test_support_is_the_path_from_the_base(model):
    assert model.support(-1) == []
    for i in range(model.nb):
        path = model.support(i)
        assert path[-1] == i
        assert [-1, *path[:-1]] == [model.parent[k] for k in path]


@given(trees)
def test_fingerprint_is_of_the_value_not_the_object(model):
    again = dataclasses.replace(model, name='another name')
    assert again.fingerprint() == model.fingerprint()
    assert pickle.loads(pickle.dumps(model)).fingerprint() == model.fingerprint()


@pytest.mark.parametrize('name', [name for name in ARRAYS if name not in ('parent', 'axis', 'S')])
def test_fingerprint_depends_on_every_array(name):
    model = random_tree(3, np.random.default_rng(1))
    value = np.array(getattr(model, name))
    if name == 'placement':
        value[0, 0, 3] += 1
    elif name == 'revolute':
        value[0] = not value[0]
    elif name == 'frame_body':
        value[0] = 0
    else:
        value = np.where(np.isfinite(value), value + 0.5, 0.5)
    other = dataclasses.replace(model, **{name: value})
    assert other.fingerprint() != model.fingerprint()


@given(trees)
def test_inertial_parameters_are_the_bodies_in_order(model):
    parameters = model.inertial_parameters().reshape(model.nb, 10)
    for i in range(model.nb):
        np.testing.assert_array_equal(parameters[i], to_parameters(model.inertial(i)))


def test_an_unknown_frame_is_named_with_the_known_frames():
    with pytest.raises(FrameNotFound, match="no frame 'nose'; the model has base, link1, link2"):
        planar_2r().frame_index('nose')
    with pytest.raises(KeyError):
        planar_2r().frame_index('nose')


def test_frames_in_messages_begin_at_the_tips_and_are_few():
    assert planar_2r().listed_frames() == 'tip, link2, link1, base'
    tree = random_tree(20, np.random.default_rng(2), branching=0.5)
    *names, last = tree.listed_frames().split(', ')
    last, _, more = last.partition(' and ')
    names.append(last)
    assert more == f'{len(tree.frame_names) - len(names)} more'
    bodies = [tree.frame_body[tree.frame_index(name)] for name in names]
    tips = [body not in tree.parent for body in bodies]
    # Of each branch the end, before any frame within one.
    assert tips == sorted(tips, reverse=True)
    assert sum(tips) == min(len(names), len(set(range(tree.nb)) - set(tree.parent.tolist())))


# -- massless joints ------------------------------------------------------------------------


def chain(*inertials, **others):
    nb = len(inertials)
    axis = [np.array([0, 0, 1.0])] * nb
    return build_tree(
        'chain', range(-1, nb - 1), [True] * nb, axis, [np.eye(4)] * nb, inertials, **others
    )


def test_joints_beyond_the_last_mass_move_nothing():
    assert chain(Inertial(1.0), Inertial(), Inertial()).massless_joints() == ['joint2', 'joint3']
    assert chain(Inertial(), Inertial(), Inertial(1.0)).massless_joints() == []
    tensor_only = Inertial(0.0, np.zeros(3), np.eye(3))
    assert chain(Inertial(1.0), tensor_only).massless_joints() == []


def test_a_joint_with_a_rotor_is_not_massless():
    model = chain(Inertial(1.0), Inertial())
    assert model.with_actuation(rotor_inertia=[0, 1e-3]).massless_joints() == []


def test_a_coordinate_moves_what_any_of_its_bodies_carries():
    S = np.array([[1.0], [2.0]])
    model = chain(Inertial(1.0), Inertial(), S=S, joint_names=('j',))
    assert model.massless_joints() == []


# -- gravity --------------------------------------------------------------------------------


@given(trees, st.floats(-3, 3))
def test_gravity_torque_is_linear_in_gravity(model, scale):
    q, still = np.full(model.n, 0.3), np.zeros(model.n)
    torque = newton_euler.inverse_dynamics(model, q, still, still)
    scaled = model.with_gravity(scale * model.gravity)
    np.testing.assert_allclose(
        newton_euler.inverse_dynamics(scaled, q, still, still),
        scale * torque,
        atol=1e3 * EPS * max(1, np.abs(torque).max()),
    )
    assert model.fingerprint() != scaled.fingerprint() or scale == 1


@pytest.mark.parametrize('gravity', [(0, 0), (0, 0, np.nan), (0, 0, np.inf), 9.81])
def test_wrong_gravity_is_rejected(gravity):
    with pytest.raises(ModelError, match='gravity'):
        planar_2r().with_gravity(gravity)


# -- payload --------------------------------------------------------------------------------


@given(trees, st.integers(0, 2**32 - 1))
def test_a_payload_adds_its_own_parameters_to_its_body(model, seed):
    rng = np.random.default_rng(seed)
    i, payload = rng.integers(model.nb), random_inertial(rng)
    link = model.body_names[i]
    loaded = model.with_payload(link, payload.mass, payload.com, payload.inertia_com)
    added = (loaded.inertial_parameters() - model.inertial_parameters()).reshape(-1, 10)
    np.testing.assert_allclose(added[i], to_parameters(payload), atol=512 * EPS)
    np.testing.assert_array_equal(np.delete(added, i, axis=0), 0)


def test_a_payload_sits_in_the_frame_it_is_given_in():
    model = random_tree(2, np.random.default_rng(3))
    T = model.placement[0]
    framed = dataclasses.replace(
        model,
        frame_names=(*model.frame_names, 'tool'),
        frame_body=np.append(model.frame_body, 1),
        frame_placement=np.concatenate([model.frame_placement, [T]]),
    )
    payload = random_inertial(np.random.default_rng(4))
    loaded = framed.with_payload('tool', payload.mass, payload.com, payload.inertia_com)
    expected = combined([model.inertial(1), transformed(payload, T)])
    np.testing.assert_allclose(loaded.com[1], expected.com)
    np.testing.assert_allclose(loaded.inertia_com[1], expected.inertia_com)


@pytest.mark.parametrize(
    ('arguments', 'error', 'message'),
    [
        (('nose', 1.0), FrameNotFound, "no frame 'nose'"),
        (
            ('base', 1.0),
            ModelError,
            "link 'base' is fixed to the base; expected a link that moves",
        ),
        (('link2', -1.0), ModelError, r'mass is -1\.0 kg; it must not be negative'),
        (('link2', np.nan), ModelError, 'mass is nan; it must be finite'),
        (
            ('link2', 1.0, (0, 0)),
            ModelError,
            r'com is .*, of shape \(3,\)',
        ),
        (('link2', 1.0, (0, 0, 0), np.eye(2)), ModelError, r'inertia is .* of shape \(3, 3\)'),
        (
            ('link2', 1.0, (0, 0, np.nan)),
            ModelError,
            'com is .*nan.* must be finite',
        ),
        (('link2', 1.0, (0, 0, 0), np.full((3, 3), np.inf)), ModelError, 'inertia is .* finite'),
        (('link2', 1.0, (0, 0, 0), np.triu(np.ones((3, 3)))), ModelError, 'must be symmetric'),
    ],
)
def test_wrong_payloads_are_rejected(arguments, error, message):
    with pytest.raises(error, match=message):
        planar_2r().with_payload(*arguments)


# -- drives ---------------------------------------------------------------------------------


def test_drives_are_replaced_one_by_one():
    model = planar_2r().with_actuation(gear_ratio=[100, 50], rotor_inertia=2e-4, viscous=0.5)
    np.testing.assert_allclose(model.reflected_inertia, [2.0, 0.5])
    np.testing.assert_array_equal(model.viscous, [0.5, 0.5])
    np.testing.assert_array_equal(model.coulomb, [0, 0])
    again = model.with_actuation(coulomb=[1, 2])
    np.testing.assert_array_equal(again.reflected_inertia, model.reflected_inertia)
    np.testing.assert_array_equal(again.viscous, model.viscous)
    np.testing.assert_array_equal(again.coulomb, [1, 2])


# The gripper mimics: a locked leader locks its follower.
LOCKED = {
    'panda': {'panda_joint2': 0.4, 'panda_finger_joint1': 0.02},
    'tiago': {'torso_lift_joint': 0.1, 'arm_4_joint': -0.7, 'head_1_joint': 0.3},
}


@pytest.mark.parametrize('name', LOCKED)
def test_locked_joints_are_those_of_the_loader(name):
    locked = robots.load(name).with_locked(LOCKED[name])
    loaded = robots.load(name, locked_joints=LOCKED[name])
    for item in dataclasses.fields(RobotModel):
        ours, theirs = getattr(locked, item.name), getattr(loaded, item.name)
        if item.type == 'Array':
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=64 * EPS, err_msg=item.name)
        elif item.name == 'base':
            np.testing.assert_allclose(
                to_parameters(ours), to_parameters(theirs), rtol=0, atol=1e3 * EPS
            )
        else:
            assert ours == theirs


@given(trees, st.integers(0, 2**32 - 1))
def test_a_locked_joint_stays_where_it_is(model, seed):
    """Torques of a motion in which it rests, in coordinates of which several move each body."""
    rng = np.random.default_rng(seed)
    n, (q, qd, qdd) = model.n, rng.uniform(-1, 1, (3, model.n))
    if n == 1:
        return
    S = 2 * n * np.eye(n) + rng.uniform(-1, 1, (n, n))  # dominant diagonal: independent
    mixed = with_coordinates(model, S, rng.uniform(-1, 1, n))
    k = int(rng.integers(n))
    keep = np.arange(n) != k
    qd[k] = qdd[k] = 0
    tau = newton_euler.inverse_dynamics(mixed, q, qd, qdd)
    locked = mixed.with_locked({mixed.joint_names[k]: q[k]})
    found = newton_euler.inverse_dynamics(locked, q[keep], qd[keep], qdd[keep])
    np.testing.assert_allclose(found, tau[keep], rtol=0, atol=1e4 * EPS * np.abs(tau).max())


@pytest.mark.parametrize(
    ('joints', 'message'),
    [
        ({'elbow': 0.0}, "'elbow' is unknown; expected one of joint1, joint2"),
        ({'joint1': np.nan}, "'joint1' is nan; expected a number"),
        ({'joint1': 0, 'joint2': 0}, 'all joints'),
    ],
)
def test_wrong_locks_are_rejected(joints, message):
    with pytest.raises(ModelError, match=message):
        planar_2r().with_locked(joints)


def test_modified_copies_leave_the_model_unchanged():
    model = planar_2r()
    seen = model.fingerprint()
    model.with_payload('link2', 1.0)
    model.with_gravity((0, 0, -1))
    model.with_actuation(rotor_inertia=1.0, viscous=1.0, coulomb=1.0)
    assert model.fingerprint() == seen


@pytest.mark.parametrize(
    ('settings', 'message'),
    [
        ({'viscous': -1}, 'viscous is -1.* must be finite and not negative'),
        ({'coulomb': [0, np.nan]}, 'coulomb is .*nan'),
        ({'rotor_inertia': np.inf}, 'rotor_inertia is inf'),
        ({'gear_ratio': 100}, 'gear_ratio is given without rotor_inertia'),
    ],
)
def test_wrong_drives_are_rejected(settings, message):
    with pytest.raises(ModelError, match=message):
        planar_2r().with_actuation(**settings)


def test_drives_are_one_number_or_one_for_each_joint():
    with pytest.raises(ShapeError, match='rotor_inertia has 3 values; expected one, or 2 for'):
        planar_2r().with_actuation(rotor_inertia=[1, 2, 3])


# -- checks ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('field', 'value', 'message'),
    [
        ('parent', [-1, 1], r"parent of body 'link2' is 1; expected an earlier body, -1 \.\.\. 0"),
        ('parent', [-2, 0], "parent of body 'link1' is -2"),
        ('mass', [1, -1], r"mass of 'link2' is -1\.0 kg; it must not be negative"),
        ('mass', [1, np.inf], 'mass contains an infinite value'),
        ('mass', [1, np.nan], 'mass contains NaN'),
        ('mass', [1], r'mass has shape \(1,\); 2 bodies and 2 joints need \(2,\)'),
        ('axis', np.ones((2, 3)), "axis of 'link1' .* must be a unit vector"),
        ('placement', -np.tile(np.eye(4), (2, 1, 1)), "'link1' has R = .* expected a rotation"),
        ('placement', 2 * np.tile(np.eye(4), (2, 1, 1)), "'link1' has R = .* expected a rotation"),
        ('S', np.eye(3), r'S has shape \(3, 3\)'),
        ('lower', [np.nan, 0], 'lower contains NaN'),
    ],
)
def test_inconsistent_fields_are_rejected(field, value, message):
    with pytest.raises(ModelError, match=message):
        dataclasses.replace(planar_2r(), **{field: np.array(value)})


def test_a_robot_without_joints_is_rejected():
    with pytest.raises(ModelError, match="robot 'none' has no moving joint"):
        build_tree('none', [], [], [], [], [])


def test_check_vector_names_the_argument():
    check_vector(planar_2r(), q=np.zeros(2))
    with pytest.raises(ShapeError, match=r"qd has shape \(3,\); robot 'planar_2r' has 2 joints"):
        check_vector(planar_2r(), q=np.zeros(2), qd=np.zeros(3))
