# SPDX-License-Identifier: Apache-2.0
"""Mechanisms with kinematic loops: laws for all of them, and rejected input."""

from dataclasses import replace

import linkages
import numpy as np
import pytest

from robot_dynamics import ClosedChain, Dynamics, LoopClosure
from robot_dynamics.common.errors import (
    FrameNotFound,
    LoopNotClosed,
    ModelError,
    ShapeError,
    SingularityError,
)
from robot_dynamics.core.model.builder import build_tree
from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.core.model.robots import random_tree


def two_loops():
    """Return a robot with two arms of six joints, joined by a pin, one of them held by a ball."""
    rng = np.random.default_rng(11)
    model = random_tree(12, rng, branching=0.0, prismatic=0.2)
    model = replace(model, name='two_loops', parent=[-1, 0, 1, 2, 3, 4, -1, 6, 7, 8, 9, 10])
    q = rng.normal(size=12)
    arm = Dynamics(model, backend='python')
    hands = [arm.forward_kinematics(q, frame) for frame in ('link6', 'link12')]
    elbow = arm.forward_kinematics(q, 'link10')
    model = replace(
        model,
        frame_names=(*model.frame_names, 'grasp', 'post'),
        frame_body=[*model.frame_body, 5, -1],
        frame_placement=[*model.frame_placement, np.linalg.inv(hands[0]) @ hands[1], elbow],
    )
    closures = (
        LoopClosure('grasp', 'link12', axis=(0.2, 0.5, -0.4)),
        LoopClosure('post', 'link10', 'ball'),
    )
    return linkages.Linkage(model, closures, q)


LINKAGES = {
    name: getattr(linkages, name)()
    for name in ('five_bar_linkage', 'four_bar', 'slider_crank', 'spatial_four_bar', 'bennett')
}
LINKAGES['two_loops'] = two_loops()
MOBILITY = {'five_bar_linkage': 2, 'two_loops': 4}  # the others have 1
INDEPENDENT = {'spatial_four_bar': 3, 'two_loops': 8}  # the others have 2
DRIVEN = {
    'five_bar_linkage': ('joint1', 'joint2'),
    'bennett': ('joint1',),
    'two_loops': ('joint1', 'joint3', 'joint6', 'joint12'),
}
ROUNDING = 1e-12  # relative to the largest entry, or to 1 where all are small


def chain_of(linkage):
    return ClosedChain(Dynamics(linkage.tree), linkage.closures, near=linkage.near)


@pytest.fixture(params=LINKAGES)
def chain(request):
    return chain_of(LINKAGES[request.param])


@pytest.fixture
def state(chain):
    """Return a closed posture away from the first, and velocities that fit."""
    rng = np.random.default_rng(3)
    n = chain.arm.model.n
    q = chain.posture(chain.q0 + 0.1 * rng.normal(size=n))
    return q, 2 * chain.velocity(q, rng.normal(size=n))


def close(actual, expected, rounding=ROUNDING):
    scale = max(1.0, np.abs(expected).max())
    return np.abs(np.asarray(actual) - expected).max() <= rounding * scale


# -- what holds for all -------------------------------------------------------------------------


def test_mobility(chain):
    name = chain.arm.model.name
    assert chain.mobility == MOBILITY.get(name, 1)
    assert chain.independent == INDEPENDENT.get(name, 2)
    assert f'mobility {chain.mobility}>' in repr(chain)


def test_the_loops_are_closed(chain, state):
    for q in (chain.q0, state[0]):
        assert np.abs(chain.residual(q)).max() <= 1e-12
    assert np.abs(chain.terms(*state).J @ state[1]).max() < 1e-13


def test_forward_dynamics_satisfies_both_equations(chain, state):
    tau = np.random.default_rng(5).normal(size=chain.arm.model.n)
    motion = chain.forward_dynamics(*state, tau)
    M, b, _, J, c = chain.terms(*state)
    assert close(M @ motion.qdd + b, tau + J.T @ motion.multipliers)
    assert close(J @ motion.qdd, -c, 1e-11)


