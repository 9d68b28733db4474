# SPDX-License-Identifier: Apache-2.0
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


class Sender:
    """Sends references between joint states, 10 ms apart, to an arm that follows perfectly."""

    def __init__(self, graph, **parameters):
        self.robot = Robot(graph, **parameters)
        self.graph, self.k, self.rows = graph, 0, []
        self.publisher = graph.publisher(JointTrajectory, 'reference')
        self.trajectories = self.robot.trajectories
        self.counts = self.robot.node.health.counts
        self.robot.torque(0)

    @property
    def follower(self):
        return self.robot.node.references.follower

    def state(self, milliseconds=10):
        self.k += milliseconds
        self.rows.append(self.follower.present)
        return self.robot.torque(self.k * MS, self.follower.present.q, self.follower.present.qd)

    def send(self, message, on=None):
        """Publish a message, and wait until it is followed or rejected."""
        before, rejected = self.follower.motion, self.counts['reference rejected']
        (on or self.publisher).publish(message)
        self.graph.until(
            lambda: (
                self.follower.motion is not before or self.counts['reference rejected'] > rejected
            ),
            'the message',
        )
        return self.counts['reference rejected'] == rejected


@pytest.mark.parametrize('stamped', [True, False], ids=['stamped', 'unstamped'])
def test_a_stream_of_references(graph, elbow, stamped):
    sender = Sender(graph, kp=[100.0], kd=[10.0])
    speed = np.array([0.4, 0.3])
    for k in range(40):
        q = Q + speed * 0.01 * min(k, 30)
        wanted = point(0.0, q[::-1], stamp_free(speed[::-1] * (k < 30)))
        assert sender.send(trajectory(wanted, stamp=7 + k * 10 * MS if stamped else 0))
        tau = sender.state()
        # The torque is that of a reference on one curve, which the arm follows.
        reference = sender.follower.present
        expected = elbow.inverse_dynamics(
            sender.rows[-1].q, sender.rows[-1].qd, reference.qdd
        ) + elbow.friction_torque(reference.qd)
        expected += 100 * (reference.q - sender.rows[-1].q)
        expected += 10 * (reference.qd - sender.rows[-1].qd)
        close(tau, expected)
        if k == 25:
            np.testing.assert_allclose(reference.qd, speed, rtol=1e-6)
            lag = sender.follower.stream.lag
            np.testing.assert_allclose(reference.q, Q + speed * (0.26 - lag), atol=2e-3)
    np.testing.assert_array_equal(sender.follower.present.qd, 0.0)
    np.testing.assert_allclose(sender.follower.present.q, Q + speed * 0.3, atol=1e-9)
    sender.robot.wait_for_status('following a stream of references')
    for _ in range(20):
        sender.state()
    sender.robot.wait_for_event('the stream of references has stopped')


def stamp_free(qd):
    return tuple(float(value) for value in qd)


def test_a_reference_that_jumps_waits_and_then_the_stream_is_refused(graph):
    sender = Sender(graph)
    for k in range(60):
        far = 0.3 * (k >= 20)
        followed = sender.send(trajectory(point(0.0, Q[::-1] + np.array([0.0, far]))))
        assert followed == (k < 20)
        sender.state()
    assert sender.counts['reference rejected'] == 40
    sender.robot.wait_for_event("the reference is at 0.4 for joint 'shoulder', which is at 0.1")
    sender.robot.wait_for_event('the stream of references is rejected: ')
    np.testing.assert_array_equal(sender.follower.present.q, Q)
    assert sender.send(trajectory(point(0.0, Q[::-1])))


def test_bad_messages_of_a_stream_are_rejected_alone(graph):
    sender = Sender(graph)
    bad = {
        5: (trajectory(), 'no points'),
        9: (trajectory(point(0.0, (0.2, NAN))), 'nan'),
        13: (trajectory(point(0.0, (0.2, 0.1)), names=('elbow', 'hip')), "'hip'"),
        17: (trajectory(point(0.0, (0.2, 0.1), (0.0, 1e3))), "'shoulder' is 1000"),
        21: (trajectory(point(0.0, (0.2, 0.1)), point(0.0, (0.2, 0.1))), 'policy_frequency'),
        25: (trajectory(point(0.0, (0.2, 3.5))), "'shoulder' is 3.5"),
    }
    for k in range(30):
        q = Q + 0.002 * k
        message, why = bad.get(k, (trajectory(point(0.0, q[::-1]), stamp=1 + k * 10 * MS), ''))
        assert sender.send(message) == (not why)
        sender.state()
        if why:
            sender.robot.wait_for_event(why)
    np.testing.assert_allclose(
        sender.follower.present.q, Q + 0.2 * (0.3 - sender.follower.stream.lag), atol=2e-3
    )


