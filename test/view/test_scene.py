# SPDX-License-Identifier: Apache-2.0
"""What is drawn for a state: poses, torques, arrows, ellipsoids."""

from dataclasses import replace

import numpy as np
import pytest
import urdf_text

from robot_dynamics.core import kinematics
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.urdf.loading import load_urdf, parse_urdf
from robot_dynamics.view.scene import (
    ARROW_FACES,
    ARROW_VERTICES,
    ARROWS,
    EXTERNAL,
    FULL_ARC,
    MAGNIFIED,
    TERMS,
    VISIBLE,
    Proportions,
    Torques,
    force_arrow,
    force_of_arrow,
    frame_in_base,
    ring,
    scene_of,
    torque_arrows,
    torques,
    view_direction,
)
from robot_dynamics.view.state import External, ViewState

LINK = 'panda_link8'


@pytest.fixture(scope='module')
def arm():
    return Dynamics(load_urdf('panda'))


@pytest.fixture
def state(arm):
    rng = np.random.default_rng(1)
    q = rng.uniform(arm.model.lower, arm.model.upper)
    qd, qdd = rng.uniform(-1, 1, (2, arm.model.n))
    return replace(ViewState.initial(arm.model), q=q, qd=qd, qdd=qdd)


def test_the_terms_are_those_of_the_library_and_balance(arm, state):
    state = state.with_force(LINK, (10.0, -20.0, 30.0))
    found = torques(arm, state)
    M, C, g = arm.terms(state.q, state.qd)
    close = {'rtol': 1e-10, 'atol': 1e-10}
    np.testing.assert_allclose(found.gravity, g, **close)
    np.testing.assert_allclose(found.coriolis, C @ state.qd, **close)
    np.testing.assert_allclose(found.inertia, M @ state.qdd, **close)
    F = np.array([0, 0, 0, 10.0, -20.0, 30.0])
    np.testing.assert_allclose(found.external, arm.wrench_torque(state.q, F, LINK), **close)
    # The motors' torques give the acceleration back.
    tau = found.motor - found.friction + found.external
    np.testing.assert_allclose(
        arm.forward_dynamics(state.q, state.qd, tau), state.qdd, rtol=1e-8, atol=1e-8
    )


def test_the_scene_is_consistent(arm, state):
    state = state.with_payload(LINK, 2.0, (0.0, 0.1, 0.2))
    carrying = state.load.carried(arm)
    sizes = Proportions.of(arm, state.q)
    scene = scene_of(carrying, state, sizes)
    np.testing.assert_array_equal(scene.poses, kinematics.body_poses(arm.model, state.q))
    T = kinematics.frame_pose(arm.model, state.q, LINK)
    np.testing.assert_allclose(scene.payload, T[:3, :3] @ [0.0, 0.1, 0.2] + T[:3, 3], atol=1e-12)
    J_v = kinematics.jacobian(arm.model, state.q, state.tip)[3:]
    half = np.sort(scene.manipulability.half_axes) / (0.3 * sizes.reach)
    np.testing.assert_allclose(half, np.sort(np.linalg.svd(J_v)[1]), rtol=1e-9)
    np.testing.assert_allclose(scene.manipulability.pose[:3, 3], T[:3, 3], atol=1e-12)
    # The last centre of mass moves towards the payload.
    unloaded = scene_of(arm, state, sizes)
    assert np.linalg.norm(scene.coms[-1] - scene.payload) < np.linalg.norm(
        unloaded.coms[-1] - scene.payload
    )
    for bar, name, tau in zip(scene.bars, arm.model.joint_names, scene.torques.motor, strict=True):
        assert (bar.joint, bar.unit, bar.motor) == (name, 'N m', tau)
        assert bar.measured is None
        assert bar.limit == bar.full == arm.model.effort_limit[arm.model.joint_names.index(name)]
        total = sum(bar.terms[:-1]) - bar.terms[-1]
        assert total == pytest.approx(bar.motor, abs=1e-12)


def test_the_camera_sees_the_plane_of_a_robot_from_above():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(8, 3)) * [1.0, 0.5, 0.0]
    turns = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(200)]
    for R in (*turns, np.eye(3), np.eye(3)[[0, 2, 1]], np.eye(3)[[2, 0, 1]]):
        view, normal = view_direction(flat @ R.T + rng.normal(size=3)), R[:, 2]
        assert np.linalg.norm(view) == pytest.approx(1.0)
        assert 0.3 < view[2] < 0.83
        # The picture of an area in the plane is the area times this cosine.
        assert abs(view @ normal) > 0.5
        if abs(normal[2]) < 1e-12:
            assert abs(view @ normal) > 0.85