def test_constraint_forces_do_no_work(chain, state):
    q, qd = state
    tau = np.random.default_rng(6).normal(size=len(q))
    qdd, multipliers = chain.forward_dynamics(q, qd, tau)
    forces = chain.terms(q, qd).J.T @ multipliers
    assert np.abs(forces).max() > 0.1
    assert abs(forces @ qd) < 1e-12 * np.abs(forces).max() * np.abs(qd).max()
    # and so the motors' power becomes kinetic and potential energy
    arm = chain.arm
    # d/dt (K + P) = qd . (M qdd + C qd + g)
    power = qd @ arm.inverse_dynamics(q, qd, qdd)
    assert power == pytest.approx(tau @ qd, abs=1e-11 * np.abs(forces).max())


def test_accelerations_are_the_least_constrained(chain, state):
    """Gauss: no other motion that the closures allow is nearer to the free one."""
    q, qd = state
    tau = np.random.default_rng(7).normal(size=len(q))
    qdd = chain.forward_dynamics(q, qd, tau).qdd
    free = chain.arm.forward_dynamics(q, qd, tau)
    M = chain.arm.mass_matrix(q)

    def compulsion(a):
        return (a - free) @ M @ (a - free)

    for seed in range(5):
        direction = chain.velocity(q, np.random.default_rng(seed).normal(size=len(q)))
        for epsilon in (1e-3, -1e-3):
            assert compulsion(qdd + epsilon * direction) > compulsion(qdd)


def test_wrenches_are_what_the_open_tree_needs(chain, state):
    """Newton: cut open, with the closures' wrenches on both sides of the cut, nothing changes."""
    q, qd = state
    tau = np.random.default_rng(8).normal(size=len(q))
    qdd, multipliers = chain.forward_dynamics(q, qd, tau)
    total = tau.copy()
    for closure, wrench in zip(chain.closures, chain.wrenches(q, multipliers), strict=True):
        total += chain.arm.wrench_torque(q, wrench, closure.frame_b)
        total -= chain.arm.wrench_torque(q, wrench, closure.frame_a)
    assert close(chain.arm.forward_dynamics(q, qd, total), qdd, 1e-10)


def test_the_accelerations_are_those_of_the_closed_postures(chain, state):
    """Along q + h qd + h^2 qdd / 2 the loops part with the third power of h only."""
    q, qd = state
    qdd = chain.forward_dynamics(q, qd, np.zeros(len(q))).qdd
    h = 1e-4
    for sign in (1, -1):
        ahead = chain.residual(q + sign * h * qd + h**2 / 2 * qdd)
        astray = chain.residual(q + sign * h * qd)
        assert np.abs(ahead).max() < 1e-2 * np.abs(astray).max() + 1e-15
        # The five-bar is a parallelogram, whose joints follow each other linearly.
        assert np.abs(astray).max() > h**2 / 50 or chain.arm.model.name == 'five_bar_linkage'


def test_inverse_dynamics_with_drives_undoes_forward_dynamics(chain, state):
    q, qd = state
    driven = DRIVEN.get(chain.arm.model.name, ('crank',))
    names = chain.arm.model.joint_names
    tau = np.zeros(len(q))
    tau[[names.index(name) for name in driven]] = [1.3, -0.8, 0.6, 0.3][: len(driven)]
    qdd, multipliers = chain.forward_dynamics(q, qd, tau)
    effort = chain.inverse_dynamics(q, qd, qdd, driven=driven)
    assert close(effort.tau, tau, 1e-10)
    assert close(effort.multipliers, multipliers, 1e-10)


def test_more_drives_than_mobility_take_the_smallest_torques(chain, state):
    q, qd = state
    driven = DRIVEN.get(chain.arm.model.name, ('crank',))
    qdd = chain.forward_dynamics(q, qd, np.ones(len(q))).qdd
    few = chain.inverse_dynamics(q, qd, qdd, driven=driven)
    many = chain.inverse_dynamics(q, qd, qdd)
    assert close(chain.forward_dynamics(q, qd, many.tau).qdd, qdd, 1e-10)
    assert np.linalg.norm(many.tau) <= np.linalg.norm(few.tau) * (1 + 1e-12)
    # perpendicular to all torques that would only strain the loop
    T = np.linalg.svd(chain.terms(q, qd).J)[2][: chain.independent]
    assert np.abs(T @ many.tau).max() < 1e-10 * np.abs(many.tau).max()


