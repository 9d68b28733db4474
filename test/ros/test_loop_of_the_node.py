# SPDX-License-Identifier: Apache-2.0
"""The loop without ROS and feedforward_node: the same events give the same bits of torque."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from feedforward_view import MS, Q, Robot, point, trajectory
from trajectory_msgs.msg import JointTrajectory

import robot_dynamics as rd
from robot_dynamics.control import Switches
from robot_dynamics.control.loop_settings import LoopSettings
from robot_dynamics.control.spline import Waypoint

LIMITS = {'ramp_time': 0.03, 'max_torque_rate': [40.0, -1.0], 'max_torque_step': [0.0, 0.9]}
GAINS = {'kp': [100.0, 50.0], 'kd': [10.0, 4.0]}
MEMORY = {
    'friction__law': 'coulomb_memory',
    'friction__viscous': [0.1, 0.2],
    'friction__coulomb': [2.0, 1.0],
}
CASES = {
    'feedforward': {'effort_offset': [0.3, -0.2], 'reference_prediction': 0.5},
    'pd_plus': MEMORY,
    'computed_torque': {'torque_limit_scale': 0.3},
    'gravity_only': {'lead_friction': 0.5, **MEMORY},
    'joint_impedance': {'compensate_gravity': False, 'damping_ratio': [0.6], 'kp': [80.0]},
}
OF_NODE = ('friction', 'compensate', 'damping_ratio', 'kp', 'kd')


def loop_of(node, law, parameters):
    """Return the loop with the parameters of a node."""
    given = {
        name: value
        for name, value in (LIMITS | parameters).items()
        if not name.startswith(OF_NODE)
    }
    settings = LoopSettings(tolerance=0.0, feedback='loop', on_rejected_target='hold', **given)
    gains = GAINS | {name: parameters[name] for name in ('kp', 'kd') if name in parameters}
    if law == 'joint_impedance':
        gains['kd'] = parameters['damping_ratio']
    return rd.ControlLoop(
        node.arm,
        law,
        damping=1.0,
        switches=Switches(gravity=parameters.get('compensate_gravity', True)),
        friction=node.law.friction,
        settings=settings,
        **gains,
    )


@pytest.mark.parametrize('law', CASES)
def test_the_same_events_give_the_same_torques(graph, law):
    parameters = CASES[law]
    robot = Robot(graph, control_law=law, **GAINS | LIMITS | parameters)
    node, publisher = robot.node, graph.publisher(JointTrajectory, 'reference')
    loop, rng, q, torques = loop_of(node, law, parameters), np.random.default_rng(1), Q, []
    for k in range(1, 130):
        target = None
        if law != 'gravity_only' and k > 20 and k % 6 == 0 and k < 80:
            wanted = Q + 0.003 * k * np.sin(0.1 * k + np.arange(2))
            wanted = wanted + (k == 60)  # a jump, which is not followed
            target = Waypoint(wanted, np.array([0.1, -0.2]))
            follower = node.references.follower
            before, counts = follower.motion, dict(node.health.counts)
            publisher.publish(trajectory(point(0.0, wanted[::-1], (-0.2, 0.1))))
            graph.until(
                lambda: follower.motion is not before or dict(node.health.counts) != counts,  # noqa: B023
                'the reference',
            )
        qd = 0.2 * np.sin(0.05 * k + np.arange(2)) + 0.01 * rng.standard_normal(2)
        q = q + 0.002 * qd
        torques.append(robot.torque(2 * k * MS, q, qd))
        command = loop.command(2e-3 * k, q, qd, target)
        np.testing.assert_array_equal(command.tau, torques[-1])
    assert not loop.fault
    if law != 'gravity_only':
        assert loop.counts['target rejected'] == 1
    assert np.abs(np.diff(torques, axis=0)).max(axis=0).min() > 0