def test_the_lag_is_on_the_status_and_the_period_in_the_diagnostics(graph):
    sender = Sender(graph)
    for k in range(30):
        sender.send(trajectory(point(0.0, Q[::-1]), stamp=1 + k * 10 * MS))
        sender.state()
    values = {}

    def has_lag():
        values.update((one.key, one.value) for one in sender.robot.status[-1].values)
        return values['lag'] == '0.030'

    graph.until(has_lag, 'the lag')
    figures = sender.robot.node.references.streams.figures()
    assert figures['period of the stream [ms]'] == '10.0'
    assert figures['references lost'] == '0'
    # Faster than the 5 rad/s of the shoulder
    sender.send(trajectory(point(0.0, Q[::-1] + np.array([0.0, 0.08])), stamp=1 + 300 * MS))
    assert sender.counts['stream beyond limits'] == 1
    _, message = sender.robot.node.references.streams.status()
    assert "joint 'shoulder' of the stream moves at 8; its limit is 5" in message


def test_windows_of_a_trajectory_are_a_stream_and_others_end_at_rest(graph):
    """As MoveIt Servo sends them: stamped, with a velocity at the end; or one point ahead."""
    sender = Sender(graph)
    speed = np.array([0.2, -0.1])
    for k in range(40):
        t = 0.01 * k
        stamp = sender.k * MS + 1
        rows = [(s, Q + speed * (t + s)) for s in ((0.0, 0.03, 0.06) if k % 2 else (0.05,))]
        qd = stamp_free(speed[::-1])
        points = [point(s, q[::-1], qd if len(rows) > 1 else ()) for s, q in rows]
        assert sender.send(trajectory(*points, stamp=stamp), on=sender.trajectories)
        sender.state()
    assert sender.follower.doing == 'following a stream of references'
    np.testing.assert_allclose(sender.follower.present.q, Q + speed * 0.4, atol=2e-3)
    sender.trajectories.publish(
        trajectory(point(0.6, sender.follower.present.q[::-1]), stamp=sender.k * MS + 1)
    )
    graph.until(lambda: sender.follower.waits, 'the trajectory')
    sender.state()
    assert sender.follower.doing == 'following a trajectory of 0.6 s'


def test_action_chunks_have_the_frequency_of_the_policy(graph):
    sender = Sender(graph, policy_frequency=30.0)
    speed = np.array([0.3, 0.2])
    for k in range(10):
        t = 0.1 * k
        rows = [Q + speed * (t + (j + 1) / 30) for j in range(16)]
        for on in (sender.publisher, sender.trajectories)[k % 2 : k % 2 + 1]:
            assert sender.send(trajectory(*(point(0.0, q[::-1]) for q in rows)), on=on)
        for _ in range(10):
            sender.state()
    assert sender.follower.stream.lag == 0.0
    np.testing.assert_allclose(sender.follower.present.q, Q + speed * 1.0, atol=2e-3)


def test_two_streams_of_references_are_both_rejected(graph):
    import rclpy

    robot = Robot(graph)
    robot.torque(0)
    references = graph.publisher(JointTrajectory, 'reference')
    other = rclpy.create_node('other', context=graph.context)
    other.create_publisher(JointTrajectory, 'reference', 10)
    graph.until(lambda: '/other' in robot.node.references.streams.guard.conflict, 'the conflict')
    references.publish(trajectory(point(0.0, (0.2, 0.1))))
    graph.until(lambda: robot.node.health.counts['reference rejected'], 'the refusal')
    assert not robot.node.references.follower.moving
    other.destroy_node()
    graph.until(lambda: not robot.node.references.streams.guard.conflict, 'its end')
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
