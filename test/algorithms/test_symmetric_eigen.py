# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.algorithms.symmetric_eigen import symmetric_eigen
from robot_dynamics.codegen.calls import compile_program


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
