# SPDX-License-Identifier: Apache-2.0
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from feedforward_view import MOVE, MS, Q, Robot, close, point, sentence, trajectory
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.transitions import SHORTEST_STOP
from robot_dynamics.ros import messages
from robot_dynamics.ros.nodes.feedforward_parts import reference_input


def test_without_a_reference_gravity_is_compensated_and_the_arm_held(graph, elbow):
    robot = Robot(graph, kp=[100.0, 50.0], kd=[10.0])
    close(robot.torque(1 * MS), elbow.gravity_torque(Q))
    q, qd = np.array([0.11, 0.17]), np.array([0.4, -0.5])
    expected = (
        elbow.gravity_torque(q)
        + elbow.coriolis_torque(q, qd)
        + np.array([100, 50]) * (Q - q)
        + 10 * (0 - qd)
    )
    close(robot.torque(2 * MS, q, qd), expected)


def test_a_trajectory_is_sampled_by_the_stamps_of_the_states(graph, elbow):
    robot = Robot(graph, kp=[100.0], kd=[10.0])
    robot.torque(500 * MS)
    robot.follow(trajectory(*MOVE))
    robot.torque(600 * MS)  # here it starts
    wanted = messages.trajectory(trajectory(*MOVE)).in_order(('shoulder', 'elbow'))
    for t in (0.05, 0.1, 0.15):
        reference = wanted.sample(t)
        q, qd = reference.q + np.array([0.01, -0.02]), reference.qd + 0.1
        expected = (
            elbow.inverse_dynamics(q, qd, reference.qdd)
            + elbow.friction_torque(reference.qd)
            + 100 * (reference.q - q)
            + 10 * (reference.qd - qd)
        )
        close(robot.torque(round(600 * MS + t * 1e9), q, qd), expected)


def test_each_switch_takes_its_term_away_while_running(graph, elbow):
    robot = Robot(graph)
    robot.torque(0)
    robot.follow(trajectory(*MOVE))
    robot.torque(1 * MS)
    wanted = messages.trajectory(trajectory(*MOVE)).in_order(('shoulder', 'elbow'))
    qd = np.array([0.5, -0.7])
    for k, name in enumerate(('gravity', 'coriolis', 'inertia', 'friction')):
        stamp = (20 + k) * MS
        reference = wanted.sample(stamp / 1e9 - 1e-3)
        terms = {
            'gravity': elbow.gravity_torque(Q),
            'coriolis': elbow.coriolis_torque(Q, qd),
            'inertia': elbow.mass_matrix(Q) @ reference.qdd,
            'friction': elbow.friction_torque(reference.qd),
        }
        assert np.abs(terms[name]).min() > 1e-3
        switch = f'compensate_{name}'
        assert robot.node.set_parameters([Parameter(switch, value=False)])[0].successful
        close(robot.torque(stamp, Q, qd), sum(terms.values()) - terms[name])
        robot.node.set_parameters([Parameter(switch, value=True)])


def test_the_end_is_held(graph, elbow):
    robot = Robot(graph, kp=[100.0])
    robot.torque(0)
    robot.follow(trajectory(point(0.0, (0.2, 0.1)), point(0.05, (0.25, 0.1))))
    robot.torque(1 * MS)
    end = np.array([0.1, 0.25])
    close(robot.torque(100 * MS, end), elbow.gravity_torque(end))
    robot.wait_for_status('holding')
    close(robot.torque(101 * MS), elbow.gravity_torque(Q) + 100 * (end - Q))


NAN = float('nan')


