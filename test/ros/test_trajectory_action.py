# SPDX-License-Identifier: Apache-2.0
"""Goals of the feed-forward node's action, by a client of rclpy.

control_msgs has no wheel. A goal is sent as another action: its number stands for a goal with the
fields of FollowJointTrajectory, its sequences for the fields of results and feedback.
"""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from feedforward_view import MOVE, MS, Robot, close, point, trajectory
from rclpy.action import ActionClient
from std_msgs.msg import Header, String
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.common.errors import JointNamesError, TrajectoryError
from robot_dynamics.control import Reference
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.control.tolerances import Tolerances
from robot_dynamics.control.trajectory_goals import Code, Ending, Result
from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.nodes.feedforward_parts import trajectory_action_server
from robot_dynamics.ros.nodes.feedforward_parts.reference_input import ReferenceInput
from robot_dynamics.ros.nodes.feedforward_parts.trajectory_action_server import (
    TrajectoryActionServer,
)

WHOLE = messages.trajectory(trajectory(*MOVE)).in_order(('shoulder', 'elbow'))
SCALE = 1e6  # of the numbers in feedback
ACTION = 'feedforward_node/follow_joint_trajectory'


def tolerance(name, **values):
    zero = {'position': 0.0, 'velocity': 0.0, 'acceleration': 0.0}
    return SimpleNamespace(name=name, **zero | values)


def goal(message, **fields):
    """Return an object with the fields of a goal."""
    empty = {'path_tolerance': [], 'goal_tolerance': [], 'goal_time_tolerance': Duration()}
    return SimpleNamespace(trajectory=message, **empty | fields)


class Client:
    """A client of the action, and the driver of the robot."""

    def __init__(self, graph, monkeypatch, **parameters):
        test_msgs = pytest.importorskip('test_msgs.action')
        self.type = test_msgs.Fibonacci
        self.goals = []
        follow = TrajectoryActionServer._follow

        def feedback(message, names, state, reference, elapsed):
            values = [*reference.q, *state.q, elapsed]
            return self.type.Feedback(sequence=[round(SCALE * value) for value in values])

        def result(message, result):
            return self.type.Result(sequence=[int(result.code), *result.reason.encode()])

        package = SimpleNamespace(FollowJointTrajectory=self.type)
        monkeypatch.setitem(sys.modules, 'control_msgs.action', package)
        monkeypatch.setattr(trajectory_action_server, 'feedback', feedback)
        monkeypatch.setattr(trajectory_action_server, 'result_message', result)
        monkeypatch.setattr(
            TrajectoryActionServer,
            '_follow',
            lambda server, request: follow(server, self.goals[request.order]),
        )
        parameters = {'silence_timeout': 20.0, 'action_monitor_rate': 100.0} | parameters
        self.graph, self.robot = graph, Robot(graph, **parameters)
        self.client = ActionClient(graph.probe, self.type, ACTION)
        graph.until(self.client.server_is_ready, 'the action server')
        self.feedback = []

    def send(self, message, **fields):
        """Send a goal; return its handle."""
        self.goals.append(goal(message, **fields))
        number = self.type.Goal(order=len(self.goals) - 1)
        future = self.client.send_goal_async(
            number, feedback_callback=lambda message: self.feedback.append(message.feedback)
        )
        self.graph.until(future.done, 'an answer to the goal')
        return future.result()

    def follow(self, message, **fields):
        handle = self.send(message, **fields)
        assert handle.accepted
        self.robot.graph.until(
            lambda: self.robot.status[-1].message == 'following', 'the goal being followed'
        )
        return handle

    def move(self, begin, end, arm=lambda seconds: WHOLE.sample(seconds).q):
        """Send joint states every 50 ms, from `begin` to `end` ms of the motion."""
        for k in range(begin, end + 1, 50):
            self.robot.torque((k + 1) * MS, arm(k / 1e3))

    def result(self, handle):
        """Return status, code and reason of a goal that has ended."""
        future = handle.get_result_async()
        self.graph.until(future.done, 'the result')
        code, *reason = future.result().result.sequence
        return future.result().status, Code(code), bytes(reason).decode()

    def cancel(self, handle):
        """Return the number of goals that are being canceled."""
        future = handle.cancel_goal_async()
        self.graph.until(future.done, 'an answer to the cancel request')
        return len(future.result().goals_canceling)


