# SPDX-License-Identifier: Apache-2.0
import pytest

from robot_dynamics.control.joint_reading import StampRateLimit

MS = 1_000_000


def test_it_is_due_once_a_period_of_the_stamps():
    limit = StampRateLimit(250.0)
    assert [k for k in range(10) if limit.is_due(k * MS)] == [0, 4, 8]


def test_stamps_that_go_back_restart_the_limit():
    limit = StampRateLimit(10.0)
    assert limit.is_due(500 * MS)
    assert not limit.is_due(599 * MS)
    assert limit.is_due(20 * MS)
    assert not limit.is_due(119 * MS)
    assert limit.is_due(120 * MS)


@pytest.mark.parametrize('repeat', [False, True])
def test_a_stamp_that_comes_again_is_due_if_it_is_to_be_repeated(repeat):
    limit = StampRateLimit(250.0, repeat)
    found = [limit.is_due(k * MS) for k in (3, 3, 4, 4, 7, 7)]
    assert found == [True, repeat, False, False, True, repeat]


def test_a_rate_of_zero_is_no_limit():
    limit = StampRateLimit(0.0)
    assert all(limit.is_due(7) for _ in range(3))
