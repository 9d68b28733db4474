# SPDX-License-Identifier: Apache-2.0
"""Settings of feedforward_node: each parameter in its own field, each value at its own joint."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from robot_dynamics.common.resources import share_file
from robot_dynamics.control import LAWS
from robot_dynamics.ros.feedforward_parameters import FeedforwardParameters
from robot_dynamics.ros.parameters import snapshot
from robot_dynamics.urdf.loading import load_urdf

MODEL = load_urdf(share_file('urdf/planar_2r.urdf'))
# The values of the lists are in the order of `joints`, which is not that of the model.
GIVEN = {
    'joints': ['joint2', 'joint1'],
    'control_law': 'pd_plus',
    'kp': [1.0, 2.0],
    'kd': [3.0, 4.0],
    'start_tolerance': [0.05, 0.06],
    'constraints.trajectory': [0.07, 0.08],
    'constraints.goal': [0.09, 0.1],
    'constraints.stopped_velocity_tolerance': 0.11,
    'constraints.goal_time': 0.12,
    'torque_limit_scale': 0.5,
    'max_torque_rate': [13.0, -1.0],
    'ramp_time': 0.14,
    'effort_offset': [-15.0, 16.0],
    'effort_scale': [-0.2, 4.0],
    'command_unit': 'effort',
    'max_command': [17.0, 1.5],
}


def test_every_parameter_has_its_field_and_every_value_its_joint():
    found = snapshot(FeedforwardParameters, GIVEN).settings(MODEL)
    rows = {
        'kp': found.gains.kp,
        'kd': found.gains.kd,
        'start_tolerance': found.start_tolerance,
        'constraints.trajectory': found.tolerances.path,
        'constraints.goal': found.tolerances.goal,
        'effort_offset': found.offset,
    }
    for name, row in rows.items():
        assert list(row) == GIVEN[name][::-1]
    assert found.law is LAWS['pd_plus']
    assert found.tolerances.stopped_velocity == 0.11
    assert found.tolerances.goal_time == 0.12
    assert found.limits.ramp_time == 0.14
    assert found.order == [1, 0]
    effort = MODEL.effort_limit
    # A negative rate is that of the effort limit in 0.1 s.
    np.testing.assert_allclose(found.limits.rate, [effort[0] / 0.1, 13.0])
    np.testing.assert_allclose(found.per_torque, [1 / 4.0, 1 / -0.2])
    # |tau / effort_scale| <= max_command, or half of the effort limit.
    np.testing.assert_allclose(
        found.limits.effort, np.minimum(0.5 * effort, [1.5 * 4.0, 17.0 * 0.2])
    )


@pytest.mark.parametrize('part', ['gravity', 'coriolis', 'inertia', 'friction'])
def test_every_switch_switches_its_own_part(part):
    switches = snapshot(FeedforwardParameters, {f'compensate_{part}': False}).settings(MODEL)[2]
    off = [name for name in vars(switches) if not getattr(switches, name)]
    assert off == [part]


def test_limits_of_commands_never_widen_those_of_the_description():
    wide = {'max_command': [1e6], 'torque_limit_scale': 1.0}
    found = snapshot(FeedforwardParameters, wide).settings(MODEL)
    np.testing.assert_array_equal(found.limits.effort, MODEL.effort_limit)
