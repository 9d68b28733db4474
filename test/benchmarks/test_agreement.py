# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from benchmarks.agreement import TOLERANCE, Disagreement, check, relative_error, tolerance


def test_the_error_is_relative_to_the_largest_entry_of_each_result():
    wanted = [np.array([100.0, 1.0]), np.array([1.0])]
    found = [np.array([100.0, 2.0]), np.array([1.5])]
    assert relative_error(found[:1], wanted[:1]) == pytest.approx(0.01)
    assert relative_error(found, wanted) == pytest.approx(0.5)


def test_nan_is_an_infinite_error():
    assert relative_error([np.array([np.nan])], [np.array([1.0])]) == np.inf
    with pytest.raises(Disagreement, match='mine'):
        check('mine', float('nan'), 1.0)


def test_different_shapes_are_a_disagreement():
    with pytest.raises(Disagreement, match=r'\(2,\).*\(1, 2\)'):
        relative_error([np.zeros(2)], [np.zeros((1, 2))])


def test_the_tolerance_of_forward_dynamics_grows_with_the_condition_number():
    stiff = np.diag([1.0, 1e-7])
    assert tolerance('inverse_dynamics', stiff) == TOLERANCE
    assert tolerance('forward_dynamics', np.eye(2)) == TOLERANCE
    assert tolerance('forward_dynamics', stiff) == pytest.approx(1e3 * TOLERANCE)


def test_a_disagreement_names_the_side_and_the_error():
    check('mine', 1e-12, 1e-10)
    with pytest.raises(Disagreement, match=r'mine differs by 2\.0e-10, allowed is 1\.0e-10'):
        check('mine', 2e-10, 1e-10)
