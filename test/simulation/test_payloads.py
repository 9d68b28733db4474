# SPDX-License-Identifier: Apache-2.0
"""Payloads attached and dropped in motion, and wrenches on any link."""

from dataclasses import replace

import numpy as np
import pytest
import robots

from robot_dynamics.common.errors import FrameNotFound, ModelError, ShapeError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import planar_2r, random_tree
from robot_dynamics.simulation import (
    Actuators,
    Elasticity,
    JointModels,
    NotFinite,
    Simulator,
    SpringDamperStop,
    simulate,
)

LOAD = (1.5, [0.1, -0.05, 0.2], np.diag([0.01, 0.02, 0.015]))


def still(t, q, qd):
    return np.zeros(len(q))


@pytest.fixture(scope='module')
def arm():
    return Dynamics(random_tree(4, np.random.default_rng(3)))


def moving(arm, **options):
    rng = np.random.default_rng(4)
    return Simulator(arm, q=rng.normal(size=4), qd=rng.normal(size=4), **options)


def test_an_arm_with_an_attached_payload_moves_as_a_model_with_it(arm):
    link = arm.model.body_names[-1]
    attached = moving(arm)
    attached.attach(link, *LOAD)
    made = moving(Dynamics(arm.model.with_payload(link, *LOAD)))
    for simulator in (attached, made):
        simulate(simulator, still, 0.3)
    assert attached.q == pytest.approx(made.q, abs=1e-10)
    assert attached.arm.model.mass == pytest.approx(made.arm.model.mass)


def test_the_energy_of_a_heavy_payload_is_no_divergence():
    arm = Dynamics(planar_2r().with_gravity((0.0, 0.0, 0.0)))
    simulator = Simulator(arm, qd=[1.0, 0.5])
    before = simulator.kinetic_energy()
    assert simulator.attach('link2', 1e3) > 100 * before
    simulate(simulator, lambda t, q, qd: np.zeros(2), 0.05)
    simulator.drop('link2')
    simulate(simulator, lambda t, q, qd: np.zeros(2), 0.05)


def test_dropping_the_payload_restores_the_arm(arm):
    link = arm.model.body_names[1]
    dropped, never = moving(arm), moving(arm)
    dropped.attach(link, *LOAD)
    dropped.drop(link)
    for simulator in (dropped, never):
        simulate(simulator, still, 0.2)
    assert np.array_equal(dropped.q, never.q)
    assert dropped.payloads == {}


@pytest.mark.parametrize(
    'joint_models', [JointModels(), JointModels(elasticity=Elasticity(900.0))]
)
def test_the_state_is_continuous_and_energy_and_momentum_are_those_of_the_payload(joint_models):
    model = random_tree(4, np.random.default_rng(3)).with_actuation(rotor_inertia=0.2)
    arm, link = Dynamics(model), model.body_names[-1]
    simulator = moving(arm, joint_models=joint_models)
    simulate(simulator, still, 0.05)
    q, qd = simulator.q, simulator.qd
    before = simulator.kinetic_energy() + simulator.potential_energy()
    came = simulator.attach(link, *LOAD)
    assert np.array_equal(simulator.q, q)
    assert np.array_equal(simulator.qd, qd)
    after = simulator.kinetic_energy() + simulator.potential_energy()
    # The energy of the payload, from the link's motion.
    mass, com, inertia = LOAD
    T = arm.forward_kinematics(q, link)
    w, v = np.split(arm.jacobian(q, link) @ qd, 2)
    R, r = T[:3, :3], T[:3, :3] @ com
    v_com, I = v + np.cross(w, r), R @ inertia @ R.T
    own = 0.5 * mass * v_com @ v_com + 0.5 * w @ I @ w - mass * model.gravity @ (T[:3, 3] + r)
    assert came == pytest.approx(own)
    assert after - before == pytest.approx(own)
    # Its momentum in joint space: J^T (h, m v)
    momentum = arm.wrench_torque(q, [*(I @ w + np.cross(r, mass * v_com)), *(mass * v_com)], link)
    gained = (simulator.arm.mass_matrix(q) - arm.mass_matrix(q)) @ qd
    assert gained == pytest.approx(momentum)
    assert simulator.drop(link) == pytest.approx(-came)


def test_energy_added_by_a_payload_is_no_divergence(arm):
    link = arm.model.body_names[-1]
    simulator = Simulator(arm)
    for _ in range(30):
        simulator.attach(link, 50.0, [3.0, 0.0, 0.0])
        simulator.step(np.zeros(4))
        simulator.drop(link)
        simulator.step(np.zeros(4))


EVERY_STEP = JointModels(
    friction='stick_slip', stops=SpringDamperStop(1e4, 1.0), actuators=Actuators()
)


