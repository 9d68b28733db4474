# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from scipy.linalg import sqrtm

from robot_dynamics.codegen.calls import compile_program
from robot_dynamics.core.algorithms.dual_numbers import duals, slope_of, value_of
from robot_dynamics.core.algorithms.symmetric_eigen import (
    functions_of,
    inverse,
    inverse_root,
    symmetric_eigen,
)


def matrices():
    """Return symmetric matrices of many kinds, by name."""
    rng = np.random.default_rng(0)
    J = rng.normal(size=(6, 7))
    twin, wide = J.copy(), J.copy()
    twin[2] = twin[1]
    wide[:3] *= 1e3
    U = np.linalg.qr(J[:, :6])[0]
    return {
        'positive': J @ J.T,
        'singular': twin @ twin.T,
        'of two sizes': wide @ wide.T,
        'close eigenvalues': U @ np.diag([1, 1, 1, 1, 1 + 1e-9, 30.0]) @ U.T,
        'indefinite': J[:, :6] + J[:, :6].T,
        'diagonal': np.diag([3.0, -1.0, 2.0, 2.0, 0.0, 5.0]),
        'zero': np.zeros((6, 6)),
        'five': (J @ J.T)[:5, :5],
        'one': np.array([[-2.0]]),
    }


@pytest.mark.parametrize('sign', [1.0, -1.0])
@pytest.mark.parametrize('A', matrices().values(), ids=matrices())
def test_values_and_vectors_are_those_of_the_matrix(A, sign):
    values, U = map(np.array, symmetric_eigen((sign * A).tolist()))
    size = max(np.abs(A).max(), 1.0)
    np.testing.assert_allclose(U @ np.diag(values) @ U.T, sign * A, rtol=0, atol=2e-14 * size)
    np.testing.assert_allclose(U @ U.T, np.eye(len(A)), rtol=0, atol=2e-14)
    expected = np.linalg.eigvalsh(sign * A)
    np.testing.assert_allclose(np.sort(values), expected, rtol=0, atol=2e-14 * size)


def test_compiles():
    made = compile_program(
        lambda a: tuple(symmetric_eigen([a[3 * k : 3 * k + 3] for k in range(3)])),
        {'a': 9},
        name='eigen',
        key='test of symmetric_eigen',
        outputs=('values', 'vectors'),
    )
    A = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, -1.0]])
    values, U = made(A.reshape(9))
    np.testing.assert_allclose(np.array(U) @ np.diag(values) @ np.array(U).T, A, atol=1e-14)


@pytest.mark.parametrize('name', ['positive', 'singular', 'close eigenvalues', 'zero', 'five'])
def test_functions_and_their_slopes_are_those_of_complex_steps(name):
    """Also where eigenvalues are equal, so that eigenvectors have no derivative."""
    A, rng, shift, h = matrices()[name], np.random.default_rng(1), 0.5, 1e-20
    k = len(A)
    dA, (v, dv, w, dw) = rng.normal(size=(k, k)), rng.normal(size=(4, k))
    dA = dA + dA.T
    moved = A + 1j * h * dA + shift * np.eye(k)
    expected = np.linalg.solve(moved, v + 1j * h * dv)
    root, slope = roots(A + shift * np.eye(k), dA)
    inverted = np.linalg.inv(root)
    by_root = inverted @ w
    by_root_slope = inverted @ (dw - slope @ by_root)

    B = [duals(*rows) for rows in zip(A.tolist(), dA.tolist(), strict=True)]
    eigen = symmetric_eigen(B)
    found = functions_of(
        B,
        eigen,
        inverse(eigen.values, shift, duals(v, dv)),
        inverse_root(eigen.values, shift, duals(w, dw)),
    )
    values, slopes = (np.array([of(x) for x in found]) for of in (value_of, slope_of))
    np.testing.assert_allclose(values, expected.real + by_root, atol=1e-12)
    np.testing.assert_allclose(slopes, expected.imag / h + by_root_slope, atol=1e-11)


def roots(A, dA):
    """Return R with R R = A, and dR with dR R + R dR = dA, from the root of a block matrix."""
    k = len(A)
    both = sqrtm(np.block([[A, dA], [np.zeros((k, k)), A]])).real
    return both[:k, :k], both[:k, k:]