def test_driven_terms_give_the_same_accelerations(chain, state):
    q, qd = state
    driven = DRIVEN.get(chain.arm.model.name, ('crank',))
    columns = [chain.arm.model.joint_names.index(name) for name in driven]
    tau = np.zeros(len(q))
    tau[columns] = 0.7
    M, b = chain.driven_terms(q, qd, driven)
    assert close(
        np.linalg.solve(M, tau[columns] - b),
        chain.forward_dynamics(q, qd, tau).qdd[columns],
        1e-10,
    )


def test_leading_axes_broadcast(chain, state):
    q, qd = (np.stack([value, value, value]) for value in state)
    tau = np.random.default_rng(1).normal(size=(2, 3, q.shape[1]))
    together = chain.forward_dynamics(q, qd, tau)
    effort = chain.inverse_dynamics(q, qd, together.qdd)
    wrenches = chain.wrenches(q, together.multipliers)
    for index in np.ndindex(2, 3):
        alone = chain.forward_dynamics(*state, tau[index])
        assert close(together.qdd[index], alone.qdd)
        assert close(together.multipliers[index], alone.multipliers)
        assert close(wrenches[index], chain.wrenches(state[0], alone.multipliers))
        tau_alone = chain.inverse_dynamics(*state, alone.qdd).tau
        assert close(effort.tau[index], tau_alone, 1e-10)


@pytest.mark.parametrize('name', ['four_bar', 'spatial_four_bar'])
def test_gravity_and_loads_given_at_run_time_count(name):
    linkage, gravity = LINKAGES[name], [1.0, -2.0, 3.0]
    arm = Dynamics(linkage.tree).with_gravity(gravity).with_payload('link2', 0.7, [0.1, 0.0, 0.0])
    tree = linkage.tree.with_gravity(gravity).with_payload('link2', 0.7, [0.1, 0.0, 0.0])
    given, written = (
        ClosedChain(each, linkage.closures, near=linkage.near) for each in (arm, Dynamics(tree))
    )
    q, rest = written.q0, np.zeros(tree.n)
    assert close(given.q0, q, 1e-11)
    tau = np.ones(tree.n)
    assert close(
        given.forward_dynamics(q, rest, tau).qdd, written.forward_dynamics(q, rest, tau).qdd, 1e-10
    )
    steps = (chain.simulation_step('rk4')(q, rest, tau, [1e-3]) for chain in (given, written))
    assert close(*(step.qd for step in steps), 1e-10)


# -- what fits ----------------------------------------------------------------------------------


def test_held_joints_stay_where_they_are(chain):
    driven = DRIVEN.get(chain.arm.model.name, ('crank',))
    columns = [chain.arm.model.joint_names.index(name) for name in driven]
    start, rates = chain.q0.copy(), np.zeros(len(chain.q0))
    start[columns] += [0.05, -0.03, 0.02, 0.04][: len(driven)]
    rates[columns] = [0.9, -0.4, 0.3, 0.2][: len(driven)]
    q = chain.posture(start, hold=driven)
    assert np.array_equal(q[columns], start[columns])
    assert np.abs(chain.residual(q)).max() <= 1e-12
    qd = chain.velocity(q, rates, hold=driven)
    assert np.array_equal(qd[columns], rates[columns])
    qdd = chain.acceleration(q, qd, rates, hold=driven)
    assert np.array_equal(qdd[columns], rates[columns])
    M, b = chain.driven_terms(q, qd, driven)
    assert close(
        chain.inverse_dynamics(q, qd, qdd, driven=driven).tau[columns],
        M @ rates[columns] + b,
        1e-10,
    )