@pytest.mark.parametrize('joint_models', [JointModels(), EVERY_STEP])
def test_nothing_is_compiled_when_a_payload_is_attached(joint_models, monkeypatch):
    model = random_tree(4, np.random.default_rng(3)).with_actuation(coulomb=5.0)
    model = replace(model, lower=np.full(4, -0.5), upper=np.full(4, 0.5))
    arm = Dynamics(model)
    links = [model.body_names[-1], model.body_names[0]]
    frame = model.link_names[-1]
    simulator = moving(arm, payload_links=links, wrench_frames=[frame], joint_models=joint_models)
    made = []
    monkeypatch.setattr(
        'robot_dynamics.core.programs.compile_program', lambda *_, **__: made.append(1)
    )
    for link in links:
        simulator.attach(link, *LOAD)
        for _ in range(200):
            simulator.step(np.zeros(4), wrenches={frame: np.ones(6)})
    for link in links:
        simulator.drop(link)
        simulator.step(np.zeros(4))
    assert made == []


def test_invalid_payloads_are_rejected_and_change_nothing(arm):
    simulator = moving(arm)
    link = arm.model.body_names[-1]
    with pytest.raises(FrameNotFound):
        simulator.attach('nowhere', 1.0)
    with pytest.raises(ModelError, match=r'mass is -1\.0 kg'):
        simulator.attach(link, -1.0)
    with pytest.raises(ModelError, match='carries no payload'):
        simulator.drop(link)
    assert simulator.payloads == {}
    simulator.attach(link, 1.0)
    with pytest.raises(ModelError, match='carries 1 kg already; drop it'):
        simulator.attach(link, 2.0)


# -- wrenches -----------------------------------------------------------------------------------


def test_a_wrench_equals_its_joint_torques(arm):
    rng = np.random.default_rng(6)
    frames = [arm.model.body_names[1], arm.model.body_names[-1]]
    wrenches = {frame: rng.normal(size=6) for frame in frames}
    outside = rng.normal(size=4)
    pushed, reference = moving(arm), moving(arm)
    for _ in range(20):
        torque = sum(arm.wrench_torque(reference.q, F, frame) for frame, F in wrenches.items())
        pushed.step(np.ones(4), external=outside, wrenches=wrenches)
        reference.step(np.ones(4), external=outside + torque)
    assert pushed.q == pytest.approx(reference.q, abs=1e-14)
    assert np.array_equal(pushed.effort, np.ones(4))


def test_a_force_accelerates_the_link_in_its_direction():
    # Straight out along x, pulled up at the tip: the first joint turns to +z, towards y.
    arm = Dynamics(planar_2r().with_gravity((0.0, 0.0, 0.0)))
    simulator = Simulator(arm)
    simulator.step([0.0, 0.0], wrenches={arm.model.link_names[-1]: [0, 0, 0, 0, 1.0, 0]})
    assert simulator.qd[0] > 0 or simulator.qd[1] > 0
    # The torque that holds one kilogram at the tip is that of an upward force.
    tip = arm.model.link_names[-1]
    loaded = Dynamics(planar_2r())
    weight = loaded.with_payload(tip, 1.0).gravity_torque([0.3, 0.4]) - loaded.gravity_torque(
        [0.3, 0.4]
    )
    up = -np.asarray(loaded.model.gravity)
    assert loaded.wrench_torque([0.3, 0.4], [0, 0, 0, *up], tip) == pytest.approx(weight)


def test_invalid_wrenches_are_rejected_by_name(arm):
    simulator = moving(arm)
    frame = arm.model.body_names[-1]
    before = simulator.q
    with pytest.raises(ShapeError, match=rf"wrench on '{frame}' has shape \(3,\)"):
        simulator.step(np.zeros(4), wrenches={frame: [1.0, 2.0, 3.0]})
    with pytest.raises(NotFinite, match=rf"wrench on '{frame}' is .*nan"):
        simulator.step(np.zeros(4), wrenches={frame: [np.nan] * 6})
    with pytest.raises(FrameNotFound):
        simulator.step(np.zeros(4), wrenches={'nowhere': np.zeros(6)})
    assert np.array_equal(simulator.q, before)


def test_a_real_arm_has_the_weight_of_a_payload_at_once():
    arm = Dynamics(robots.load('panda'))
    simulator = Simulator(arm, payload_links=['panda_hand'])
    simulator.attach('panda_hand', 2.0, [0.0, 0.0, 0.1])
    weight = simulator.arm.gravity_torque(simulator.q)
    simulator.step(weight)
    assert np.abs(simulator.qd).max() < 1e-9
    # Without the payload the same torque lifts the arm.
    simulator.drop('panda_hand')
    simulator.step(weight)
    assert np.abs(simulator.qd).max() > 1e-3
