# SPDX-License-Identifier: Apache-2.0
"""Cartesian impedance: against NumPy, and the mechanics of a spring and a damper."""

from dataclasses import fields

import numpy as np
import pytest
import robots

from robot_dynamics.common.errors import FrameNotFound
from robot_dynamics.common.spatial import axis_rotation, pose
from robot_dynamics.control.impedance import (
    POSTURE_RISE,
    RISE,
    CartesianImpedance,
    Impedance,
    PoseReference,
    StiffnessRamp,
    singular_directions,
)
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.core.friction.laws import LAWS
from robot_dynamics.core.friction.memory import tracked
from robot_dynamics.core.model.robots import puma560

DT = 1e-3  # s
TOOL = 'panda_hand_tcp'
BENT = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.7])
REST = np.zeros(7)
STILL = np.zeros(6)


def without_friction(model):
    return Dynamics(model.with_actuation(viscous=0.0, coulomb=0.0))


@pytest.fixture(scope='module')
def arm():
    return without_friction(robots.load('panda', locked_joints={'panda_finger_joint1': 0.02}))


@pytest.fixture(scope='module')
def law(arm):
    return CartesianImpedance(arm, TOOL)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def target_near(arm, q, rng, frame=TOOL):
    """Return a target about 0.1 m and 0.5 rad from a frame, in accelerated motion."""
    T = arm.forward_kinematics(q, frame)
    axis = rng.normal(size=3)
    turn = axis_rotation(axis / np.linalg.norm(axis), rng.uniform(0, 0.8))
    return PoseReference(
        pose(T[:3, :3] @ turn, T[:3, 3] + 0.05 * rng.normal(size=3)),
        *(0.3 * rng.normal(size=(2, 6))),
    )


def expected_torque(arm, q, qd, target, own, posture, wrench):
    """Return the torque without gravity, with numpy.linalg; K is the same for all rotations."""
    T, J, M = arm.forward_kinematics(q, TOOL), arm.jacobian(q, TOOL), arm.mass_matrix(q)
    R_d = np.kron(np.eye(2), target.pose[:3, :3])
    K = R_d @ np.diag(own.stiffness) @ R_d.T
    turn = target.pose[:3, :3] @ T[:3, :3].T
    angle = np.arccos((np.trace(turn) - 1) / 2)
    axial = np.array([turn[2, 1], turn[0, 2], turn[1, 0]])
    axial = axial - [turn[1, 2], turn[2, 0], turn[0, 1]]
    e = np.concatenate([angle / (2 * np.sin(angle)) * axial, target.pose[:3, 3] - T[:3, 3]])
    root = R_d @ np.diag(np.sqrt(own.stiffness)) @ R_d.T
    squares, U = np.linalg.eigh(root @ J @ np.linalg.solve(M, J.T) @ root)
    ratio, posture_damping = own.damping
    D = 2 * ratio * root @ U @ np.diag(1 / np.sqrt(squares + 1)) @ U.T @ root
    inertia = root @ U @ np.diag(1 / (squares + 1)) @ U.T @ root
    t0 = own.posture_stiffness * (posture - q) - posture_damping * M @ qd
    seen = root @ U @ np.diag(1 / (squares + 0.25)) @ U.T @ root @ J @ np.linalg.solve(M, t0)
    motion = D @ (target.velocity - J @ qd) + inertia @ target.acceleration
    return J.T @ (K @ e + motion + wrench - seen) + t0


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_torque_is_that_of_the_equations(arm, law, rng, sign):
    own = Impedance([200.0, 600.0, 1500.0], 30.0, 0.6, rng.uniform(0, 20, 7), 3.0)
    for _ in range(20):
        q = sign * (BENT + rng.uniform(-0.5, 0.5, 7))
        qd, posture = sign * rng.normal(size=7), q + rng.normal(size=7)
        target, wrench = target_near(arm, q, rng), 10 * rng.normal(size=6)
        found = law.torque(q, qd, target, own, posture=posture, wrench=wrench)
        expected = expected_torque(arm, q, qd, target, own, posture, wrench)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(found.impedance, expected, rtol=0, atol=1e-11 * scale)
        np.testing.assert_allclose(found.gravity, arm.gravity_torque(q), atol=1e-12)
        np.testing.assert_array_equal(found.tau, found.impedance + found.gravity)