@pytest.mark.slow
@pytest.mark.parametrize(
    ('bad', 'why'),
    [
        (trajectory(point(0.0, (0.2, NAN)), point(1.0, (0.2, 0.1))), "'shoulder', is nan"),
        (trajectory(point(0.0, (0.2, 0.1)), point(1.0, (0.2, 0.1), (0.0, NAN))), 'velocities'),
        (trajectory(*MOVE, names=('elbow', 'hip')), "has unknown joint 'hip'"),
        (trajectory(*MOVE, names=('elbow', 'elbow')), 'twice'),
        (trajectory(point(0.0, (0.2, 0.1, 0.0))), '3 values for 2 joints'),
        (trajectory(point(0.0, (0.2, 0.1), (0.0,))), '1 values for 2 joints'),
        (trajectory(MOVE[0], MOVE[2], MOVE[1]), 'point 2 is 1.0 s, after 2.0 s of point 1'),
        (trajectory(MOVE[1], MOVE[1]), 'times must increase'),
        (trajectory(point(0.0, (0.2, 0.35)), point(1.0, (0.2, 0.1))), 'begins at 0.35'),
        (trajectory(MOVE[0], point(1.0, (0.2, 3.5))), "'shoulder' goes up to 3.5"),
        (trajectory(MOVE[0], point(0.01, (0.6, 0.1))), 'reaches the velocity'),
        (trajectory(MOVE[0], point(1.0, (0.2, 0.1), (1.0, 0.0))), 'must be at rest'),
        (trajectory(*MOVE, stamp=10**18), 'the same clock'),
    ],
)  # fmt: skip
def test_a_rejected_trajectory_is_reported_and_the_motion_continues(graph, elbow, bad, why):
    robot = Robot(graph, kp=[100.0], kd=[10.0])
    robot.torque(0)
    robot.follow(trajectory(*MOVE))
    robot.torque(1 * MS)
    wanted = messages.trajectory(trajectory(*MOVE)).in_order(('shoulder', 'elbow'))
    robot.trajectories.publish(bad)
    robot.wait_for_status(why)
    assert robot.status[-1].message == 'rejected'
    assert sentence(robot.status[-1]).startswith('trajectory rejected: ')
    assert sentence(robot.status[-1]).endswith('following a trajectory of 2 s')
    reference = wanted.sample(0.01)
    expected = elbow.inverse_dynamics(reference.q, reference.qd, reference.qdd)
    close(
        robot.torque(11 * MS, reference.q, reference.qd),
        expected + elbow.friction_torque(reference.qd),
    )
    assert robot.node.health.counts['trajectory rejected'] == 1
    assert len(robot.filled) == 1


PARTIAL = trajectory(point(0.3, (0.25,), (0.0,)), names=('elbow',))


def test_a_trajectory_of_some_joints_moves_those_while_the_others_end_their_motion(graph, elbow):
    robot = Robot(graph, kp=[100.0])
    robot.torque(0)
    robot.follow(trajectory(*MOVE))
    whole = messages.trajectory(trajectory(*MOVE)).in_order(('shoulder', 'elbow'))
    robot.torque(1 * MS)
    robot.torque(51 * MS, whole.sample(0.05).q)
    robot.trajectories.publish(PARTIAL)
    robot.wait_for_status('following a trajectory of 0.3 s')
    graph.until(lambda: len(robot.filled) == 2, 'the efforts')
    assert robot.filled[1].joint_names == ['shoulder', 'elbow']
    assert len(robot.filled[1].points[0].effort) == 2
    robot.torque(52 * MS, whole.sample(0.051).q)  # here it starts
    for k in range(60, 360, 20):
        robot.torque(k * MS, robot.node.references.follower.present.q)
    for k in range(361, 1901, 77):
        q_d, qd_d, qdd_d = whole.sample(k / 1e3 - 1e-3)
        q_d[1], qd_d[1], qdd_d[1] = 0.25, 0.0, 0.0
        tau = elbow.inverse_dynamics(q_d, np.zeros(2), qdd_d) + elbow.friction_torque(qd_d)
        close(robot.torque(k * MS, q_d), tau)


def test_trajectories_of_some_joints_are_rejected_on_request(graph):
    robot = Robot(graph, allow_partial_joints_goal=False)
    robot.torque(0)
    robot.trajectories.publish(PARTIAL)
    robot.wait_for_status("trajectory rejected: the trajectory lacks joint 'shoulder'")
    assert not robot.node.references.follower.moving