@pytest.mark.parametrize('extent', [0.0, 1.0])
def test_the_camera_of_a_robot_without_a_plane_is_in_front(extent):
    straight = extent * np.linspace(0.0, 1.0, 5)[:, None] * np.array([0.0, 0.0, 1.0])
    view = view_direction(straight)
    assert (view[0] > 0.6, view[1] < -0.5, view[2] > 0.2) == (True, True, True)


def test_the_gravity_arrow_is_left_of_the_robot_in_the_picture(arm, state):
    sizes = Proportions.of(arm, state.q)
    right = np.cross([0.0, 0.0, 1.0], sizes.view)
    offset = scene_of(arm, state, sizes).gravity[0] - sizes.box.mean(axis=0)
    assert offset @ right < -0.8 * sizes.radius * np.linalg.norm(right)


def test_a_measured_effort_is_in_the_bars(arm, state):
    measured = np.arange(7.0)
    scene = scene_of(arm, replace(state, measured=measured), Proportions.of(arm, state.q))
    assert [bar.measured for bar in scene.bars] == measured.tolist()


def test_a_force_and_its_arrow_are_inverse(arm, state):
    sizes = Proportions.of(arm, state.q)
    state = state.with_force(LINK, (10.0, -20.0, 30.0))
    link = frame_in_base(arm.model, kinematics.body_poses(arm.model, state.q), LINK)
    start, end = force_arrow(link, state, sizes)
    np.testing.assert_array_equal(start, link[:3, 3])
    np.testing.assert_allclose(force_of_arrow(start, end, state, sizes), state.force, rtol=1e-12)
    weight = 9.81 * arm.model.mass.sum()
    length = sizes.reach * np.linalg.norm(state.force) / weight
    assert np.linalg.norm(end - start) == pytest.approx(length)


def by_term(n, **values):
    given = {name: np.zeros(n) for name in Torques._fields}
    return Torques(**{**given, **values})


def test_arcs_turn_by_the_share_of_the_effort_limit(arm):
    model, sizes = arm.model, Proportions.of(arm, np.zeros(arm.model.n))
    share = np.array([0.5, -0.5, 0.1, -0.1, 1.0, VISIBLE / 2, 0.0])
    arrows = torque_arrows(model, by_term(7, gravity=share * sizes.full), sizes)
    assert arrows.shape == (7, len(TERMS), ARROW_VERTICES, 3)
    assert not arrows[:, 1:].any()
    assert not arrows[5:].any()
    for j in range(5):
        axis = model.axis[j]
        vertices = arrows[j, 0]
        rows = vertices[:-5].reshape(-1, 4, 3).mean(axis=1)
        radii = np.linalg.norm(rows, axis=1)
        np.testing.assert_allclose(radii, radii[0], rtol=1e-9)
        np.testing.assert_allclose(rows @ axis, 0, atol=1e-12)
        # Directed angles between neighbouring points add up to the arc.
        turns = np.cross(rows[:-1], rows[1:]) @ axis / radii[0] ** 2
        assert np.arcsin(turns).sum() == pytest.approx(share[j] * FULL_ARC, rel=1e-9)
        # The head continues in the direction of the torque.
        forward = np.cross(axis, rows[-1]) * np.sign(share[j])
        assert (vertices[-1] - rows[-1]) @ forward > 0


@pytest.mark.parametrize('share', [1.1 * VISIBLE, 0.05, 1.0])
def test_arrows_of_torques_have_a_stem_as_long_as_the_head(arm, share):
    sizes = Proportions.of(arm, np.zeros(7))
    arrows = torque_arrows(arm.model, (np.full(7, share) * sizes.full,), sizes)[:, 0]
    rows = arrows[:, :-5].reshape(7, -1, 4, 3).mean(axis=2)
    stem = np.linalg.norm(np.diff(rows, axis=1), axis=2).sum(axis=1)
    head = np.linalg.norm(arrows[:, -1] - rows[:, -1], axis=1)
    assert np.all(head <= 1.001 * stem)  # the arc is a polygon
    assert np.all(head > 0)


