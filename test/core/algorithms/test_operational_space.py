# SPDX-License-Identifier: Apache-2.0
from operator import add, mul, sub, truediv

import numpy as np
import pytest
import robots

from robot_dynamics.common.errors import SingularityError
from robot_dynamics.core.algorithms import (
    forward_dynamics,
    jacobian,
    jacobian_dot,
    operational_space,
    terms,
)
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.canonical import canonical_tree
from robot_dynamics.core.model.robots import planar_2r, random_tree

mpmath = pytest.importorskip('mpmath')

CHAINS = {
    n: random_tree(n, np.random.default_rng(20 + n), branching=0.0, prismatic=0.1)
    for n in (6, 7, 9)
}


@pytest.mark.parametrize('n', CHAINS)
def test_matches_the_definition(n, relative):
    tree, frame = canonical_tree(CHAINS[n]), f'link{n}'
    q, qd = np.random.default_rng(n).uniform(-2, 2, (2, n))
    ours = operational_space(tree, q, qd, frame)
    M, C, g = map(np.array, terms(tree, q, qd))
    J, Jd = np.array(jacobian(tree, q, frame)), np.array(jacobian_dot(tree, q, qd, frame))
    J_M = J @ np.linalg.inv(M)
    Lambda = np.linalg.inv(J_M @ J.T)
    tolerance = 1e-14 * np.linalg.cond(J_M @ J.T) * np.linalg.cond(M)
    assert relative(ours.Lambda, Lambda) < tolerance
    assert relative(ours.mu, Lambda @ (J_M @ C @ qd - Jd @ qd)) < tolerance
    assert relative(ours.p, Lambda @ J_M @ g) < tolerance
    assert relative(ours.eta, np.add(ours.mu, ours.p)) < 1e-15


def test_a_wrench_at_the_frame_accelerates_it_as_stated(relative):
    tree, frame = canonical_tree(CHAINS[7]), 'link7'
    q, qd = np.random.default_rng(1).uniform(-2, 2, (2, 7))
    J, Jd = np.array(jacobian(tree, q, frame)), np.array(jacobian_dot(tree, q, qd, frame))
    at = operational_space(tree, q, qd, frame)
    F = np.array([1.0, -2.0, 3.0, 10.0, 20.0, -30.0])
    qdd = np.array(forward_dynamics(tree, q, qd, J.T @ F))
    Vd = J @ qdd + Jd @ qd
    # Lambda Vd + mu + p = F
    assert relative(at.Lambda @ Vd + at.eta, F, np.abs(at.eta).max()) < 1e-9


def test_a_planar_arm_in_the_directions_it_can_move(relative):
    tree = canonical_tree(planar_2r())
    q, qd = np.array([0.3, 1.1]), np.array([0.5, -0.7])
    at = operational_space(tree, q, qd, 'link2', directions=(2, 4))
    J = np.array(jacobian(tree, q, 'link2'))[[2, 4]]
    M = np.array(terms(tree, q, qd).M)
    # Lambda = J^-T M J^-1. 001, (9.98)
    inverse = np.linalg.inv(J)
    assert relative(at.Lambda, inverse.T @ M @ inverse) < 1e-12
    # eta = J^-T (C qd + g) - Lambda Jd J^-1 V. 001, (9.99)
    C, g = map(np.array, terms(tree, q, qd)[1:])
    Jd = np.array(jacobian_dot(tree, q, qd, 'link2'))[[2, 4]]
    assert relative(at.mu, inverse.T @ C @ qd - at.Lambda @ Jd @ qd) < 1e-12
    assert relative(at.p, inverse.T @ g) < 1e-12


# -- near singular postures, against arithmetic of 60 digits --------------------------------------


class Digits:
    """A number of mpmath as a scalar of the algorithms."""

    def __init__(self, value):
        self.value = value.value if isinstance(value, Digits) else mpmath.mpf(value)

    def __add__(self, other):
        return Digits(add(self.value, Digits(other).value))

    def __sub__(self, other):
        return Digits(sub(self.value, Digits(other).value))

    def __rsub__(self, other):
        return Digits(sub(Digits(other).value, self.value))

    def __mul__(self, other):
        return Digits(mul(self.value, Digits(other).value))

    def __truediv__(self, other):
        return Digits(truediv(self.value, Digits(other).value))

    def __rtruediv__(self, other):
        return Digits(truediv(Digits(other).value, self.value))

    def __neg__(self):
        return Digits(-self.value)

    def sin(self):
        return Digits(mpmath.sin(self.value))

    def cos(self):
        return Digits(mpmath.cos(self.value))

    __radd__, __rmul__ = __add__, __mul__


def by_definition(tree, q, qd, frame):
    """Return Lambda, mu, p and the singular values of J, of M, C, g and J in 60 digits."""
    with mpmath.workdps(60):
        state = [Digits(x) for x in q.tolist()], [Digits(x) for x in qd.tolist()]

        def matrix(rows):
            return mpmath.matrix([[Digits(x).value for x in row] for row in rows])

        def floats(m):
            return np.array(m.tolist(), dtype=float)

        M, C, g = terms(tree, *state)
        M, C, g = matrix(M), matrix(C), matrix([[x] for x in g])
        J, Jd = matrix(jacobian(tree, state[0], frame)), matrix(jacobian_dot(tree, *state, frame))
        v = matrix([[x] for x in state[1]])
        J_M = J * M**-1
        Lambda = (J_M * J.T) ** -1
        mu, p = Lambda * (J_M * C * v - Jd * v), Lambda * J_M * g
        values = mpmath.svd_r(J, compute_uv=False)
        return floats(Lambda), floats(mu)[:, 0], floats(p)[:, 0], floats(values)


# Postures (n,) that become singular with the distance x: of the wrist, of the elbow, of the
# shoulder and wrist of a redundant arm.
POSTURES = {
    'wrist': ('ur5', lambda x: [0.3, -1.1, 0.8, 0.4, x, 0.2]),
    'elbow': ('ur5', lambda x: [0.3, -1.1, x, 0.4, 0.7, 0.2]),
    'redundant': ('kuka_iiwa', lambda x: [0.3, x / 2, 0.1, -1.2, 0.3, x, 0.2]),
}
SINGULAR = 1e-12
FRAMES = {'ur5': 'tool0', 'kuka_iiwa': 'lbr_iiwa_link_7'}


@pytest.fixture(scope='module')
def arms():
    return {name: Dynamics(robots.load(name)) for name in FRAMES if name in robots.NAMES}


@pytest.mark.parametrize('side', [1.0, -1.0])
@pytest.mark.parametrize('decade', range(3, 15))
@pytest.mark.parametrize('posture', POSTURES)
def test_the_error_near_a_singular_posture_is_bounded(arms, posture, decade, side):
    name, q_of = POSTURES[posture]
    if name not in arms:
        pytest.skip(f'{name} is not installed')
    arm, frame = arms[name], FRAMES[name]
    q = np.array(q_of(side * 10.0**-decade))
    qd = np.random.default_rng(decade).uniform(-1, 1, len(q))
    Lambda, mu, p, values = by_definition(arm.tree, q, qd, frame)
    s = values.min() / values.max()
    if s < 0.9 * SINGULAR:
        with pytest.raises(SingularityError, match='cannot move in all of the directions'):
            arm.operational_space(q, qd, frame)
        return
    ours = arm.operational_space(q, qd, frame)
    for found, exact in ((ours.Lambda, Lambda), (ours.mu, mu), (ours.p, p)):
        error = np.abs(found - exact).max() / np.abs(exact).max()
        assert error < 300 * np.finfo(float).eps / s