@pytest.mark.parametrize('sign', [1.0, -1.0])
@pytest.mark.parametrize('name', ['coulomb', 'load', 'stribeck', 'coulomb_memory', 'load_memory'])
def test_friction_is_that_of_the_desired_velocity(arm, law, rng, name, sign):
    """qd_d = qd_p + M^-1 J^T Lambda (V_d - J qd_p), with numpy.linalg."""
    terms = {term: rng.uniform(0.1, 1.0, 7) for term in LAWS[name].terms}
    friction = JointFriction(LAWS[name], terms, np.full(7, 2e-3))
    along = tracked(friction)
    q, z, own = sign * BENT, np.zeros(7), Impedance()
    M, J = arm.mass_matrix(q), arm.jacobian(q, TOOL)
    root = np.diag(np.sqrt(own.stiffness))
    position = np.zeros(7)
    if friction.law.memory:
        along.move(position)
    for _ in range(5):
        target, qd_p = target_near(arm, q, rng), 0.2 * rng.normal(size=7)
        axes = root @ np.kron(np.eye(2), target.pose[:3, :3].T)
        inertia = np.linalg.inv(axes @ J @ np.linalg.solve(M, (axes @ J).T) + 0.25 * np.eye(6))
        inverse = np.linalg.solve(M, (axes @ J).T) @ inertia @ axes
        found = law.torque(
            q,
            rng.normal(size=7),
            target,
            own,
            posture_velocity=qd_p,
            friction=friction,
            z=z,
            time_step=DT,
        )
        qd_d = qd_p + inverse @ (target.velocity - J @ qd_p)
        position, z = position + DT * qd_d, found.z
        along.move(position)
        expected = along.torque(qd_d, found.impedance + found.gravity)
        np.testing.assert_allclose(found.friction, expected, atol=1e-9 * np.abs(expected).max())
        np.testing.assert_allclose(found.tau, found.impedance + found.gravity + found.friction)


def test_friction_at_rest_is_that_of_the_last_motion(arm, law):
    """An arm that a person pushes is not helped by the friction that is fed forward."""
    friction = JointFriction(LAWS['coulomb_memory'], {'coulomb': np.ones(7)})
    target, z = held(arm), np.linspace(-1, 1, 7)
    pushed = 0.5 * np.ones(7)
    found = law.torque(BENT, pushed, target, Impedance(), friction=friction, z=z, time_step=DT)
    np.testing.assert_allclose(found.friction, z, atol=1e-14)
    np.testing.assert_allclose(found.z, z, atol=1e-14)
    plain = JointFriction(LAWS['coulomb'], {'coulomb': np.ones(7)})
    found = law.torque(BENT, pushed, target, Impedance(), friction=plain, z=z, time_step=DT)
    np.testing.assert_allclose(found.friction, 0, atol=1e-14)


def test_a_batch_equals_single_states(arm, law, rng):
    q, qd = BENT + rng.uniform(-0.5, 0.5, (9, 7)), rng.normal(size=(9, 7))
    targets = [target_near(arm, x, rng) for x in q]
    together = PoseReference(*(np.array(rows) for rows in zip(*targets, strict=True)))
    found = law.torque(q, qd, together, Impedance())
    for k, target in enumerate(targets):
        one = law.torque(q[k], qd[k], target, Impedance())
        np.testing.assert_allclose(found.tau[k], one.tau, rtol=1e-12)
        np.testing.assert_allclose(found.error[k], one.error, rtol=1e-12)