@pytest.fixture
def client(graph, monkeypatch):
    client = Client(graph, monkeypatch, kp=[100.0])
    client.robot.torque(0)
    return client


@pytest.mark.parametrize('method', ['_feasible_speed', '_publish_efforts'])
def test_a_goal_at_which_the_program_fails_is_aborted_and_ends_its_motion(
    client, monkeypatch, method
):
    def fail(*_):
        raise ZeroDivisionError('by a goal')

    client.graph.listen(JointTrajectory, 'feedforward_node/joint_trajectory_with_effort')
    node = client.robot.node
    client.graph.until(
        lambda: node.references._filled_out.get_subscription_count() > 0, 'the subscription'
    )
    with monkeypatch.context() as during:
        during.setattr(ReferenceInput, method, fail)
        handle = client.send(trajectory(*MOVE))
        assert client.result(handle) == (
            GoalStatus.STATUS_ABORTED,
            Code.INVALID_GOAL,
            'ZeroDivisionError: by a goal',
        )
    assert not node.references.follower.moving
    assert client.result(client.send(trajectory()))[0] == GoalStatus.STATUS_ABORTED  # it goes on


def test_a_goal_is_followed_with_feedback_and_succeeds(client):
    handle = client.follow(trajectory(*MOVE))
    client.move(0, 1000)
    wanted = [*WHOLE.sample(1.0).q, *WHOLE.sample(1.0).q, 1.0]  # desired, actual, time
    client.graph.until(
        lambda: (
            client.feedback
            and np.allclose(np.divide(client.feedback[-1].sequence, SCALE), wanted, atol=1e-5)
        ),
        'the feedback of the last state',
    )
    assert handle.status == GoalStatus.STATUS_EXECUTING
    client.move(1050, 2050)
    assert client.result(handle) == (
        GoalStatus.STATUS_SUCCEEDED,
        Code.SUCCESSFUL,
        'the goal is reached',
    )
    client.robot.wait_for_word('holding')


def test_a_canceled_goal_ends_when_the_arm_is_at_rest(client):
    handle = client.follow(trajectory(*MOVE))
    client.move(0, 600)
    assert client.cancel(handle) == 1
    client.robot.wait_for_word('stopping')
    future = handle.get_result_async()
    client.move(650, 700)
    client.graph.drain(0.1)
    assert not future.done()
    client.move(750, 1200, lambda _: WHOLE.sample(0.7).q)
    assert client.result(handle) == (GoalStatus.STATUS_CANCELED, Code.SUCCESSFUL, 'canceled')
    assert client.cancel(handle) == 0
    client.robot.wait_for_word('holding')


def test_a_goal_replaces_the_one_before_it(client):
    first = client.follow(trajectory(*MOVE))
    client.move(0, 300)
    second = client.send(trajectory(point(1.0, WHOLE.sample(0.3).q[::-1])))
    assert second.accepted
    status, code, reason = client.result(first)
    assert (status, code) == (GoalStatus.STATUS_ABORTED, Code.INVALID_GOAL)
    assert reason == 'replaced by another goal'
    client.move(350, 1400, lambda _: WHOLE.sample(0.3).q)
    assert client.result(second)[0] == GoalStatus.STATUS_SUCCEEDED


@pytest.mark.parametrize(
    ('message', 'fields', 'code', 'words'),
    [
        (trajectory(*MOVE, names=('elbow', 'wrist')), {}, Code.INVALID_JOINTS, "joint 'wrist'"),
        (
            trajectory(point(1.0, (0.2,), (0.0,)), names=('elbow', 'wrist')),
            {},
            Code.INVALID_JOINTS,
            "joint 'wrist'",
        ),
        (trajectory(*MOVE, stamp=1 * MS), {}, Code.OLD_HEADER_TIMESTAMP, 'ended 7.999 s ago'),
        (trajectory(), {}, Code.INVALID_GOAL, 'no points'),
        (
            trajectory(point(0.0, (0.2, 0.1)), point(1.0, (0.2, 4.0))),
            {},
            Code.INVALID_GOAL,
            "joint 'shoulder'",
        ),
        (
            trajectory(*MOVE),
            {'goal_tolerance': [tolerance('elbow', position=-0.5)]},
            Code.INVALID_GOAL,
            "joint 'elbow': position is -0.5",
        ),
        (
            trajectory(*MOVE),
            {'multi_dof_trajectory': SimpleNamespace(joint_names=['base'], points=[])},
            Code.INVALID_GOAL,
            'multi_dof_trajectory has 1 joints',
        ),
    ],
    ids=[
        'joints',
        'joints with rows of another size',
        'old',
        'empty',
        'limit',
        'tolerance',
        'several degrees of freedom',
    ],
)
def test_an_invalid_goal_is_aborted_with_code_and_reason(client, message, fields, code, words):
    client.robot.torque(10_000 * MS)
    handle = client.send(message, **fields)
    status, found, reason = client.result(handle)
    assert (status, found) == (GoalStatus.STATUS_ABORTED, code)
    assert words in reason
    client.robot.wait_for_word('rejected')
    assert client.robot.node.health.counts['trajectory rejected'] == 1