@pytest.mark.parametrize('way', ['empty trajectory', 'service'])
def test_a_motion_is_cancelled_by_a_deceleration(graph, elbow, way):
    robot = Robot(graph, kp=[100.0])
    robot.torque(0)
    robot.follow(trajectory(*MOVE))
    wanted = messages.trajectory(trajectory(*MOVE)).in_order(('shoulder', 'elbow'))
    for k in range(1, 402, 50):
        robot.torque(k * MS, wanted.sample((k - 1) / 1e3).q)
    # A trajectory that is pending is cancelled as well.
    robot.trajectories.publish(trajectory(*MOVE, stamp=2001 * MS))
    robot.wait_for_status(', then a trajectory')
    if way == 'service':
        answer = graph.call(Trigger, 'feedforward_node/stop')
        assert (answer.success, answer.message) == (True, 'stopping')
    else:
        robot.trajectories.publish(trajectory())
    robot.wait_for_status('stopping')
    q, qd, _ = wanted.sample(0.4)
    s = 0.1
    at, speed = q + qd * s * (1 - s / (2 * SHORTEST_STOP)), qd * (1 - s / SHORTEST_STOP)
    tau = elbow.inverse_dynamics(at, np.zeros(2), -qd / SHORTEST_STOP)
    robot.torque(451 * MS, at)
    close(robot.torque(501 * MS, at), tau + elbow.friction_torque(speed))
    end = q + qd * SHORTEST_STOP / 2
    for k in (581, 661):
        robot.torque(k * MS, end)
    close(robot.torque(662 * MS, end), elbow.gravity_torque(end))
    robot.wait_for_status('holding')
    answer = graph.call(Trigger, 'feedforward_node/stop')
    assert (answer.success, answer.message) == (True, 'holding')


def test_an_inactive_node_has_nothing_to_stop(graph):
    robot = Robot(graph)
    robot.node.trigger_deactivate()
    answer = graph.call(Trigger, 'feedforward_node/stop')
    assert (answer.success, answer.message) == (False, 'the node is inactive')


def test_a_trajectory_before_any_state_is_rejected(graph):
    robot = Robot(graph)
    robot.trajectories.publish(trajectory(*MOVE))
    robot.wait_for_status('no joint state of the whole robot')
    robot.torque(1 * MS)
    assert len(robot.torques) == 1  # and none before the state


def test_efforts_are_filled_in_for_another_controller(graph, elbow):
    robot = Robot(graph, start_enabled=False)
    robot.send(0)
    graph.until(lambda: robot.node.health.inputs, 'the state')
    points = [point(t, (0.2, 0.1), accelerations=[2.0, 1.0]) for t in (0.0, 1.0)]
    robot.trajectories.publish(trajectory(*points))
    graph.until(lambda: robot.filled, 'the filled trajectory')
    robot.wait_for_status('disabled')
    tau = elbow.inverse_dynamics(Q, np.zeros(2), np.array([1.0, 2.0]))
    assert robot.filled[0].joint_names == ['shoulder', 'elbow']
    for filled, given in zip(robot.filled[0].points, points, strict=True):
        close(filled.effort, tau)
        assert filled.positions == given.positions[::-1]
        assert filled.time_from_start == given.time_from_start
    robot.send(1 * MS)
    graph.drain()
    assert not robot.torques


@pytest.mark.parametrize('side', [1, -1])
def test_efforts_of_a_part_are_filled_in_for_all_joints(graph, elbow, side):
    robot = Robot(graph, start_enabled=False)
    q = side * Q
    robot.send(0, q)
    graph.until(lambda: robot.node.health.inputs, 'the state')
    end = point(0.3, (side * 0.25,), (0.0,), accelerations=[3.0])
    robot.trajectories.publish(trajectory(end, names=('elbow',)))
    graph.until(lambda: robot.filled, 'the filled trajectory')
    message = robot.filled[0]
    assert message.joint_names == ['shoulder', 'elbow']
    filled = message.points[0]
    # The shoulder stays where it is, with the torque against gravity and for the elbow's motion.
    goal = np.array([q[0], side * 0.25])
    close(filled.positions, goal)
    close(filled.velocities, [0.0, 0.0])
    close(filled.effort, elbow.inverse_dynamics(goal, np.zeros(2), np.array([0.0, 3.0])))