def test_dissipates_at_every_state(arm, law, rng):
    """d/dt (T + U) = -V^T D V - d_n qd^T N M qd, for an unequal rotational stiffness as well."""
    own, h = Impedance([100.0, 600.0, 2000.0], [5.0, 30.0, 100.0], 0.3), 1e-6
    undamped = Impedance([100.0, 600.0, 2000.0], [5.0, 30.0, 100.0], 0.0, 0.0, 0.0)
    gains = 0.0
    for _ in range(20):
        q, qd = BENT + rng.uniform(-0.5, 0.5, 7), 2 * rng.normal(size=7)
        target = target_near(arm, q, rng)._replace(velocity=STILL, acceleration=STILL)

        def rate(settings, extra, q=q, qd=qd, target=target):
            tau = law.torque(q, qd, target, settings).tau + extra
            qdd = arm.forward_dynamics(q, qd, tau)
            ends = [storage(arm, law, q + s * qd, qd + s * qdd, target, settings) for s in (-h, h)]
            return (ends[1] - ends[0]) / (2 * h)

        kinetic = arm.kinetic_energy(q, qd)
        assert abs(rate(undamped, 0.0)) < 1e-6 * (1 + kinetic)
        assert rate(own, 0.0) < -0.1 * kinetic
        gains = max(gains, rate(undamped, arm.coriolis_torque(q, qd)))
    assert gains > 1.0  # W, of a law that compensates C qd


def storage(arm, law, q, qd, target, own):
    """Return 1/2 qd^T M qd + 1/2 e^T K e."""
    e = law.torque(q, qd, target, own).error
    return arm.kinetic_energy(q, qd) + 0.5 * own.stiffness @ np.square(e)


def simulated(arm, law, target, own, seconds, push=None, posture=None, q=BENT, frame=TOOL):
    """Yield (q, qd, error, tau, tau_ext) of every millisecond, from rest.

    `target` and `posture` are functions of time, `push` gives the wrench on the frame.
    """
    qd = np.zeros_like(q)
    for k in range(round(seconds / DT)):
        t = k * DT
        wanted = None if posture is None else posture(t)
        found = law.torque(q, qd, target(t), own, posture=wanted)
        outside = 0 * q if push is None else arm.wrench_torque(q, push(t), frame)
        yield q, qd, found.error, found.tau, outside
        q, qd = arm.simulate(q, qd, found.tau + outside, steps=1, time_step=DT, friction='none')


def held(arm, offset=STILL):
    """Return the target where the arm begins, moved by (turn, shift) in its own axes."""
    T = arm.forward_kinematics(BENT, TOOL)
    size = np.linalg.norm(offset[:3])
    turn = axis_rotation(offset[:3] / size, size) if size else np.eye(3)
    return PoseReference(T @ pose(turn, offset[3:]), STILL)


@pytest.mark.parametrize('axis', range(6))
def test_static_pushes_show_the_stiffness(arm, law, axis):
    own, target = Impedance([300.0, 600.0, 900.0], 30.0, 1.0), held(arm)
    # In the axes of the target
    wrench = np.zeros(6)
    wrench[axis] = 1.0 if axis < 3 else 10.0
    push = np.kron(np.eye(2), target.pose[:3, :3]) @ wrench
    *_, last = simulated(arm, law, lambda _: target, own, 3.0, lambda _: push)
    forces = -own.stiffness * last[2]
    np.testing.assert_allclose(forces[axis], wrench[axis], rtol=5e-3)
    others = np.delete(forces, axis)
    np.testing.assert_allclose(others, 0, atol=1e-3 * wrench[axis])


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_comes_to_rest_at_the_target(arm, law, sign):
    offset = sign * np.array([0.1, -0.2, 0.1, 0.02, 0.01, -0.03])
    target = held(arm, offset)
    *_, (_, qd, error, _, _) = simulated(arm, law, lambda _: target, Impedance(), 3.0)
    assert np.abs(error).max() < 1e-5  # 0.01 mm
    assert np.abs(qd).max() < 1e-4