def test_an_invalid_goal_does_not_end_the_present_one(client):
    handle = client.follow(trajectory(*MOVE))
    client.move(0, 200)
    client.result(client.send(trajectory()))
    client.move(250, 2050)
    assert client.result(handle)[0] == GoalStatus.STATUS_SUCCEEDED


def test_tolerances_of_a_goal_override_the_parameters(graph, monkeypatch):
    client = Client(graph, monkeypatch, constraints__trajectory=[0.01, 0.0])
    client.robot.torque(0)
    tolerances = [tolerance('shoulder', position=-1.0), tolerance('elbow', position=0.05)]
    handle = client.follow(trajectory(*MOVE), path_tolerance=tolerances)
    client.move(0, 300)
    client.robot.torque(311 * MS, WHOLE.sample(0.31).q + np.array([0.09, 0.0]))
    client.robot.torque(321 * MS, WHOLE.sample(0.32).q + np.array([0.0, 0.06]))
    status, code, reason = client.result(handle)
    assert (status, code) == (GoalStatus.STATUS_ABORTED, Code.PATH_TOLERANCE_VIOLATED)
    assert reason == "joint 'elbow' is 0.06 off its path; the tolerance is 0.05"
    assert client.robot.wait_for_event(reason).message == 'faulted'


def test_a_goal_that_is_not_reached_in_time_is_aborted(client):
    handle = client.follow(
        trajectory(*MOVE),
        goal_tolerance=[tolerance('elbow', position=0.01)],
        goal_time_tolerance=Duration(nanosec=200 * MS),
    )
    off = np.array([0.0, 0.02])
    client.move(0, 2300, lambda seconds: WHOLE.sample(seconds).q + off)
    status, code, reason = client.result(handle)
    assert (status, code) == (GoalStatus.STATUS_ABORTED, Code.GOAL_TOLERANCE_VIOLATED)
    assert reason == "joint 'elbow' is 0.02 off its goal; the tolerance is 0.01"


def stop(client):
    client.graph.call(Trigger, 'feedforward_node/stop')


def disable(client):
    client.graph.call(SetBool, 'feedforward_node/enable', SetBool.Request(data=False))


def deactivate(client):
    client.robot.node.trigger_deactivate()


def publish(client):
    client.robot.trajectories.publish(trajectory(point(1.0, (0.2, 0.1))))


def publish_nothing(client):
    client.robot.trajectories.publish(trajectory())


def stream(client):
    publisher = client.graph.publisher(JointTrajectory, 'reference')
    now = WHOLE.sample(0.3)
    publisher.publish(trajectory(point(0.0, now.q[::-1], now.qd[::-1].tolist())))


def lead(client):
    from rclpy.parameter import Parameter

    client.robot.node.set_parameters([Parameter('control_law', value='gravity_only')])


def go_back(client):
    client.robot.torque(1 * MS, WHOLE.sample(0.3).q)


def conflict(client):
    import rclpy

    other = rclpy.create_node('other', context=client.graph.context)
    other.create_publisher(
        type(client.robot.torques[0]), 'feedforward_node/feedforward_torque', 10
    )
    client.graph.nodes.append(other)


def lose_velocities(client):
    client.robot.torque(451 * MS, WHOLE.sample(0.45).q, qd=None)