@pytest.mark.parametrize('name', [name for name in LINKAGES if name != 'two_loops'])
def test_a_posture_is_found_nearby_without_turns_round_and_round(name):
    chain = chain_of(LINKAGES[name])
    rng = np.random.default_rng(0)
    for _ in range(50):
        start = chain.q0 + rng.uniform(-1.5, 1.5, len(chain.q0))
        q = chain.posture(start)
        assert np.abs(chain.residual(q)).max() <= 1e-12
        assert np.abs(q - start).max() < 2 * np.pi


def test_velocities_after_an_impact_that_imposes_the_closures(chain):
    """The nearest velocities in energy: what is lost is what separates them."""
    rng = np.random.default_rng(2)
    before = rng.normal(size=len(chain.q0))
    after = chain.velocity(chain.q0, before)
    M = chain.arm.mass_matrix(chain.q0)
    # M-perpendicular: K before = K after + K of the difference
    lost = before - after
    assert abs(after @ M @ lost) < 1e-12 * (before @ M @ before)
    assert close(chain.velocity(chain.q0, after), after)


# -- what is rejected ----------------------------------------------------------------------------


def test_a_loop_that_cannot_close():
    linkage = linkages.four_bar(crank=0.1, coupler=0.2, rocker=0.2, ground=2.0)
    with pytest.raises(LoopNotClosed, match=r'ends with frames 1\.\d+ m or rad apart at q = '):
        chain_of(linkage)


def test_a_closure_turned_over():
    """A pin's axis may point the other way at the far frame; then the links lie inside out."""
    axis, other = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    turned = np.diag([1.0, -1.0, -1.0, 1.0])
    tree = build_tree(
        'turned',
        [-1, 0],
        [True, True],
        [axis, axis],
        [np.eye(4), np.eye(4)],
        [Inertial(1.0, 0.2 * other, 0.01 * np.eye(3))] * 2,
        frame_names=('base', 'link1', 'link2', 'over'),
        frame_body=[-1, 0, 1, 1],
        frame_placement=[np.eye(4)] * 3 + [turned],
    )
    with pytest.raises(LoopNotClosed, match='axes of a closure pointing in opposite directions'):
        ClosedChain(Dynamics(tree), [LoopClosure('base', 'over')])


def test_rejections():
    linkage = LINKAGES['four_bar']
    chain = chain_of(linkage)
    arm, rest = chain.arm, np.zeros(3)
    with pytest.raises(FrameNotFound, match="'elbow'"):
        ClosedChain(arm, [LoopClosure('coupler_end', 'elbow')])
    with pytest.raises(ShapeError, match=r'q has shape \(2,\)'):
        ClosedChain(arm, linkage.closures, near=[0.0, 1.0])
    with pytest.raises(LoopNotClosed, match=r'q is .*nan.* must be finite'):
        chain.posture([0.0, np.nan, 1.0])
    with pytest.raises(ModelError, match="no joint 'elbow'; expected one of crank, coupler"):
        chain.posture(chain.q0, hold=['elbow'])
    with pytest.raises(LoopNotClosed, match=r'qd = .* violates the closures'):
        chain.velocity(chain.q0, [1.0, 2.0, 3.0], hold=['crank', 'rocker'])
    with pytest.raises(LoopNotClosed, match=r'qdd = .* violates the closures'):
        chain.inverse_dynamics(chain.q0, rest, [1.0, 2.0, 3.0])
    with pytest.raises(LoopNotClosed, match=r'qdd = .*nan.* violates the closures'):
        chain.inverse_dynamics(chain.q0, rest, [np.nan, 0.0, 0.0])
    # One number would be broadcast to all joints; a motor named twice would be given half.
    for wrong in ([1.0], [1.0, 2.0], 1.0):
        with pytest.raises(ShapeError, match=r'tau has shape .*; it must be \(\.\.\., 3\)'):
            chain.forward_dynamics(chain.q0, rest, wrong)
        with pytest.raises(ShapeError, match=r'qdd has shape .*; it must be \(\.\.\., 3\)'):
            chain.inverse_dynamics(chain.q0, rest, wrong)
    with pytest.raises(ModelError, match=r"joint 'crank' is named twice in \['crank', 'crank'\]"):
        chain.inverse_dynamics(chain.q0, rest, rest, driven=['crank', 'crank'])
    with pytest.raises(
        ModelError, match=r"driven names 2 joints, \['crank', 'rocker'\]; expected the mobility, 1"
    ):
        chain.driven_terms(chain.q0, rest, ['crank', 'rocker'])
    five_bar, at_rest = chain_of(LINKAGES['five_bar_linkage']), np.zeros(4)
    qdd = five_bar.acceleration(five_bar.q0, at_rest, np.ones(4))
    with pytest.raises(SingularityError, match=r'1 driven joints do not determine .* mobility 2'):
        five_bar.inverse_dynamics(five_bar.q0, at_rest, qdd, driven=['joint1'])


