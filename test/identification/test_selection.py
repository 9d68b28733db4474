"""Stepwise selection: omitted blocks of time predicted by a fit of the others."""

import numpy as np
import pytest

from robot_dynamics.identification.selection import Group, NormalEquations

BLOCKS, LENGTH, UNKNOWNS = 5, 40, 3
GROUPS = [Group('one', 0, [0]), Group('pair', -1, [1, 2])]


def columns(seed=0):
    return np.random.default_rng(seed).normal(size=(BLOCKS, LENGTH, UNKNOWNS)) * [1.0, 5.0, 0.2]


def equations(X, r, weight=3.0):
    A = weight * np.einsum('bki,bkj->bij', X, X)
    b = weight * np.einsum('bki,bk->bi', X, r)
    return NormalEquations(A, b, X.shape[0] * X.shape[1])


def squares(X, r, at, k, weight=3.0):
    """Return the weighted squares that a fit of all blocks but k leaves in block k."""
    others = np.arange(BLOCKS) != k
    x = np.linalg.lstsq(X[others][..., at].reshape(-1, len(at)), r[others].ravel(), rcond=None)[0]
    return weight * ((r[k] - X[k][:, at] @ x) ** 2).sum()


@pytest.mark.parametrize('group', GROUPS, ids=lambda group: group.kind)
def test_gains_are_those_of_least_squares_without_the_block(group):
    X = columns()
    r = X @ [2.0, -0.3, 4.0] + np.random.default_rng(1).normal(size=X.shape[:2])
    gains = equations(X, r).held_out(GROUPS, group)
    rest = [unknown for unknown in range(UNKNOWNS) if unknown not in group.unknowns]
    wanted = [squares(X, r, rest, k) - squares(X, r, [0, 1, 2], k) for k in range(BLOCKS)]
    assert np.allclose(gains, wanted)
    assert (gains > 0).all()


def test_a_cause_of_one_block_does_not_predict_the_others():
    X = columns()
    r = np.zeros(X.shape[:2])
    r[3] = X[3] @ [2.0, 0.0, 0.0]
    gains = equations(X, r).held_out(GROUPS, GROUPS[0])
    assert (np.delete(gains, 3) < 0).all()


def test_a_block_without_excitation_does_not_count():
    X = columns()
    X[1, :, 0] *= 0.01
    gains = equations(X, X @ [2.0, 0.0, 0.0]).held_out(GROUPS, GROUPS[0])
    assert np.isnan(gains).tolist() == [False, True, False, False, False]
