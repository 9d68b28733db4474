# SPDX-License-Identifier: Apache-2.0
"""Simulation step of a linkage against Gauss's principle; its measure of independence."""

import linkages
import numpy as np
import pytest

from robot_dynamics.core.algorithms import closed_chain_step, closed_chain_terms
from robot_dynamics.core.algorithms.closed_chain_step import CutChain
from robot_dynamics.core.algorithms.integrators import INTEGRATORS
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coulomb import Friction
from robot_dynamics.core.model.canonical import canonical_tree
from robot_dynamics.simulation.closed_chains import ClosedChain
from robot_dynamics.simulation.closed_chains.least_constraint import constraints

NAMES = ['five_bar_linkage', 'four_bar', 'slider_crank', 'spatial_four_bar', 'bennett']
H = 1e-3


@pytest.fixture(params=NAMES)
def chain(request):
    linkage = getattr(linkages, request.param)()
    tree = linkage.tree.with_actuation(viscous=0.1)
    return ClosedChain(Dynamics(tree, backend='python'), linkage.closures, near=linkage.near)


@pytest.fixture
def state(chain):
    rng = np.random.default_rng(0)
    q = chain.posture(chain.q0 + 0.1 * rng.normal(size=chain.arm.model.n))
    return q, chain.velocity(q, rng.normal(size=len(q))), rng.normal(size=len(q))


def cut_open(chain):
    return CutChain(canonical_tree(chain.arm.model), chain.closures, chain.rows)


def test_accelerations_are_the_least_constrained(chain, state):
    q, qd, tau = state
    expected = chain.forward_dynamics(q, qd, tau).qdd
    qdd = closed_chain_step.constrained_acceleration(cut_open(chain), list(q), list(qd), list(tau))
    assert np.abs(qdd - expected).max() < 1e-11 * max(1.0, np.abs(expected).max())


def test_closing_finds_the_nearest_closed_state(chain, state):
    q, qd, _ = state
    rng = np.random.default_rng(1)
    apart = q + 1e-5 * rng.normal(size=len(q)), qd + 1e-3 * rng.normal(size=len(q))
    after = closed_chain_step.closed(cut_open(chain), *map(list, apart))
    assert np.abs(after.phi).max() < 1e-14
    here = chain.terms(np.array(after.q), np.array(after.qd))
    assert np.abs(here.J @ after.qd).max() < 1e-14
    # nearest: the change is M-perpendicular to all motions that the closures allow
    motions = np.linalg.svd(here.J)[2][chain.independent :]
    assert np.abs(motions @ here.M @ (after.qd - apart[1])).max() < 1e-14
    assert np.abs(motions @ here.M @ (after.q - apart[0])).max() < 1e-9


@pytest.mark.parametrize('integrator', INTEGRATORS)
def test_a_step_is_the_integrators_then_closed(chain, state, integrator):
    q, qd, tau = state
    friction = Friction(chain.arm.model.viscous.tolist(), chain.arm.model.coulomb.tolist())
    step = closed_chain_step.chain_step(
        cut_open(chain), friction, integrator, list(q), list(qd), list(tau), H
    )

    def a(q, qd):
        return chain.forward_dynamics(q, qd, tau - 0.1 * qd).qdd

    moved, speed = INTEGRATORS[integrator].step(a, q, qd, H)
    closed = chain.posture(moved)
    assert np.abs(step.q - closed).max() < 1e-11
    assert np.abs(step.qd - chain.velocity(closed, speed)).max() < 1e-11
    compiled = chain.simulation_step(integrator)(q, qd, tau, [H])
    assert np.abs(compiled.q - step.q).max() < 1e-13


def test_independence_measures_what_each_equation_adds(chain, state):
    q, _, _ = state
    found = np.array(closed_chain_step.independence(cut_open(chain), list(q)))
    assert found.shape == (chain.independent,)
    assert ((found > 1e-3) & (found <= 1 + 1e-12)).all()
    # The product of D is det(J M^-1 J^T), that of the squares of the singular values.
    here = chain.terms(q, np.zeros(len(q)))
    rows = here.J[list(chain.rows)]
    gram = rows @ np.linalg.solve(here.M, rows.T)
    here_as_lists = here._replace(M=here.M.tolist(), J=here.J.tolist())
    D = 1 / np.array(closed_chain_step.factorized(cut_open(chain), here_as_lists).H.D_inverse)
    assert np.prod(D) == pytest.approx(np.linalg.det(gram), rel=1e-10)
    assert np.prod(D) == pytest.approx(np.prod(constraints(here.M, rows).s ** 2), rel=1e-10)


@pytest.mark.parametrize('size', [0.01, 1.0, 30.0])
def test_independence_is_measured_against_turning_and_moving_apart(size):
    # Links of millimetres or of 20 m: a frame that turns by 1 rad/s moves by far less, or far
    # more, than 1 m/s, so that each kind of equation needs a scale of its own.
    linkage = linkages.bennett(0.4 * size, b=0.6 * size)
    tree = linkage.tree
    chain = ClosedChain(Dynamics(tree, backend='python'), linkage.closures, near=linkage.near)
    q = chain.q0
    cut = cut_open(chain)._replace(rows=(0, 4))  # an equation of either kind
    found = np.array(closed_chain_step.independence(cut, list(q)))
    M = chain.arm.mass_matrix(q)
    rows, kinds = chain.terms(q, np.zeros(len(q))).J, []
    scales = {'turning': [], 'moving': []}
    for closure in linkage.closures:
        J = closed_chain_terms.closure_state(
            canonical_tree(tree), closure, list(q), [0.0] * len(q)
        ).J
        J = np.array([[float(x) for x in row] for row in J])
        for kind, part in (('turning', J[:3]), ('moving', J[3:])):
            scales[kind].append(np.trace(part @ np.linalg.solve(M, part.T)))
        kinds += ['turning'] * len(closure.perpendicular) + ['moving'] * 3
    assert len(kinds) == len(rows)
    for i, k in enumerate(cut.rows):
        # What the later equations leave of this one: the Schur complement of J M^-1 J^T.
        J = rows[list(cut.rows[i:])]
        H = J @ np.linalg.solve(M, J.T)
        left = H[0, 0] - H[0, 1:] @ np.linalg.solve(H[1:, 1:], H[1:, 0])
        assert found[i] == pytest.approx(left / scales[kinds[k]][0], rel=1e-6)


def test_independence_vanishes_where_links_line_up():
    linkage = linkages.five_bar_linkage()
    chain = ClosedChain(Dynamics(linkage.tree), linkage.closures, near=linkage.near)
    for angle, least in ((0.0, 0.0), (1e-3, 1e-8), (0.1, 1e-4)):
        flat = [0.4, 0.4 + angle, -angle, angle - np.pi]
        found = min(closed_chain_step.independence(cut_open(chain), flat))
        assert least <= found < max(10 * angle**2, 1e-25)
