# SPDX-License-Identifier: Apache-2.0
"""The convex problem: maps of parameters, its minimum, and physical consistency."""

import subprocess
import sys

import numpy as np
import pytest
from definite import is_definite

from robot_dynamics.core.model.inertia import (
    Inertial,
    from_parameters,
    pseudo_inertia,
    to_parameters,
)
from robot_dynamics.core.model.robots import random_inertial
from robot_dynamics.identification.estimation.pseudo_inertia import (
    bodies,
    closest_consistent,
    divergence_curvature,
    from_pseudo_inertia,
    to_pseudo_inertia,
)
from robot_dynamics.identification.estimation.solver import SolverError, single_thread, solver

RNG = np.random.default_rng


def some_bodies(number=3, seed=0):
    rng = RNG(seed)
    return np.array([to_parameters(random_inertial(rng)) for _ in range(number)])


def test_the_pseudo_inertia_is_that_of_the_model():
    body = random_inertial(RNG(1))
    J = to_pseudo_inertia(to_parameters(body))
    assert pseudo_inertia(body) == pytest.approx(J, rel=1e-12)
    assert from_pseudo_inertia(J) == pytest.approx(to_parameters(body), rel=1e-12)


def test_the_unit_matrix_is_the_description():
    theta = some_bodies()
    scaled = bodies(theta, np.zeros_like(theta))
    unit = np.tile(np.eye(4), (3, 1, 1))
    np.testing.assert_allclose(scaled.theta(unit), theta.ravel(), rtol=1e-9, atol=1e-12)


def test_without_rows_the_description_is_kept():
    theta = some_bodies()
    scaled = bodies(theta, np.zeros_like(theta))
    A, b = np.zeros((1, 31)), np.zeros(1)
    X, _ = closest_consistent(A, b, scaled, np.zeros(1), 1.0)
    np.testing.assert_allclose(X, np.tile(np.eye(4), (3, 1, 1)), atol=1e-4)


def test_consistent_parameters_are_recovered():
    theta, true = some_bodies(seed=0), some_bodies(seed=1)
    scaled = bodies(theta, np.zeros_like(theta))
    A = RNG(2).normal(size=(300, 32))
    rest = np.array([0.7, -0.4])
    b = A @ np.concatenate([true.ravel(), rest])
    X, found = closest_consistent(1e6 * A, 1e6 * b, scaled, np.array([0.0, -np.inf]), 1.0)
    np.testing.assert_allclose(scaled.theta(X), true.ravel(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found, rest, rtol=1e-4)


def test_inconsistent_data_leave_consistent_bodies_and_bounds():
    theta = some_bodies()
    wrong = theta.copy()
    wrong[:, 0] *= -1  # negative masses
    wrong[:, 4] *= 10  # triangle inequality
    scaled = bodies(theta, np.zeros_like(theta))
    A = RNG(3).normal(size=(200, 31))
    b = A @ np.concatenate([wrong.ravel(), [-2.0]])
    X, rest = closest_consistent(100 * A, 100 * b, scaled, np.zeros(1), 1.0)
    for parameters in scaled.theta(X).reshape(-1, 10):
        assert is_definite(from_parameters(parameters))
    assert rest[0] == 0.0


def test_what_the_rows_hardly_tell_keeps_its_bound():
    theta = some_bodies(number=1)
    scaled = bodies(theta, np.zeros_like(theta))
    A = np.hstack([RNG(2).normal(size=(300, 10)), np.full((300, 1), 1e-6)])
    b = A @ np.append(theta, -1.0)  # below the bound, as a drive gain of noise may be
    _, rest = closest_consistent(A, b, scaled, np.array([0.05]), 1.0)
    assert rest == [0.05]


def test_the_minimum_is_stationary():
    theta = some_bodies(number=2)
    scaled = bodies(theta, np.zeros_like(theta))
    rng = RNG(4)
    A, b = 3 * rng.normal(size=(60, 20)), rng.normal(size=60)
    X, _ = closest_consistent(A, b, scaled, np.zeros(0), 1.0)

    def objective(X):
        _, log = np.linalg.slogdet(X)
        divergence = (np.trace(X, axis1=1, axis2=2) - log).sum()
        return ((A @ scaled.theta(X) - b) ** 2).sum() + divergence

    least = objective(X)
    for _ in range(30):
        step = rng.normal(size=X.shape)
        root = np.linalg.cholesky(X)
        near = X + 1e-2 * root @ (step + np.swapaxes(step, 1, 2)) @ np.swapaxes(root, 1, 2)
        assert objective(near) > least


def test_other_links_of_a_body_are_kept():
    theta, kept = some_bodies(seed=0), 0.3 * some_bodies(seed=0)
    scaled = bodies(theta, kept)
    A, b = np.zeros((1, 30)), np.zeros(1)
    X, _ = closest_consistent(A, b, scaled, np.zeros(0), 1.0)
    np.testing.assert_allclose(scaled.theta(X), theta.ravel(), rtol=1e-3, atol=1e-6)


def test_point_masses_and_massless_bodies_are_given_an_extent():
    theta = some_bodies()
    theta[0] = to_parameters(Inertial(2.0, np.array([0.1, 0.0, 0.2])))
    theta[1] = 0.0
    scaled = bodies(theta, np.zeros_like(theta))
    unit = np.tile(np.eye(4), (3, 1, 1))
    for parameters in scaled.theta(unit).reshape(-1, 10):
        assert is_definite(from_parameters(parameters))
    assert scaled.theta(unit)[:4] == pytest.approx(theta[0, :4])


def test_the_curvature_is_the_second_derivative():
    rng = RNG(5)
    root = np.eye(4) + 0.2 * rng.normal(size=(4, 4))
    X, upper = root @ root.T, np.triu_indices(4)

    def minus_log(change):
        E = np.zeros((4, 4))
        E[upper] = change
        return -np.linalg.slogdet(X + E + np.triu(E, 1).T)[1]

    h, unit = 1e-4, np.eye(10)
    curvature = divergence_curvature(X[None])[0]
    for k in range(10):
        for m in range(10):
            a, c = h * unit[k], h * unit[m]
            second = minus_log(a + c) - minus_log(a - c) - minus_log(c - a) + minus_log(-a - c)
            scale = np.abs(curvature).max()
            assert second / (4 * h * h) == pytest.approx(curvature[k, m], abs=1e-5 * scale)


WITHOUT = """
import sys
sys.modules['cvxpy'] = None
import numpy as np
import robot_dynamics.identification.estimation.estimation, robot_dynamics.cli.identify
from robot_dynamics.identification.estimation.pseudo_inertia import bodies, closest_consistent
theta = np.array([[1.0, 0, 0, 0, 1, 0, 0, 1, 0, 1]])
try:
    closest_consistent(np.zeros((1, 10)), np.zeros(1), bodies(theta, 0 * theta), np.zeros(0), 1.0)
except Exception as error:
    print(type(error).__name__, error)
assert 'clarabel' not in sys.modules
"""


def test_the_solver_is_imported_for_the_solution_alone():
    result = subprocess.run([sys.executable, '-c', WITHOUT], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith('SolverError identification needs cvxpy, which cannot be')
    assert "pip install '.[identify]'" in result.stdout


@pytest.mark.parametrize('package', ['cvxpy', 'clarabel', 'threadpoolctl'])
def test_a_missing_package_is_named(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    message = rf'^identification needs {package}, which cannot be imported \(.*{package}.*\): pip'
    with pytest.raises(SolverError, match=message), single_thread():
        solver()