@pytest.mark.parametrize('ratio', [0.2, 0.7])
def test_random_pushes_generate_no_energy(arm, law, rng, ratio):
    own, target = Impedance([600.0, 400.0, 800.0], [30.0, 20.0, 40.0], ratio), held(arm)
    pushes = rng.normal(size=(20, 6)) * np.repeat([2.0, 15.0], 3)
    rows = list(simulated(arm, law, lambda _: target, own, 4.0, lambda t: pushes[int(t / 0.2)]))
    q, qd, e, _, outside = map(np.array, zip(*rows, strict=True))
    stored = arm.kinetic_energy(q, qd) + 0.5 * np.square(e) @ own.stiffness
    work = np.cumsum(np.einsum('ij,ij->i', outside[:-1], np.diff(q, axis=0)))
    own_energy = stored - np.concatenate([[0.0], work])
    assert (own_energy - np.minimum.accumulate(own_energy)).max() < 0.01  # J


def test_elbow_motion_leaves_the_tool_where_it_is(arm, law):
    own = Impedance(posture_stiffness=10.0)

    def posture(t):
        s = min(t / 2.0, 1.0)
        return BENT + 1.9 * s * s * (3 - 2 * s) * np.eye(7)[0]

    target = held(arm)
    rows = list(simulated(arm, law, lambda _: target, own, 3.0, posture=posture))
    assert rows[-1][0][0] - BENT[0] > 0.95  # rad
    assert max(np.linalg.norm(row[2][3:]) for row in rows) < 1e-3  # m


def test_torque_rate_is_bounded_through_a_stretched_elbow():
    arm = without_friction(puma560())
    law, frame = CartesianImpedance(arm, 'link6'), 'link6'
    q = np.array([0.0, -0.3, 0.3, 0.3, -1.0, 0.2])
    T = arm.forward_kinematics(q, frame)
    way = T[:3, 3] - arm.forward_kinematics(q, 'link2')[:3, 3]
    way = 0.4 * way / np.linalg.norm(way)

    def target(t):
        # Beyond reach, and back
        phase = np.pi * min(t / 8.0, 1.0)
        rate = np.sin(2 * phase) * np.pi / 8.0
        change = 2 * np.cos(2 * phase) * (np.pi / 8.0) ** 2
        return PoseReference(
            pose(T[:3, :3], T[:3, 3] + way * np.sin(phase) ** 2),
            np.append(np.zeros(3), rate * way),
            np.append(np.zeros(3), change * way),
        )

    rows = list(simulated(arm, law, target, Impedance(), 9.0, q=q, frame=frame))
    q, tau = np.array([row[0] for row in rows]), np.array([row[3] for row in rows])
    assert np.linalg.svd(arm.jacobian(q, frame), compute_uv=False).min() < 1e-3
    # Without the bound of the damping the rate is 3400 N m/s.
    assert np.abs(np.diff(tau, axis=0)).max() / DT < 10 * np.abs(tau).max()


def test_singular_directions_are_named():
    arm = without_friction(puma560())
    bent = np.array([0.0, -0.3, 0.3, 0.3, -1.0, 0.2])
    assert singular_directions(arm, 'link6', bent, Impedance()) == []
    # The axes of joints 4 and 6 are aligned.
    aligned = bent * [1, 1, 1, 1, 0, 1]
    (name,) = singular_directions(arm, 'link6', aligned, Impedance())
    assert name.startswith('rotation about')
    soft = Impedance(rotational_stiffness=0.0)
    assert singular_directions(arm, 'link6', aligned, soft) == []