@pytest.mark.parametrize('side', [1, -1])
def test_filled_in_efforts_are_those_of_the_friction_and_offset_of_the_parameters(
    graph, elbow, side
):
    robot = Robot(
        graph,
        start_enabled=False,
        friction__viscous=[3.0, 5.0],
        friction__coulomb=[0.5, 0.25],
        effort_offset=[7.0, 11.0],
    )
    robot.send(0, 0 * Q)
    graph.until(lambda: robot.node.health.inputs, 'the state')
    speed = side * np.array([0.2, -0.3])
    rows = [(0.0, 0 * speed), (0.5, speed), (1.0, 0 * speed)]  # shoulder, elbow
    points = [point(t, (0.0, 0.0), qd[::-1].tolist(), accelerations=[0.0, 0.0]) for t, qd in rows]
    robot.trajectories.publish(trajectory(*points))
    graph.until(lambda: robot.filled, 'the filled trajectory')
    friction = np.array([3.0, 5.0]) * speed + np.array([0.5, 0.25]) * np.sign(speed)
    tau = elbow.inverse_dynamics(np.zeros(2), speed, np.zeros(2)) + friction + [7.0, 11.0]
    close(robot.filled[0].points[1].effort, tau)


def test_time_running_backwards_drops_the_trajectory_and_holds(graph, elbow):
    robot = Robot(graph, kp=[100.0])
    robot.torque(1000 * MS)
    robot.follow(trajectory(*MOVE))
    robot.torque(1001 * MS)
    q = np.array([0.15, 0.1])
    close(robot.torque(5 * MS, q), elbow.gravity_torque(q))
    robot.wait_for_status('holding')
    assert 'went back from 1.001 s to 0.005 s' in sentence(robot.status[-1])
    close(robot.torque(6 * MS), elbow.gravity_torque(Q) + 100 * (q - Q))


def test_a_stream_of_references(graph, elbow):
    robot = Robot(graph, kp=[100.0], kd=[10.0])
    references = graph.publisher(JointTrajectory, 'reference')
    robot.torque(0)
    references.publish(trajectory(point(0.0, Q[::-1]), stamp=1))
    graph.until(lambda: robot.node.references.follower.moving, 'the stream')
    robot.torque(60 * MS)  # it is joined
    wanted = point(0.0, (0.25, 0.12), (0.3, 0.4), accelerations=[2.0, 1.0])
    references.publish(trajectory(wanted, stamp=60 * MS))
    follower = robot.node.references.follower
    graph.until(lambda: follower.received == 60 * MS, 'the second reference')
    q_d, qd_d, qdd_d = np.array([0.12, 0.25]), np.array([0.4, 0.3]), np.array([1.0, 2.0])
    expected = (
        elbow.inverse_dynamics(Q, np.zeros(2), qdd_d)
        + elbow.friction_torque(qd_d)
        + 100 * (q_d - Q)
        + 10 * qd_d
    )
    close(robot.torque(160 * MS), expected)
    # Silence: it decelerates, from the velocity it had.
    braking = elbow.inverse_dynamics(Q, np.zeros(2), -qd_d / SHORTEST_STOP)
    expected += braking - elbow.inverse_dynamics(Q, np.zeros(2), qdd_d)
    close(robot.torque(161 * MS), expected)
    robot.wait_for_status('the stream of references has stopped; stopping')
    q_d = q_d + qd_d * SHORTEST_STOP / 2
    robot.torque(260 * MS)
    robot.torque(360 * MS)
    close(robot.torque(412 * MS), elbow.gravity_torque(Q) + 100 * (q_d - Q))
    robot.wait_for_status('holding')
    for bad in (trajectory(wanted, wanted), trajectory(point(0.0, (1.0, 0.1)))):
        references.publish(bad)
    graph.until(lambda: robot.node.health.counts['reference rejected'] == 2, 'two refusals')
    robot.wait_for_status('reference rejected: a reference has 2 points')
    references.publish(trajectory(point(0.0, (0.2, 0.1), (0.0, 1e3))))
    graph.until(lambda: robot.node.health.counts['reference rejected'] == 3, 'the refusal')
    assert not robot.node.references.follower.moving
    references.publish(trajectory(point(0.0, (q_d[1], q_d[0]))))
    graph.until(lambda: robot.node.references.follower.moving, 'the stream')
    references.publish(trajectory(point(0.0, (q_d[1], q_d[0]), (0.0, 1e3))))
    robot.wait_for_status("the velocity of joint 'shoulder' is 1000; its limit is 5")