def test_the_arrow_of_the_sum_is_thick_and_that_of_the_motor(arm, state):
    scene = scene_of(arm, state, Proportions.of(arm, state.q))
    of_motor = torque_arrows(arm.model, (scene.torques.motor,), Proportions.of(arm, state.q))[:, 0]
    np.testing.assert_array_equal(scene.arrows[:, ARROWS.index('sum')], of_motor)


def test_an_arrow_is_a_closed_surface(arm):
    edges = {}
    for triangle in ARROW_FACES:
        for a, b in zip(triangle, np.roll(triangle, -1), strict=True):
            edges[int(a), int(b)] = edges.get((int(a), int(b)), 0) + 1
    assert ARROW_FACES.max() == ARROW_VERTICES - 1
    sides = [edge for edge in edges if edge[::-1] not in edges]
    # Open only where the tube enters the head
    assert len(sides) == 4
    assert set(edges.values()) == {1}


def test_a_force_of_a_prismatic_joint_is_straight():
    model = parse_urdf(urdf_text.chain(urdf_text.LIMIT, kind='prismatic'))
    sizes = Proportions.of(Dynamics(model), np.zeros(1))
    assert sizes.full[0] == 4.0
    arrows = torque_arrows(model, by_term(1, inertia=np.array([-2.0])), sizes)
    rows = arrows[0, TERMS.index('inertia'), :-5].reshape(-1, 4, 3).mean(axis=1)
    way = rows[-1] - rows[0]
    np.testing.assert_allclose(way, np.linalg.norm(way) * -model.axis[0], atol=1e-12)
    np.testing.assert_allclose(ring(model, 0, sizes)[0].mean(axis=0), 0, atol=1e-12)


def test_joints_without_effort_limit_have_full_bars_of_their_gravity_torque():
    arm = Dynamics(planar_2r().with_gravity([0.0, -9.81, 0.0]))
    sizes = Proportions.of(arm, np.zeros(arm.model.n))
    assert np.isinf(arm.model.effort_limit).all()
    most = np.abs(arm.gravity_torque(np.zeros(2)))  # stretched out, where gravity is largest
    assert (sizes.full > 0.8 * most).all()
    assert (sizes.full < 1.3 * most).all()
    weightless = Proportions.of(Dynamics(planar_2r().with_gravity([0.0, 0.0, 0.0])), np.zeros(2))
    assert (weightless.full == 1.0).all()


def test_torques_that_are_not_finite_have_no_arrow(arm):
    sizes = Proportions.of(arm, np.zeros(arm.model.n))
    assert not torque_arrows(arm.model, by_term(7, inertia=np.full(7, np.nan)), sizes).any()


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_external_torques_and_forces_are_drawn_as_those_of_the_same_force(arm, state, sign):
    """The estimate of a force is drawn as the force itself, which the page sets."""
    state, sizes = replace(state, q=sign * state.q), Proportions.of(arm, state.q)
    force = sign * np.array([10.0, -20.0, 30.0])
    pushed = scene_of(arm, state.with_force(LINK, force), sizes)
    R = kinematics.frame_pose(arm.model, state.q, LINK)[:3, :3]
    wrench = np.append(np.zeros(3), R.T @ force)  # axes of the frame
    one = External(pushed.torques.external, LINK, wrench, 'contact')
    for name, k in (('estimated', 0), ('true', 1)):
        scene = scene_of(arm, replace(state, **{name: one}), sizes)
        assert scene.external[1 - k] is None
        (start, end), arrow = pushed.force, scene.external[k]
        expected = [start, start + MAGNIFIED * (end - start)]
        np.testing.assert_allclose(arrow, expected, rtol=0, atol=1e-12)
        shown = [getattr(bar, name) for bar in scene.bars]
        np.testing.assert_array_equal(shown, pushed.torques.external)
        # The arcs turn as far, at another radius; the model's torque is without the estimate.
        arcs, of_force, other = (
            of.arrows[:, ARROWS.index(term)].any(axis=(1, 2))
            for of, term in ((scene, name), (pushed, 'external'), (scene, EXTERNAL[1 - k]))
        )
        np.testing.assert_array_equal(arcs, of_force)
        assert arcs.any()
        assert not other.any()
        assert not scene.torques.external.any()
    slight = replace(one, wrench=1e-3 * wrench)
    assert scene_of(arm, replace(state, estimated=slight), sizes).external == (None, None)