def wait(client):
    """Send no more joint states."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ('event', 'words'),
    [
        (stop, 'stopped by ~/stop'),
        (disable, 'disabled'),
        (deactivate, 'the node was deactivated'),
        (publish, 'replaced by a trajectory on the topic'),
        (publish_nothing, 'stopped by a trajectory without points'),
        (stream, 'replaced by a stream of references'),
        (lead, 'control_law has changed'),
        (go_back, 'the time of the joint states went back'),
        (conflict, '/other commands the same motors'),
        (lose_velocities, 'joint states without velocity'),
        (wait, 'no joint states'),
    ],
    ids=lambda value: getattr(value, '__name__', ''),
)
def test_what_ends_a_motion_aborts_its_goal(graph, monkeypatch, event, words):
    client = Client(graph, monkeypatch, silence_timeout=0.2 if event is wait else 20.0)
    client.robot.torque(0)
    handle = client.follow(trajectory(*MOVE))
    client.move(0, 300)
    event(client)
    status, code, reason = client.result(handle)
    assert (status, code) == (GoalStatus.STATUS_ABORTED, Code.INVALID_GOAL)
    assert words in reason


@pytest.mark.parametrize(
    ('before', 'after'),
    [('value="0.7"', 'value="1.4"'), ('"elbow"', '"knee"')],
    ids=['heavier', 'other joints'],
)
def test_another_robot_aborts_a_goal(graph, monkeypatch, elbow_urdf, before, after):
    descriptions = graph.probe.create_publisher(String, 'robot_description', qos.LATCHED)
    descriptions.publish(String(data=elbow_urdf))
    client = Client(graph, monkeypatch, description=None)
    graph.until(lambda: client.robot.node.active, 'the robot')
    client.robot.torque(0)
    handle = client.follow(trajectory(*MOVE))
    descriptions.publish(String(data=elbow_urdf.replace(before, after)))
    status, code, reason = client.result(handle)
    assert (status, code) == (GoalStatus.STATUS_ABORTED, Code.INVALID_GOAL)
    assert reason == 'the robot description has changed'


def test_a_goal_ended_by_missing_joint_states_is_not_resumed(graph, monkeypatch):
    client = Client(graph, monkeypatch, silence_timeout=0.1)
    client.robot.torque(0)
    handle = client.follow(trajectory(*MOVE))
    client.move(0, 300)
    assert client.result(handle)[2].startswith('no joint states')
    q = WHOLE.sample(0.3).q
    client.move(350, 1200, lambda _: q)
    client.robot.wait_for_word('holding')
    client.result(client.send(trajectory(point(0.5, q[::-1]))))


@pytest.mark.parametrize(
    ('obstruct', 'words'), [(disable, '~/enable'), (lead, 'led by hand')], ids=['disabled', 'led']
)
def test_a_goal_that_cannot_be_followed_at_present_is_aborted(client, obstruct, words):
    obstruct(client)
    status, code, reason = client.result(client.send(trajectory(*MOVE)))
    assert (status, code) == (GoalStatus.STATUS_ABORTED, Code.INVALID_GOAL)
    assert words in reason


def test_an_inactive_node_rejects_goals(client):
    deactivate(client)
    assert not client.send(trajectory(*MOVE)).accepted


def test_a_goal_may_start_later_and_be_canceled_before(client):
    handle = client.send(trajectory(*MOVE, stamp=5000 * MS))
    client.robot.torque(1 * MS)
    assert client.cancel(handle) == 1
    assert client.result(handle)[0] == GoalStatus.STATUS_CANCELED
    client.robot.torque(5001 * MS)
    client.robot.wait_for_word('holding')


# -- messages -----------------------------------------------------------------------------------


def test_without_control_msgs_there_is_no_action(graph, monkeypatch):
    monkeypatch.setitem(sys.modules, 'control_msgs.action', None)
    robot = Robot(graph)
    robot.torque(0)
    names = [name for name, _ in robot.node.get_topic_names_and_types()]
    assert not [name for name in names if 'follow_joint_trajectory' in name]


def test_the_feedback_has_desired_actual_and_error():
    q, qd, qdd, effort = np.arange(8.0).reshape(4, 2)
    empty = SimpleNamespace(header=Header(), joint_names=[], desired=0, actual=0, error=0)
    message = trajectory_action_server.feedback(
        empty, ('a', 'b'), JointReading(7, q + 1, qd + 2, effort), Reference(q, qd, qdd), 1.25
    )
    assert messages.nanoseconds(message.header.stamp) == 7
    assert message.joint_names == ['a', 'b']
    close(message.desired.positions, q)
    close(message.desired.accelerations, qdd)
    close(message.actual.velocities, qd + 2)
    close(message.error.positions, [-1, -1])
    close(message.error.velocities, [-2, -2])
    for row in (message.desired, message.actual, message.error):
        assert row.time_from_start == Duration(sec=1, nanosec=250_000_000)


def test_the_result_has_code_and_reason():
    empty = SimpleNamespace(error_code=0, error_string='')
    message = trajectory_action_server.result_message(
        empty, Result(Ending.ABORTED, Code.INVALID_JOINTS, 'why')
    )
    assert vars(message) == {'error_code': -2, 'error_string': 'why'}


def test_tolerances_are_read_from_a_goal():
    default = Tolerances(np.array([0.1, 0.2]), np.zeros(2), 0.01, 3.0)
    found = trajectory_action_server.tolerances_of(
        goal(
            None,
            path_tolerance=[tolerance('b', position=0.5, velocity=2.0)],
            goal_tolerance=[tolerance('a', velocity=-1.0)],
            goal_time_tolerance=Duration(sec=1, nanosec=500_000_000),
        ),
        default,
        ('a', 'b'),
    )
    close(found.path, [0.1, 0.5])
    close(found.path_velocity, [0.0, 2.0])
    close(found.stopped_velocity, [0.0, 0.01])
    assert found.goal_time == 1.5
    with pytest.raises(JointNamesError, match="goal_tolerance names unknown joint 'c'"):
        trajectory_action_server.tolerances_of(
            goal(None, goal_tolerance=[tolerance('c')]), default, ('a', 'b')
        )


@pytest.mark.parametrize('field', ['component_path_tolerance', 'component_goal_tolerance'])
def test_tolerances_of_joints_with_several_degrees_of_freedom_are_rejected(field):
    with pytest.raises(TrajectoryError, match=f'{field} has 1 entries'):
        trajectory_action_server.reject_unsupported(goal(None, **{field: [tolerance('a')]}))
    trajectory_action_server.reject_unsupported(goal(None, **{field: []}))


# -- goals that are retimed ----------------------------------------------------------------------

FAST = trajectory(point(0.0, (0.2, 0.1)), point(0.15, (0.6, -0.3)))


@pytest.fixture
def retiming(graph, monkeypatch):
    limit = {'on_infeasible': 'retime', 'torque_limit_scale': 0.5}
    client = Client(graph, monkeypatch, kp=[100.0], **limit)
    client.robot.torque(0)
    yield client
    client.robot.node.trigger_shutdown()


def test_a_goal_is_retimed_with_feedback_followed_and_succeeds(retiming):
    client = retiming
    handle = client.send(FAST)
    assert handle.accepted
    client.robot.wait_for_word('retiming')
    client.graph.until(lambda: client.feedback, 'feedback')
    wanted = [*WHOLE.sample(0.0).q, *WHOLE.sample(0.0).q, 0.0]  # desired, actual, time
    close(np.divide(client.feedback[-1].sequence, SCALE), wanted)
    stamp = 0
    while client.robot.status[-1].message != 'following':
        stamp += MS
        client.robot.torque(stamp, WHOLE.sample(0.0).q)
    end = messages.trajectory(FAST).in_order(('shoulder', 'elbow')).end.q
    client.robot.torque(stamp + 1000 * MS, end)
    client.robot.torque(stamp + 1001 * MS, end)
    assert client.result(handle)[:2] == (GoalStatus.STATUS_SUCCEEDED, Code.SUCCESSFUL)


def test_a_goal_that_is_retimed_is_canceled_or_replaced(retiming):
    client = retiming
    handle = client.send(FAST)
    client.robot.wait_for_word('retiming')
    assert client.cancel(handle) == 1
    assert client.result(handle)[:2] == (GoalStatus.STATUS_CANCELED, Code.SUCCESSFUL)
    first, _ = client.send(FAST), client.send(FAST)
    assert client.result(first) == (
        GoalStatus.STATUS_ABORTED,
        Code.INVALID_GOAL,
        'replaced by another goal',
    )


def test_a_goal_that_cannot_be_retimed_is_aborted_with_the_reason(retiming, monkeypatch):
    client = retiming

    def fail(*_, **__):
        raise OSError('no memory')

    client.robot.node.references.retiming.process.kill()
    monkeypatch.setattr(subprocess, 'Popen', fail)
    handle = client.send(FAST)
    client.robot.wait_for_word('retiming')
    future, stamp = handle.get_result_async(), 0
    while not future.done():
        stamp += MS
        client.robot.torque(stamp)
    assert client.result(handle) == (
        GoalStatus.STATUS_ABORTED,
        Code.INVALID_GOAL,
        'the retiming process was not started: no memory',
    )