@pytest.mark.parametrize('side', [1, -1], ids=['', 'mirrored'])
@pytest.mark.parametrize('stamped', [True, False], ids=['stamped', 'unstamped'])
def test_references_that_alternate_are_rejected_and_counted(graph, side, stamped, monkeypatch):
    arrivals = SimpleNamespace(monotonic_ns=count(0, MS).__next__)
    monkeypatch.setattr(reference_input, 'time', arrivals)
    robot = Robot(graph, reference_shortest_period=1e-5)
    references = graph.publisher(JointTrajectory, 'reference')
    robot.torque(0)
    follower, counts = robot.node.references.follower, robot.node.health.counts
    for k in range(1, 9):
        # 1.2 * 5 rad/s in 1 ms are 0.006 rad.
        q = Q[::-1] + side * np.array([0.0, 0.09 * (k % 2)])
        references.publish(trajectory(point(0.0, q), stamp=k * MS if stamped else 0))
    graph.until(lambda: counts['reference rejected'] == 4, 'four refusals')
    graph.drain(0.05)
    assert counts['reference rejected'] == 4
    robot.wait_for_event("the position of joint 'shoulder' changes from")
    before = follower.present.q
    robot.torque(1 * MS)
    assert np.abs(follower.present.q - before).max() < 1e-3


def test_the_shortest_period_between_references_is_a_parameter(graph):
    robot = Robot(graph)
    references = graph.publisher(JointTrajectory, 'reference')
    robot.torque(0)
    counts = robot.node.health.counts
    # 0.09 rad in 2 ms are too much, in 20 ms they are not: 1.2 * 5 rad/s.
    assert robot.node.set_parameters([Parameter('reference_shortest_period', value=0.02)])[
        0
    ].successful
    for stamp in (1, 2, 17, 18):
        # Two at a time: a burst moves no further than one period more than its time.
        q = Q[::-1] + np.array([0.0, 0.045 if stamp in (2, 17) else -0.045])
        references.publish(trajectory(point(0.0, q), stamp=stamp * MS))
    follower = robot.node.references.follower
    graph.until(lambda: follower.received == 18 * MS, 'the last reference')
    assert not counts['reference rejected']
    references.publish(trajectory(point(0.0, Q[::-1] + np.array([0.0, 0.045])), stamp=19 * MS))
    graph.until(lambda: counts['reference rejected'] == 1, 'the refusal')


def test_a_stream_is_joined_anew_after_a_reference_that_cannot_be_read(graph):
    robot = Robot(graph)
    references = graph.publisher(JointTrajectory, 'reference')
    robot.torque(0)
    references.publish(trajectory(point(0.0, Q[::-1]), stamp=1))
    follower, counts = robot.node.references.follower, robot.node.health.counts
    graph.until(lambda: follower.moving, 'the stream')
    robot.torque(60 * MS)  # it is joined
    references.publish(trajectory(point(0.0, (0.2, float('nan'))), stamp=50 * MS))
    graph.until(lambda: counts['reference rejected'] == 1, 'the refusal')
    references.publish(trajectory(point(0.0, (0.2, 0.15)), stamp=60 * MS))
    graph.until(lambda: follower.received == 60 * MS, 'the next reference')
    robot.torque(61 * MS)
    assert np.abs(follower.present.q - Q).max() < 1e-3