def test_a_tree_whose_open_end_moves_no_inertia():
    linkage = LINKAGES['four_bar']
    tree = replace(
        linkage.tree,
        mass=[1.0, 1.0, 0.0],
        inertia_com=[np.eye(3), np.eye(3), np.zeros((3, 3))],
    )
    with pytest.raises(
        ModelError, match="joint 'rocker' of 'four_bar' moves no inertia in the op"
    ):
        chain_of(linkage._replace(tree=tree))


# -- singular postures --------------------------------------------------------------------------


def test_the_rank_is_the_mechanisms_and_not_the_postures():
    """Assembled flat, where its links line up, a linkage still has its own mobility."""
    linkage = LINKAGES['five_bar_linkage']
    flat = linkage.near - [0.0, 1.6, -1.6, 1.6]
    chain = ClosedChain(Dynamics(linkage.tree), linkage.closures, near=flat)
    assert np.ptp(chain.q0[:2]) < 1e-12
    assert chain.mobility == 2
    assert chain.conditioning(chain.q0) < 1e-12 < 0.1 < chain.conditioning(linkage.near)
    at_rest = np.zeros(4)
    with pytest.raises(SingularityError, match='fewer than 2 closure equations are indep'):
        chain.forward_dynamics(chain.q0, at_rest, at_rest)
    with pytest.raises(SingularityError, match='links are aligned'):
        chain.inverse_dynamics(chain.q0, at_rest, at_rest)


def test_a_drive_at_its_dead_centre():
    """A piston cannot turn the crank where rod and crank are in line."""
    linkage = LINKAGES['slider_crank']
    chain = chain_of(linkage._replace(near=np.array([0.0, 0.0, 0.9])))
    at_rest = np.zeros(3)
    qdd = chain.acceleration(chain.q0, at_rest, np.ones(3))
    assert np.isfinite(chain.inverse_dynamics(chain.q0, at_rest, qdd, driven=['crank']).tau).all()
    for call in (
        lambda: chain.inverse_dynamics(chain.q0, at_rest, qdd, driven=['slide']),
        lambda: chain.driven_terms(chain.q0, at_rest, ['slide']),
    ):
        with pytest.raises(SingularityError, match='do not determine the motion'):
            call()


def test_a_robot_welded_to_the_base_does_not_move():
    """Six equations that are all independent, on six joints: mobility 0."""
    model = random_tree(6, np.random.default_rng(4), branching=0.0, prismatic=0.0)
    q = np.random.default_rng(5).normal(size=6)
    T = Dynamics(model).forward_kinematics(q, 'link6')
    model = replace(
        model,
        frame_names=(*model.frame_names, 'there'),
        frame_body=[*model.frame_body, -1],
        frame_placement=[*model.frame_placement, T],
    )
    chain = ClosedChain(Dynamics(model), [LoopClosure('there', 'link6', 'rigid')], near=q)
    assert chain.mobility == 0
    qdd, multipliers = chain.forward_dynamics(q, np.zeros(6), np.zeros(6))
    assert np.abs(qdd).max() < 1e-8
    # The weld carries what the motors do not: it holds the arm against gravity.
    (wrench,) = chain.wrenches(q, multipliers)
    held = chain.arm.wrench_torque(q, wrench, 'link6')
    assert close(held, chain.arm.gravity_torque(q), 1e-9)
