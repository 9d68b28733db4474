# SPDX-License-Identifier: Apache-2.0
"""The benchmark of the loop without ROS measures what it says."""

from benchmarks.control_loop import measured


def test_every_call_is_measured_without_a_fault():
    found = measured(100)
    assert set(found) == {
        *('a state, held', 'a state in a stream', 'a state and a target'),
        'inverse_dynamics',
    }
    assert min(found.values()) > 0