def test_stiffness_falls_at_once_and_rises_slowly():
    ramp, error = StiffnessRamp(Impedance(600.0, 30.0)), np.repeat([0.1, 0.01], 3)
    assert ramp.advance(Impedance(100.0, 30.0, 0.3), DT, error).stiffness[3] == 100
    assert ramp.energy == 0.0
    wanted = Impedance(1100.0, 30.0, posture_stiffness=30.0)
    rows = [ramp.advance(wanted, DT, error) for _ in range(1000)]
    np.testing.assert_allclose(rows[0].stiffness[3:], 100.0 + RISE[3] * DT)
    np.testing.assert_allclose(rows[0].posture_stiffness, POSTURE_RISE * DT)
    np.testing.assert_allclose(rows[-1].stiffness, wanted.stiffness)
    # 1/2 e^T dK e
    np.testing.assert_allclose(ramp.energy, 0.5 * 3 * 1000.0 * 0.01**2)


SOFT = {
    'translational_stiffness': [100.0, 200.0, 300.0],
    'rotational_stiffness': [10.0, 0.0, 30.0],
    'damping_ratio': 0.3,
    'posture_stiffness': [5.0, 0.0, 7.0],
    'posture_damping': 2.0,
}
# Per second, of those that rise slowly; the others are in force at once.
RATES = {
    'translational_stiffness': 1000.0,
    'rotational_stiffness': 50.0,
    'posture_stiffness': 20.0,
}


@pytest.mark.parametrize('name', [one.name for one in fields(Impedance) if one.init])
@pytest.mark.parametrize('element', range(3))
@pytest.mark.parametrize('change', [4.0, -4.0])
def test_each_setting_alone_is_in_force_at_once_or_rises_at_its_own_rate(name, element, change):
    value = np.array(SOFT[name])
    value.flat[element % value.size] = max(value.flat[element % value.size] + change, 0.0)
    ramp, wanted = StiffnessRamp(Impedance(**SOFT)), Impedance(**SOFT | {name: value})
    for k in range(1, 400):
        found = ramp.advance(wanted, DT, np.ones(6))
        for one, before in SOFT.items():
            most = np.array(before) + RATES.get(one, np.inf) * k * DT
            expected = np.minimum(getattr(wanted, one), most)
            np.testing.assert_allclose(getattr(found, one), expected, rtol=1e-12, err_msg=one)
        np.testing.assert_array_equal(found.stiffness[:3], found.rotational_stiffness)
        np.testing.assert_array_equal(found.stiffness[3:], found.translational_stiffness)
        np.testing.assert_array_equal(found.damping, [found.damping_ratio, found.posture_damping])
    gained = np.maximum(wanted.stiffness - Impedance(**SOFT).stiffness, 0.0).sum()
    np.testing.assert_allclose(ramp.energy, 0.5 * gained, rtol=1e-12)


@pytest.mark.parametrize(
    'given',
    [{'damping_ratio': [1.0, 1.0]}, {'rotational_stiffness': [1.0, 2.0]}, {'posture_damping': -1}],
)
def test_settings_that_do_not_fit_are_rejected(given):
    with pytest.raises(ValueError, match=next(iter(given))):
        Impedance(**given)


def test_gravity_and_inertia_are_those_with_the_payload(arm, law, rng):
    loaded = arm.with_payload(TOOL, 2.0, [0.0, 0.0, 0.1])
    q, qd, target = BENT, rng.normal(size=7), target_near(arm, BENT, rng)
    own = Impedance()
    found = CartesianImpedance(loaded, TOOL).torque(q, qd, target, own)
    np.testing.assert_allclose(found.gravity, loaded.gravity_torque(q), atol=1e-12)
    expected = expected_torque(loaded, q, qd, target, own, q, STILL)
    np.testing.assert_allclose(found.impedance, expected, atol=1e-11 * np.abs(expected).max())


def test_an_unknown_frame_is_rejected(arm):
    with pytest.raises(FrameNotFound):
        CartesianImpedance(arm, 'spoon')
