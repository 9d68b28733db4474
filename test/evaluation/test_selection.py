# SPDX-License-Identifier: Apache-2.0
"""Regression with groups of unknowns: probabilities, choice, and omitted blocks of time."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from robot_dynamics.evaluation.selection import Regression

BLOCKS, LENGTH, UNKNOWNS = 5, 40, 4
GROUPS = ([0], [1, 2], [3])
PRIOR = np.array([3.0, 0.5, 10.0, 2.0])
PRICE = np.array([2.0, 3.0, 4.0])
SIGMA = 0.3
RNG = np.random.default_rng


def columns(seed=0):
    return RNG(seed).normal(size=(BLOCKS, LENGTH, UNKNOWNS)) * [1.0, 5.0, 0.2, 1.0]


def residual(X, x, seed=1):
    return X @ x + SIGMA * RNG(seed).normal(size=X.shape[:2])


def regression(X, r, exclusive=None):
    W = 1 / SIGMA**2
    of_noise = -0.5 * W * (r**2).sum() - r.size * np.log(SIGMA * np.sqrt(2 * np.pi))
    return Regression(
        W * np.einsum('bki,bkj->bij', X, X),
        W * np.einsum('bki,bk->bi', X, r),
        of_noise,
        PRIOR,
        GROUPS,
        PRICE,
        np.eye(len(GROUPS), dtype=bool) if exclusive is None else exclusive,
    )


@pytest.mark.parametrize('least', [-0.5, -2.0, -1e6])
def test_no_variance_is_negative_or_beyond_its_prior_where_noise_of_columns_exceeds_them(least):
    """Products of which more than themselves was subtracted have eigenvalues below zero."""
    V = np.linalg.qr(RNG(3).normal(size=(UNKNOWNS, UNKNOWNS)))[0]
    A = (V * [1e8, 10.0, 0.0, least]) @ V.T / np.outer(PRIOR, PRIOR)
    b = RNG(4).normal(size=UNKNOWNS)
    blocks = np.full(BLOCKS, 1 / BLOCKS)
    exclusive = np.eye(len(GROUPS), dtype=bool)
    one = Regression(
        blocks[:, None, None] * A, blocks[:, None] * b, 0.0, PRIOR, GROUPS, PRICE, exclusive
    )
    every = range(len(GROUPS))
    for chosen in ([0], [1], [2], [0, 1], [0, 1, 2]):
        at = unknowns(chosen)
        variance = one.solution(chosen).covariance.diagonal()[at]
        assert (variance > 0).all()
        assert (variance <= PRIOR[at] ** 2 * (1 + 1e-9)).all()
        # The price of unknowns is never a gift: without data the probability does not rise.
        without = Regression(A[None], 0 * b[None], 0.0, PRIOR, GROUPS, 0 * PRICE, exclusive)
        assert without.log_probability(chosen) <= 1e-9
        assert np.nan_to_num(without.gains([], every), neginf=-1.0).max() <= 1e-9
        assert np.isfinite(one.held_out(chosen, chosen[0])).any()


def unknowns(chosen):
    return [unknown for g in chosen for unknown in GROUPS[g]]


@pytest.mark.parametrize('chosen', [[], [0], [1], [0, 1], [2, 1, 0]])
def test_the_probability_is_that_of_the_residual_with_unknowns_from_their_prior(chosen):
    X = columns()
    r = residual(X, [2.0, -0.3, 4.0, 0.0])
    at = unknowns(chosen)
    flat = X.reshape(-1, UNKNOWNS)[:, at]
    covariance = SIGMA**2 * np.eye(r.size) + (flat * PRIOR[at] ** 2) @ flat.T
    wanted = multivariate_normal(cov=covariance).logpdf(r.ravel()) - PRICE[chosen].sum()
    assert regression(X, r).log_probability(chosen) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize('chosen', range(len(GROUPS)))
def test_gains_are_differences_of_the_probability(chosen):
    X = columns()
    one = regression(X, residual(X, [0.0, -0.3, 4.0, 0.05]))
    others = [g for g in range(len(GROUPS)) if g != chosen]
    gains = one.gains([chosen], others)
    for g in others:
        wanted = one.log_probability([chosen, g]) - one.log_probability([chosen])
        assert gains[g] == pytest.approx(wanted, rel=1e-9)
    assert gains[chosen] == -np.inf


@pytest.mark.parametrize('wanted', [[], [0], [1], [0, 2], [0, 1, 2]])
def test_the_groups_of_the_residual_are_chosen(wanted):
    X = columns()
    x = np.zeros(UNKNOWNS)
    x[unknowns(wanted)] = np.array([1.0, -0.2, 5.0, 0.7])[unknowns(wanted)]
    one = regression(X, residual(X, x))
    chosen = one.select(range(len(GROUPS)))
    assert sorted(chosen) == wanted
    found = one.solution(chosen)
    errors = np.sqrt(found.covariance.diagonal())
    assert (np.abs(found.x - x) <= 4 * errors).all()
    assert found.x[~np.isin(np.arange(UNKNOWNS), unknowns(wanted))].tolist() == [0.0] * (
        UNKNOWNS - len(unknowns(wanted))
    )


def test_a_group_that_explains_two_others_is_exchanged():
    """The sum of two columns is the best single one, and not needed once both are chosen."""
    X = columns()
    X[..., 0] = X[..., 3] + X[..., 1] / 5 + 0.4 * X[..., 0]
    r = residual(X, [0.0, 0.2, 0.0, 1.0])
    one = regression(X, r)
    assert np.argmax(one.gains([], range(3))) == 0
    assert sorted(one.select(range(3))) == [1, 2]


def test_exclusive_groups_are_not_chosen_together():
    X = columns()
    exclusive = np.eye(3, dtype=bool)
    exclusive[0, 2] = exclusive[2, 0] = True
    one = regression(X, residual(X, [1.0, 0.0, 0.0, 0.7]), exclusive)
    assert one.select(range(3)) == [0]


def test_given_groups_take_part_in_the_choice_and_stay():
    X = columns()
    X[..., 3] = X[..., 0] + 0.05 * X[..., 3]
    one = regression(X, residual(X, [1.0, -0.2, 5.0, 0.0]))
    assert sorted(one.select([1, 2])) == [1, 2]
    assert one.select([1, 2], given=[0]) == [1]


def squares(X, r, at, k):
    """Return the weighted squares that a fit of all blocks but k leaves in block k."""
    others = np.arange(BLOCKS) != k
    A = np.vstack([X[others][..., at].reshape(-1, len(at)) / SIGMA, np.diag(1 / PRIOR[at])])
    x = np.linalg.lstsq(A, np.append(r[others].ravel() / SIGMA, np.zeros(len(at))), rcond=None)[0]
    return ((r[k] - X[k][:, at] @ x) ** 2).sum() / SIGMA**2


@pytest.mark.parametrize('group', [0, 1])
def test_gains_of_omitted_blocks_are_those_of_least_squares_without_the_block(group):
    X = columns()
    r = residual(X, [2.0, -0.3, 4.0, 0.0])
    gains = regression(X, r).held_out([0, 1], group)
    rest = unknowns([1 - group])
    wanted = [squares(X, r, rest, k) - squares(X, r, [0, 1, 2], k) for k in range(BLOCKS)]
    assert np.allclose(gains, wanted)
    assert (gains > 0).all()


def test_given_groups_of_omitted_blocks_stay_as_a_fit_of_all_blocks_has_them():
    X = columns()
    r = residual(X, [2.0, -0.3, 4.0, 0.5])
    one = regression(X, r)
    x = one.solution([0, 1, 2]).x * [0, 0, 0, 1]
    wanted = regression(X, r - X @ x).held_out([0, 1], 0)
    assert np.allclose(one.held_out([0, 1], 0, [2]), wanted)
    assert not np.allclose(one.held_out([0, 1], 0), wanted)


def test_a_cause_of_one_block_does_not_predict_the_others():
    X = columns()
    r = np.zeros(X.shape[:2])
    r[3] = X[3] @ [2.0, 0.0, 0.0, 0.0]
    gains = regression(X, r).held_out([0, 1], 0)
    assert (np.delete(gains, 3) < 0).all()


def test_a_block_without_excitation_does_not_count():
    X = columns()
    X[1, :, 0] *= 0.01
    gains = regression(X, X @ [2.0, 0.0, 0.0, 0.0]).held_out([0, 1], 0)
    assert np.isnan(gains).tolist() == [False, True, False, False, False]