def test_two_streams_of_references_are_both_rejected(graph):
    import rclpy

    robot = Robot(graph)
    robot.torque(0)
    references = graph.publisher(JointTrajectory, 'reference')
    other = rclpy.create_node('other', context=graph.context)
    other.create_publisher(JointTrajectory, 'reference', 10)
    graph.until(lambda: '/other' in robot.node.references.guard.conflict, 'the conflict')
    references.publish(trajectory(point(0.0, (0.2, 0.1))))
    graph.until(lambda: robot.node.health.counts['reference rejected'], 'the refusal')
    assert not robot.node.references.follower.moving
    other.destroy_node()
    graph.until(lambda: not robot.node.references.guard.conflict, 'its end')
    references.publish(trajectory(point(0.0, (0.2, 0.1))))
    graph.until(lambda: robot.node.references.follower.moving, 'the stream')


def test_torques_are_clamped_and_counted(graph, elbow):
    robot = Robot(graph, kp=[1e4], torque_limit_scale=0.5)
    robot.torque(0)
    assert list(robot.torque(1 * MS, Q + np.array([0.1, -0.1]))) == [-25, 10]
    assert robot.node.health.counts['torque at its limit'] == 1


def test_the_rate_of_torque_is_limited(graph, elbow):
    robot = Robot(graph, kp=[100.0], max_torque_rate=[1000.0, 0.0])
    assert list(robot.torque(0)) == [0, 0]
    first = robot.torque(1 * MS)
    second = robot.torque(3 * MS, Q - 0.1)
    close(first[0], -1.0)
    close(second[0] - first[0], 2.0)
    close(second[1], elbow.gravity_torque(Q - 0.1)[1] + 10)
    # The same state asked again, as a simulator in lock step does, gets the same answer.
    robot.send(3 * MS, Q - 0.1)
    graph.until(lambda: len(robot.answers(3 * MS)) == 2, 'the repetition')
    assert robot.answers(3 * MS)[1].effort == robot.answers(3 * MS)[0].effort


def test_enable_and_disable(graph, elbow):
    robot = Robot(graph, kp=[100.0])
    robot.torque(0)
    robot.follow(trajectory(*MOVE))
    response = graph.call(SetBool, 'feedforward_node/enable', SetBool.Request(data=False))
    assert (response.success, response.message) == (True, 'disabled')
    robot.wait_for_status('disabled')
    assert list(robot.torque(1 * MS)) == [0, 0]
    robot.send(2 * MS)
    graph.until(lambda: robot.node.watch.last.stamp == 2 * MS, 'the state')
    graph.call(SetBool, 'feedforward_node/enable', SetBool.Request(data=True))
    q = np.array([0.3, 0.3])
    close(robot.torque(3 * MS, q), elbow.gravity_torque(q))  # held where it is now
    assert not robot.answers(2 * MS)
    robot.wait_for_status('holding')


def test_the_command_bridge(graph, elbow):
    robot = Robot(graph, publish_commands=True, joints=['elbow', 'shoulder'])
    commands = graph.listen(Float64MultiArray, 'effort_controller/commands')
    tau = robot.torque(0)
    graph.until(lambda: commands, 'a command')
    assert list(commands[0].data) == list(tau[::-1])


def test_the_command_bridge_is_off_by_default(graph):
    robot = Robot(graph)
    robot.torque(0)
    assert graph.probe.count_publishers('effort_controller/commands') == 0


@pytest.mark.parametrize(
    ('position', 'velocity'),
    [([0.0, NAN], [0.0, 0.0]), ([0.0, 0.0], [0.0]), ([0.0], [0.0])],
)
def test_a_bad_state_gives_no_torque(graph, position, velocity):
    robot = Robot(graph)
    bad = JointState(name=['elbow', 'shoulder'], position=position, velocity=velocity)
    robot.states.publish(bad)
    graph.until(lambda: robot.node.health.counts['joint state rejected'] == 1, 'the refusal')
    robot.torque(1 * MS)
    assert len(robot.torques) == 1
    assert np.isfinite(robot.torques[0].effort).all()
