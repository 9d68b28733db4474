# SPDX-License-Identifier: Apache-2.0
"""What the feed-forward node does when something is missing, wrong, or in its way."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

import rclpy
from called_nodes import CalledNode
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from elbow import ELBOW
from feedforward_view import MOVE, MS, Q, Robot, close, point, trajectory
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control import LAWS, Gains, computed_torque, pd_plus
from robot_dynamics.control.transitions import SHORTEST_STOP
from robot_dynamics.core.friction import JointFriction
from robot_dynamics.core.friction import laws as friction_laws
from robot_dynamics.ros import command_guard, messages, qos
from robot_dynamics.ros.nodes.feedforward_node import FeedforwardNode
from robot_dynamics.ros.nodes.feedforward_parts.motor_mode import Mode

STILL = np.zeros(2)
NAN = float('nan')


def set_parameter(robot, **values):
    (name, value), = values.items()  # fmt: skip
    return robot.node.set_parameters([Parameter(name, value=value)])[0].successful


# -- laws ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('name', 'law'), [('pd_plus', pd_plus), ('computed_torque', computed_torque)]
)
def test_another_law(graph, elbow, name, law):
    robot = Robot(graph, control_law=name, kp=[20.0, 30.0], kd=[4.0])
    robot.torque(0)
    robot.follow(trajectory(*MOVE))
    robot.torque(1 * MS)
    reference = messages.trajectory(trajectory(*MOVE)).in_order(('shoulder', 'elbow')).sample(0.1)
    q, qd = reference.q + 0.02, reference.qd - 0.1
    gains = Gains(np.array([20.0, 30.0]), np.array([4.0, 4.0]))
    close(robot.torque(101 * MS, q, qd), law(elbow, reference, q, qd, gains=gains).tau)


def test_an_arm_led_by_hand_feels_no_weight_and_is_held_where_it_is_let_go(graph, elbow):
    robot = Robot(graph, control_law='gravity_only', kp=[100.0], kd=[2.0])
    robot.wait_for_status('led by hand')
    close(robot.torque(0), elbow.gravity_torque(Q))
    q, qd = Q + 0.5, np.array([0.3, -0.1])
    close(robot.torque(1 * MS, q, qd), elbow.gravity_torque(q) - 2 * qd)
    robot.trajectories.publish(trajectory(*MOVE))
    robot.wait_for_status('control_law is gravity_only')
    assert set_parameter(robot, control_law='feedforward')
    robot.wait_for_status('holding')
    close(robot.torque(2 * MS, q), elbow.gravity_torque(q))
    close(robot.torque(3 * MS, q - 0.01), elbow.gravity_torque(q - 0.01) + 100 * 0.01)


def led_energies(robot, arm, begin, count=250):
    """Return the kinetic energies of an arm that was pushed and is led by the node."""
    q, qd, energies = Q.copy(), np.array([0.6, -0.9]), []
    for k in range(begin, begin + count):
        tau = robot.torque(k * MS, q, qd)
        energies.append(qd @ arm.mass_matrix(q) @ qd / 2)
        qd = qd + 1e-3 * arm.forward_dynamics(
            q, qd, tau - arm.friction_torque(qd), friction='none'
        )
        q = q + 1e-3 * qd
    return np.array(energies)


@pytest.mark.slow
def test_an_arm_led_by_hand_never_gains_energy_though_friction_is_compensated(graph, elbow):
    robot = Robot(graph, control_law='gravity_only')
    plain = led_energies(robot, elbow, begin=0)
    assert set_parameter(robot, lead_friction=0.8)
    lighter = led_energies(robot, elbow, begin=1000)
    for energies in (plain, lighter):
        # The torque is held over a step: it adds no more than h/2 tau M^-1 tau.
        assert np.diff(energies).max() < 1e-4 * energies[0]
        assert energies[-1] < energies[0]
    assert lighter[-1] > 1.2 * plain[-1]
    assert not set_parameter(robot, lead_friction=1.1)


MEMORY = {
    'friction__law': 'coulomb_memory',
    'friction__viscous': [0.1, 0.2],
    'friction__coulomb': [2.0, 1.0],
}


@pytest.mark.parametrize('side', [1, -1], ids=['', 'mirrored'])
def test_friction_with_memory_follows_the_arm_that_is_led(graph, elbow, side):
    robot = Robot(graph, control_law='gravity_only', lead_friction=0.5, **MEMORY)
    law = JointFriction(
        friction_laws.LAWS['coulomb_memory'],
        {'viscous': np.array([0.1, 0.2]), 'coulomb': np.array([2.0, 1.0])},
    )
    # The joints go there and back, by less than the pre-sliding length in the end.
    ways = [0.0, 1e-3, 3e-3, 8e-3, 8e-3, 7.9e-3, 7.5e-3]
    rows = Q + side * np.outer(ways, [1.0, -0.7])
    directions = law.law.sliding_direction(rows, np.zeros_like(rows))
    assert np.abs(directions[-1]).max() > 0.1
    qd = side * np.array([0.02, -0.01])
    for k, (q, z) in enumerate(zip(rows, directions, strict=True)):
        tau = elbow.gravity_torque(q)
        close(robot.torque(k * MS, q, qd), tau + 0.5 * law.torque(qd, tau, z))


@pytest.mark.parametrize('side', [1, -1], ids=['', 'mirrored'])
def test_friction_with_memory_begins_anew_where_the_reference_is_placed(graph, elbow, side):
    """The step of the reference to the arm is no displacement."""
    robot = Robot(graph, constraints__trajectory=[0.05], **MEMORY)
    robot.torque(0)
    robot.follow(trajectory(point(1.0, (0.2 + side * 0.5, 0.1 + side * 0.5))))
    for k in range(1, 500, 20):
        tau = robot.torque(k * MS, robot.node.references.follower.present.q)
    held = robot.node.references.follower.present.q - side * 0.06
    assert np.abs(tau - elbow.gravity_torque(held)).max() > 0.5
    for k in (501, 502, 503):
        close(robot.torque(k * MS, held), elbow.gravity_torque(held))


# -- what is missing ----------------------------------------------------------------------------


@pytest.mark.parametrize('qd', [None, (0.0, float('nan'))], ids=['absent', 'nan'])
def test_without_velocity_gravity_alone_is_compensated(graph, elbow, qd):
    robot = Robot(graph, kp=[100.0], kd=[10.0])
    robot.torque(0)
    q = Q + 0.05
    close(robot.torque(101 * MS, q, qd), elbow.gravity_torque(q))
    assert robot.node.health.counts['joint state without velocity'] == 1
    # When it is back the arm is held where it has gone meanwhile.
    close(robot.torque(102 * MS, q), elbow.gravity_torque(q))
    close(robot.torque(103 * MS, q - 0.01), elbow.gravity_torque(q - 0.01) + 1.0)


@pytest.mark.parametrize('side', [1, -1], ids=['', 'mirrored'])
def test_after_a_reset_gravity_is_compensated_without_velocity_as_well(graph, elbow, side):
    robot = Robot(graph, max_torque_rate=[500.0])
    robot.torque(1000 * MS)
    q = side * np.array([1.3, 0.4])
    for k in range(500, 700, 10):
        tau = robot.torque(k * MS, q, None)
    close(tau, elbow.gravity_torque(q))


def test_a_motion_that_ends_for_lack_of_velocities_is_reported(graph):
    robot = Robot(graph)
    robot.torque(0)
    robot.follow(trajectory(*MOVE))
    robot.torque(1 * MS)
    robot.torque(102 * MS, Q, None)
    status = robot.wait_for_event('joint states without velocity')
    assert status.message == 'holding'


@pytest.mark.parametrize('sign', [1, -1])
def test_a_single_state_that_is_late_or_without_velocity_ends_no_motion(graph, sign):
    robot = Robot(graph, kp=[100.0], kd=[5.0])
    move = [point(t, [sign * x for x in at]) for t, at in ((0.0, (0, 0)), (1.0, (0.4, -0.4)))]
    robot.torque(0, STILL)
    robot.follow(trajectory(*move))
    path = messages.trajectory(trajectory(*move)).in_order(('shoulder', 'elbow'))
    follower = robot.node.references.follower
    for k in range(1, 600, 10):
        q, qd, _ = path.sample((k - 1) / 1e3)
        robot.torque(k * MS, q, qd)
        if k == 301:
            before = robot.torques[-1].effort
            robot.send((k - 10) * MS, *path.sample((k - 11) / 1e3)[:2])
            graph.until(lambda: robot.node.health.counts['joint state rejected'], 'the refusal')
            assert robot.torques[-1].effort == before
        if k == 401:
            without = robot.torque((k + 1) * MS, q, (float('nan'), qd[1]))
            # Neither the bridged joint nor the other one feels more than a millisecond.
            assert np.abs(without - robot.torques[-2].effort).max() < 1.0
        assert follower.doing == 'following a trajectory of 1 s'
    assert robot.node.health.counts['joint state rejected'] == 1
    assert not robot.node.health.counts['joint state without velocity']


def test_two_publishers_of_joint_states_make_no_step_of_the_torque(graph, elbow):
    robot = Robot(graph, kp=[1e4], max_torque_rate=[-1.0], state_publish_rate=0.0)
    tau = [robot.torque(1000 * MS)]
    for k in range(1002, 1102, 2):
        # Both see the arm leave its reference, the second one 15 ms later.
        tau.append(robot.torque(k * MS, Q - 1e-3 * (k - 1000)))
        rejected = robot.node.health.counts['joint state rejected']
        robot.send((k - 15) * MS, Q - 1e-3 * (k - 1015))
        graph.until(
            lambda n=rejected: robot.node.health.counts['joint state rejected'] > n, 'the refusal'
        )
    assert len(robot.torques) == len(tau)
    steps = np.abs(np.diff(tau, axis=0))
    most = elbow.model.effort_limit / 0.1 * 2e-3
    assert (steps <= most + 1e-9).all()
    assert (steps.max(axis=0) > 0.99 * most).all()  # the rate limit was reached


def test_without_velocity_and_with_gravity_switched_off_there_is_nothing(graph):
    robot = Robot(graph, compensate_gravity=False, kp=[100.0])
    close(robot.torque(0, Q, None), STILL)


def test_velocities_are_differentiated_on_request(graph, elbow):
    robot = Robot(graph, kd=[10.0], missing_velocity='differentiate')
    close(robot.torque(0, Q, None), elbow.gravity_torque(Q))
    qd = np.array([0.4, -0.2])
    q = Q + 1e-3 * qd
    expected = elbow.gravity_torque(q) + elbow.coriolis_torque(q, qd) - 10 * qd
    np.testing.assert_allclose(robot.torque(1 * MS, q, None), expected, rtol=1e-7)


@pytest.mark.parametrize('choice', ['stop', 'hold', 'gravity'])
def test_when_joint_states_stop(graph, elbow, choice):
    robot = Robot(graph, kp=[100.0], silence_timeout=0.1, on_timeout=choice)
    robot.torque(0)
    q = Q + 0.05
    last = robot.torque(1 * MS, q)
    robot.wait_for_status(f'no joint states, {choice}')
    before = len(robot.torques)
    if choice == 'stop':
        graph.drain(0.2)
        assert len(robot.torques) == before
    else:
        graph.until(lambda: len(robot.torques) >= before + 3, 'more torques')
        expected = {'hold': last, 'gravity': elbow.gravity_torque(q)}[choice]
        close(np.array(robot.torques[-1].effort), expected)
    robot.torque(2 * MS, q)
    robot.wait_for_status('joint states are back')
    assert robot.node.health.counts['joint states stopped'] == 1


def test_half_an_arm_is_no_joint_state(graph):
    robot = Robot(graph, silence_timeout=0.15)
    robot.torque(0)
    stamp = 0

    def silent():
        nonlocal stamp
        stamp += 10 * MS
        message = JointState(name=['elbow'], position=[0.2], velocity=[0.0])
        message.header.stamp = messages.time_message(stamp)
        robot.states.publish(message)
        return robot.node.health.counts['joint states stopped']

    graph.until(silent, 'the silence of the shoulder')


@pytest.mark.filterwarnings('ignore:overflow', 'ignore:invalid value')
@pytest.mark.parametrize(
    ('q', 'qd'), [((1e13, 0.0), (0.0, 0.0)), (Q, (0.0, -1e308)), ((0.0, -1e308), (0.0, 0.0))]
)
@pytest.mark.parametrize('law', [*LAWS, 'cartesian_impedance'])
def test_a_state_that_no_joint_can_have_is_rejected_and_changes_nothing(graph, elbow, law, q, qd):
    frame = {'impedance.frame': 'forearm'}
    arms = [
        CalledNode(graph, FeedforwardNode, control_law=law, kp=[20.0], kd=[4.0], **frame)
        for _ in range(2)
    ]
    for k in range(4):
        for arm, is_hit in zip(arms, (False, True), strict=True):
            if is_hit and k == 2:
                wrong = JointState(name=['shoulder', 'elbow'], position=list(q), velocity=list(qd))
                wrong.header.stamp = messages.time_message((9 + k) * MS)
                assert not arm.answer(wrong)
        state = JointState(name=['shoulder', 'elbow'], position=Q + 0.01 * k, velocity=[0.1, 0.2])
        state.header.stamp = messages.time_message((10 + k) * MS)
        answers = [arm.answer(state) for arm in arms]
        assert answers[0]['tau'] == answers[1]['tau']
    for timer in arms[1].node.timers:
        timer.callback()
    assert arms[1].node.health.counts['joint state rejected'] == 1
    assert not arms[1].node._failure


def test_a_torque_that_is_not_finite_is_not_published_and_has_no_effect_later(graph, elbow):
    """A fault of the program: finite states and settings give finite torques."""
    robot = Robot(graph, max_torque_rate=[1000.0], on_timeout='hold', silence_timeout=0.1)
    robot.torque(0)
    first = robot.torque(1 * MS)
    law, robot.node.law.torque = robot.node.law.torque, lambda *_: np.array([NAN, 0.0])
    robot.send(1 * MS, Q)
    graph.until(lambda: robot.node.health.counts['not finite, not published'], 'the overflow')
    robot.node.law.torque = law
    robot.wait_for_status(', hold')
    graph.until(lambda: len(robot.torques) > 2, 'the last torque')
    for message in robot.torques[1:]:
        close(np.array(message.effort), first)
    q = Q + np.array([0.5, -1.0])
    # The arm is held anew, and the torque begins at the last one.
    close(robot.torque(2 * MS, q), first)
    expected = first + np.clip(elbow.gravity_torque(q) - first, -2.0, 2.0)
    close(robot.torque(4 * MS, q), expected)


@pytest.mark.filterwarnings('ignore:overflow', 'ignore:invalid value')
@pytest.mark.parametrize('law', LAWS)
def test_torques_are_finite_and_within_their_limits_for_any_joint_states(
    graph, elbow, law, monkeypatch
):
    node = graph.start(
        FeedforwardNode,
        control_law=law,
        kp=[1e3],
        kd=[1e2],
        max_torque_rate=[1e4],
        missing_velocity='differentiate',
    )
    sent = []
    monkeypatch.setattr(node.torques, 'publish', lambda stamp, tau: sent.append((stamp, tau)))
    (receive,) = (s.callback for s in node.subscriptions if s.topic_name == '/joint_states')
    rng = np.random.default_rng(7)
    strange = [0.0, 1e-320, 1e5, -1e200, 1e308, NAN, np.inf, -np.inf]

    def numbers(count):
        plain = rng.normal(size=count)
        return np.where(rng.random(count) < 0.1, rng.choice(strange, count), plain).tolist()

    stamp = 0
    for _ in range(2000):
        names = list(rng.permutation(['shoulder', 'elbow', 'finger', 'elbow'])[: rng.integers(5)])
        sizes = [len(names) if rng.random() < 0.9 else int(rng.integers(5)) for _ in range(3)]
        message = JointState(name=names, position=numbers(sizes[0]), velocity=numbers(sizes[1]))
        stamp = max(0, stamp + int(rng.choice([0, MS, MS, MS, 200 * MS, -5 * MS])))
        message.header.stamp = messages.time_message(stamp)
        receive(serialize_message(message))
    assert len(sent) > 100
    taus = np.array([tau for _, tau in sent])
    assert np.isfinite(taus).all()
    assert (np.abs(taus) <= elbow.model.effort_limit).all()
    assert node.health.counts['joint state rejected'] > 100


@pytest.mark.parametrize('choice', ['stop', 'hold', 'gravity'])
def test_stamps_that_stand_still_are_a_silence(graph, elbow, choice):
    robot = Robot(graph, kp=[100.0], silence_timeout=0.1, on_timeout=choice)
    robot.torque(1000 * MS)
    robot.follow(trajectory(*MOVE))
    for k in range(1001, 1011):
        robot.torque(k * MS)
    q = Q + 0.05
    last = robot.torque(1011 * MS, q)

    def silent():
        robot.send(1011 * MS, q)
        graph.drain(0.01)
        return robot.node.diagnostics.fault()

    graph.until(silent, 'the standstill being noticed')
    sentence = 'the stamps of joint_states stand still at 1.011 s'
    assert robot.node.diagnostics.fault() == (DiagnosticStatus.WARN, f'{sentence}: {choice}')
    robot.wait_for_status(f'{sentence}, {choice}; following')
    before = len(robot.torques)
    for _ in range(10):
        silent()
    if choice == 'stop':
        assert len(robot.torques) == before
    else:
        expected = {'hold': last, 'gravity': elbow.gravity_torque(q)}[choice]
        close(np.array(robot.torques[-1].effort), expected)
    # Time goes on, as that of a simulation that was paused: so does the motion.
    reference = messages.trajectory(trajectory(*MOVE)).in_order(('shoulder', 'elbow'))
    q_d, qd_d, qdd_d = reference.sample(0.011)
    tau = elbow.inverse_dynamics(q, STILL, qdd_d) + elbow.friction_torque(qd_d)
    close(robot.torque(1012 * MS, q), tau + 100 * (q_d - q))
    robot.wait_for_status('joint states are back; following a trajectory of 2 s')
    assert robot.node.diagnostics.fault() is None


def test_a_state_that_was_not_answered_is_answered_however_long_it_is_repeated(
    graph, elbow, monkeypatch
):
    """As in lock step, where time waits for the answer."""
    robot = Robot(graph, silence_timeout=0.05)
    robot.node.mode = Mode.BLOCKED
    monkeypatch.setattr(robot.node.torques.guard, 'poll', lambda: None)
    for _ in range(20):
        robot.send(1000 * MS)
        graph.drain(0.01)
    assert not robot.torques
    robot.node.mode = Mode.COMMANDING
    close(robot.torque(1000 * MS), elbow.gravity_torque(Q))


@pytest.mark.parametrize('silent', [False, True])
def test_gravity_torques_pass_the_limits(graph, elbow, silent):
    """On timeout, and when disabled: the effort limit is below gravity."""
    robot = Robot(
        graph,
        kp=[1e3],
        torque_limit_scale=0.1,
        max_torque_rate=[100.0],
        silence_timeout=0.1,
        on_timeout='gravity' if silent else 'stop',
        on_deactivate='gravity',
    )
    robot.torque(0)
    q = Q - 0.5
    for k in range(1, 12):
        last = robot.torque(20 * k * MS, q)
    assert list(last) == [5, 2]
    limited = np.clip(elbow.gravity_torque(q), [-5, -2], [5, 2])
    assert limited[0] == -5
    before = len(robot.torques)
    if not silent:
        graph.call(SetBool, 'feedforward_node/enable', SetBool.Request(data=False))
        for k in range(12, 40):
            robot.send(20 * k * MS, q)
    graph.until(lambda: np.allclose(robot.torques[-1].effort, limited), 'the gravity torque')
    taus = np.array([message.effort for message in robot.torques[before - 1 :]])
    assert np.abs(np.diff(taus, axis=0)).max() <= 2.0 + 1e-9
    assert (np.abs(taus) <= [5, 2]).all()
    if not silent:
        graph.until(lambda: robot.node.mode is Mode.DISABLED, 'the end')
        graph.drain(0.1)
        assert len(robot.torques) < before + 28


def test_without_settings_torques_are_soft(graph, elbow):
    robot = Robot(graph, kp=[1e3], ramp_time=0.05, max_torque_rate=[-1.0])
    default = FeedforwardNode.table()
    assert (default.ramp_time, default.max_torque_rate) == (0.05, (-1.0,))
    taus = [robot.torque(k * MS, Q - 0.02 * (k > 0)) for k in range(130)]
    assert not taus[0].any()
    steps = np.abs(np.diff(taus, axis=0))
    assert (steps <= elbow.model.effort_limit / 0.1 * 1e-3 + 1e-9).all()
    close(taus[-1], elbow.gravity_torque(Q - 0.02) + 20)


@pytest.mark.slow
def test_without_stamps_torques_are_soft_by_the_time_that_passes(graph, elbow):
    robot = Robot(graph, ramp_time=0.05, max_torque_rate=[-1.0])
    g = elbow.gravity_torque(Q)

    def full():
        robot.send(0)
        graph.drain(0.002)
        return robot.torques and np.allclose(robot.torques[-1].effort, g, atol=1e-9)

    graph.until(full, 'the torque')


@pytest.mark.slow
def test_without_stamps_a_trajectory_is_rejected(graph):
    robot = Robot(graph)

    def answered():
        robot.send(0)
        graph.drain(0.002)
        return robot.node.joint_states.unstamped

    graph.until(answered, 'stamps that stay at 0')
    robot.trajectories.publish(trajectory(*MOVE))
    robot.wait_for_event('the stamps of joint_states stay at 0: no motion can be timed')
    robot.wait_for_word('rejected')


# -- switching on -------------------------------------------------------------------------------


def test_torques_rise_smoothly_after_switching_on(graph, elbow):
    robot = Robot(graph, ramp_time=0.1)
    g = elbow.gravity_torque(Q)
    for start in (0, 500):
        for after, part in ((0, 0.0), (50, 0.5), (100, 1.0), (110, 1.0)):
            close(robot.torque((start + after) * MS), part * g)
        graph.call(SetBool, 'feedforward_node/enable', SetBool.Request(data=False))
        assert list(robot.torque((start + 111) * MS)) == [0, 0]
        graph.call(SetBool, 'feedforward_node/enable', SetBool.Request(data=True))


def test_a_node_that_commands_the_same_motors_first_blocks_until_it_is_gone(graph, elbow):
    other = rclpy.create_node('other', context=graph.context)
    other.create_publisher(Float64MultiArray, 'effort_controller/commands', 10)
    robot = Robot(graph, publish_commands=True, diagnostics_period=0.1)
    reports = graph.listen(DiagnosticArray, '/diagnostics')
    graph.until(lambda: robot.node.torques.guard.blocked, 'the other publisher being discovered')
    before = len(robot.torques)
    robot.send(1000 * MS)
    graph.drain(0.1)
    assert len(robot.torques) == before
    answer = graph.call(SetBool, 'feedforward_node/enable', SetBool.Request(data=True))
    assert answer.message.startswith('enabled, but /other commands the same motors')
    graph.until(lambda: '/other commands' in reports[-1].status[0].message, 'the diagnostics')
    assert reports[-1].status[0].level == DiagnosticStatus.ERROR
    other.destroy_node()
    graph.until(lambda: not robot.node.torques.guard.blocked, 'its end')
    close(robot.torque(1001 * MS), elbow.gravity_torque(Q))


def test_a_node_that_commands_later_is_reported_and_blocks_the_next_enabling(
    graph, elbow, monkeypatch
):
    monkeypatch.setattr(command_guard, 'DISCOVERY', 0.0)
    robot = Robot(graph)
    close(robot.torque(1000 * MS), elbow.gravity_torque(Q))
    other = rclpy.create_node('other', context=graph.context)
    other.create_publisher(JointState, 'feedforward_node/feedforward_torque', qos.STREAM_OUT)
    graph.until(lambda: robot.node.torques.guard.conflict, 'the other publisher being discovered')
    level, message = robot.node.diagnostics.fault()
    assert (level, message) == (DiagnosticStatus.ERROR, '/other commands the same motors')
    close(robot.torque(1001 * MS), elbow.gravity_torque(Q))
    for on in (False, True):
        graph.call(SetBool, 'feedforward_node/enable', SetBool.Request(data=on))
        if not on:
            robot.torque(1002 * MS)
    assert robot.node.torques.guard.blocked
    other.destroy_node()
    graph.until(lambda: not robot.node.torques.guard.blocked, 'its end')


def test_a_publisher_of_the_same_full_name_never_blocks(graph, elbow):
    """As a killed node, which stays in the graph for a while."""
    twin = rclpy.create_node('feedforward_node', context=graph.context)
    twin.create_publisher(JointState, 'feedforward_node/feedforward_torque', qos.STREAM_OUT)
    robot = Robot(graph)
    node = robot.node
    graph.until(lambda: node.count_publishers(node.torques.publishers[0].topic_name) > 1, 'twin')
    node.torques.guard.poll()
    assert not node.torques.guard.blocked
    assert not node.torques.guard.conflict
    close(robot.torque(1000 * MS), elbow.gravity_torque(Q))
    twin.destroy_node()


def test_a_disabled_motion_decelerates_before_the_torque_ends(graph, elbow):
    robot = Robot(graph, kp=[100.0])
    robot.torque(0)
    robot.follow(trajectory(*MOVE))
    wanted = messages.trajectory(trajectory(*MOVE)).in_order(('shoulder', 'elbow'))
    for k in range(1, 402, 50):
        robot.torque(k * MS, wanted.sample((k - 1) / 1e3).q)
    q, qd, _ = wanted.sample(0.4)
    robot.torque(401 * MS, q)
    graph.call(SetBool, 'feedforward_node/enable', SetBool.Request(data=False))
    robot.wait_for_status('disabled')
    for k, s in ((451, 0.05), (501, 0.1)):
        at = q + qd * s * (1 - s / (2 * SHORTEST_STOP))
        speed = qd * (1 - s / SHORTEST_STOP)
        tau = elbow.inverse_dynamics(at, STILL, -qd / SHORTEST_STOP)
        close(robot.torque(k * MS, at), tau + elbow.friction_torque(speed))
    end = q + qd * SHORTEST_STOP / 2
    for k in (551, 601):
        assert robot.torque(k * MS, end).any()
    assert not robot.torque(660 * MS, end).any()
    robot.send(661 * MS, end)
    graph.drain(0.1)
    assert not robot.answers(661 * MS)


@pytest.mark.parametrize('on', [True, False])
def test_a_node_without_a_robot_is_enabled_and_disabled(graph, on):
    node = graph.start(FeedforwardNode, description=None, start_enabled=not on)
    answer = graph.call(SetBool, 'feedforward_node/enable', SetBool.Request(data=on))
    assert answer.success
    assert node.arm is None
    assert node.mode.enabled == on


def test_enabling_an_enabled_node_changes_nothing(graph):
    robot = Robot(graph, kp=[100.0])
    robot.torque(0)
    robot.follow(trajectory(*MOVE))
    robot.torque(1 * MS)
    answer = graph.call(SetBool, 'feedforward_node/enable', SetBool.Request(data=True))
    assert answer.message == 'enabled'
    assert robot.node.references.follower.doing == 'following a trajectory of 2 s'


def moved(robot, end=402):
    """Follow a trajectory until a time, ms."""
    robot.torque(0)
    robot.follow(trajectory(*MOVE))
    robot.torque(1 * MS)
    for k in range(51, end, 50):
        robot.torque(k * MS, robot.node.references.follower.present.q)


CALLS = {
    'stop': ['stop'] * 4,
    'disable': [False] * 4,
    'disable, enable': [False, True, False, True],
    'stop, disable, enable': ['stop', False, True, 'stop'],
    'disable, stop': [False, 'stop', 'stop', True],
}


@pytest.mark.parametrize('calls', CALLS.values(), ids=CALLS)
def test_a_stop_during_a_stop_is_the_same_stop(graph, calls):
    robot = Robot(graph, kp=[100.0])
    moved(robot)
    follower = robot.node.references.follower
    start = follower.present
    assert np.abs(start.qd).min() > 0.3
    for k, call in zip(range(431, 700, 50), [*calls, None], strict=False):
        if call == 'stop':
            graph.call(Trigger, 'feedforward_node/stop')
        elif call is not None:
            graph.call(SetBool, 'feedforward_node/enable', SetBool.Request(data=call))
        robot.torque(k * MS, follower.present.q)
        s = min((k - 401) / 1e3, SHORTEST_STOP)
        # Constant deceleration: q + v s (1 - s / 2 T)
        close(follower.present.q, start.q + start.qd * s * (1 - s / (2 * SHORTEST_STOP)))
        close(follower.present.qd, start.qd * (1 - s / SHORTEST_STOP))


@pytest.mark.parametrize('side', [1, -1], ids=['', 'mirrored'])
@pytest.mark.parametrize('way', [0.05, 0.2])
def test_an_arm_that_is_enabled_again_elsewhere_is_held_there(graph, side, way):
    """The torque is still being brought down, and the arm is falling."""
    robot = Robot(graph, max_torque_rate=[5.0])
    for k in range(0, 400, 50):
        robot.torque(k * MS)
    follower = robot.node.references.follower
    graph.call(SetBool, 'feedforward_node/enable', SetBool.Request(data=False))
    fallen = Q + side * way
    robot.torque(400 * MS, fallen)
    assert robot.node.mode is Mode.RELEASING
    graph.call(SetBool, 'feedforward_node/enable', SetBool.Request(data=True))
    robot.torque(401 * MS, fallen)
    close(follower.present.q, fallen if way > 0.1 else Q)
    assert robot.node.torques.gate.last.any()


def test_a_change_of_law_decelerates(graph):
    robot = Robot(graph, kp=[100.0])
    robot.torque(0)
    robot.follow(trajectory(*MOVE))
    wanted = messages.trajectory(trajectory(*MOVE)).in_order(('shoulder', 'elbow'))
    for k in range(1, 402, 50):
        robot.torque(k * MS, wanted.sample((k - 1) / 1e3).q)
    assert set_parameter(robot, control_law='pd_plus')
    robot.wait_for_status('stopping')
    for k in range(451, 702, 50):
        robot.torque(k * MS, wanted.sample(0.45).q)
    robot.wait_for_status('holding')


# -- live changes -------------------------------------------------------------------------------


def test_limits_change_while_running(graph, elbow):
    robot = Robot(graph, kp=[1e4])
    robot.torque(0)
    off = Q + np.array([0.1, -0.1])
    assert list(robot.torque(1 * MS, off)) == [-50, 20]
    assert set_parameter(robot, torque_limit_scale=0.5)
    assert list(robot.torque(2 * MS, off)) == [-25, 10]
    assert set_parameter(robot, max_torque_rate=[1000.0])
    assert list(robot.torque(3 * MS, 2 * Q - off)) == [-24, 9]
    assert not set_parameter(robot, torque_limit_scale=1.5)
    assert not set_parameter(robot, max_torque_rate=[1.0, 2.0, 3.0])


def test_gains_change_while_running_without_a_step_of_the_torque(graph, elbow):
    robot = Robot(graph, kp=[100.0], max_torque_rate=[-1.0])
    q = Q - 0.02
    robot.torque(0)
    taus = [robot.torque(k * 5 * MS, q if k > 20 else Q) for k in range(1, 60)]
    for name, gains in (('kp', [900.0, 300.0]), ('kd', [30.0]), ('kp', [0.0])):
        assert set_parameter(robot, **{name: gains})
        first = len(taus) + 1
        taus += [robot.torque(k * 5 * MS, q, (0.2, 0.1)) for k in range(first, first + 30)]
    steps = np.abs(np.diff(taus, axis=0))
    assert (steps <= elbow.model.effort_limit / 0.1 * 5e-3 + 1e-9).all()
    assert steps.max() > 2.4  # the rate limit was reached


def test_nothing_is_compiled_while_the_node_is_active(graph, monkeypatch):
    robot = Robot(graph, kp=[100.0])
    made = robot.node.arm.programs.made
    before = set(made)
    robot.torque(0)
    robot.follow(trajectory(*MOVE))
    settings = [('friction.law', law) for law in friction_laws.LAWS]
    settings += [('control_law', law) for law in LAWS]
    for k, (name, law) in enumerate(settings):
        assert set_parameter(robot, **{name: law})
        robot.torque((1 + k) * MS)
    assert set(made) == before


def test_the_speed_of_a_motion_changes_while_it_goes_on(graph, elbow):
    robot = Robot(graph, kp=[100.0], state_publish_rate=0.0)
    desired = graph.listen(JointState, 'feedforward_node/desired_state')
    robot.torque(0)
    robot.follow(trajectory(*MOVE))
    follower = robot.node.references.follower
    for k in range(1, 1200, 5):
        if k == 401:
            assert set_parameter(robot, speed_scale=0.0)
        if k == 801:
            assert set_parameter(robot, speed_scale=0.5)
        robot.torque(k * MS, Q if k == 1 else follower.present.q)
    graph.until(lambda: len(desired) >= 241, 'the desired states')
    stamps = np.array([messages.nanoseconds(m.header.stamp) for m in desired]) / MS
    speeds = np.array([m.velocity for m in desired])
    assert not speeds[(stamps > 700) & (stamps < 801)].any()
    assert np.abs(speeds[stamps < 400]).max() > 0.5
    assert 0.1 < np.abs(speeds[stamps > 1100]).max() < 0.4
    most = elbow.model.velocity_limit / 0.1 * 5e-3
    assert (np.abs(np.diff(speeds, axis=0)) <= 1.001 * most).all()
    assert not set_parameter(robot, speed_scale=1.5)


def test_a_continuous_joint_goes_the_short_way_though_its_encoder_wraps(graph):
    urdf = ELBOW.replace(
        '<joint name="elbow" type="revolute">', '<joint name="elbow" type="continuous">'
    )
    urdf = urdf.replace('<limit lower="-2.5" upper="2.5" effort="20"', '<limit effort="20"')
    robot = Robot(graph, description=urdf, kp=[100.0], max_torque_rate=[2000.0])
    robot.torque(0, (0.1, 3.0))
    # The points are in the order elbow, shoulder.
    robot.follow(trajectory(point(1.0, (-3.0, 0.1))))
    follower = robot.node.references.follower
    taus = []
    for k in range(1, 1200, 5):
        q = follower.present.q.copy()
        q[1] = np.arctan2(np.sin(q[1]), np.cos(q[1]))
        taus.append(robot.torque(k * MS, q))
    np.testing.assert_allclose(follower.present.q, [0.1, 2 * np.pi - 3.0])
    assert np.abs(np.diff(taus, axis=0))[20:].max() < 1.0


def test_tolerances_and_timeouts_change_while_running(graph):
    robot = Robot(graph)
    robot.torque(0)
    far = trajectory(point(0.0, (0.5, 0.1)), point(1.0, (0.2, 0.1)))
    robot.trajectories.publish(far)
    robot.wait_for_status('rejected')
    assert set_parameter(robot, start_tolerance=[0.5])
    robot.follow(far)


# -- time ---------------------------------------------------------------------------------------


def test_simulated_time_that_stands_still_jumps_or_runs_back_stops_nothing(graph, elbow):
    robot = Robot(graph, use_sim_time=True, kp=[100.0])
    clock = graph.publisher(Clock, '/clock', qos.CLOCK)
    close(robot.torque(5000 * MS), elbow.gravity_torque(Q))  # before the first /clock
    for seconds, stamp in ((10, 5001), (3, 5002), (10**6, 5003), (0, 5)):
        now = seconds * 1000 * MS
        clock.publish(Clock(clock=messages.time_message(now)))
        graph.until(lambda t=now: robot.node.get_clock().now().nanoseconds == t, 'the time')
        close(robot.torque(stamp * MS), elbow.gravity_torque(Q))


def test_an_invalid_description_changes_no_torque(graph, elbow, elbow_urdf):
    from std_msgs.msg import String

    descriptions = graph.probe.create_publisher(String, 'robot_description', qos.LATCHED)
    descriptions.publish(String(data=elbow_urdf))
    robot = Robot(graph, description=None)
    graph.until(lambda: robot.node.active, 'the robot')
    close(robot.torque(0), elbow.gravity_torque(Q))
    for bad in ('<robot name="bad"/>', 'hello', elbow_urdf.replace('0.7', 'nan')):
        rejected = robot.node.health.counts['robot_description rejected']
        descriptions.publish(String(data=bad))
        graph.until(
            lambda n=rejected: robot.node.health.counts['robot_description rejected'] > n,
            'the refusal',
        )
        close(robot.torque((rejected + 1) * MS), elbow.gravity_torque(Q))
    assert robot.node.active
    assert robot.node.failure is None


def test_another_robot_while_active_is_held_where_it_is(graph, elbow_urdf):
    from std_msgs.msg import String

    descriptions = graph.probe.create_publisher(String, 'robot_description', qos.LATCHED)
    descriptions.publish(String(data=elbow_urdf))
    robot = Robot(graph, description=None, kp=[100.0])
    graph.until(lambda: robot.node.active, 'the robot')
    robot.torque(0)
    robot.follow(trajectory(*MOVE))
    heavy = elbow_urdf.replace('value="0.7"', 'value="1.4"')
    descriptions.publish(String(data=heavy))
    graph.until(lambda: robot.node.arm.model.mass[1] == 1.4, 'the heavier robot')
    robot.wait_for_status('holding')
    close(robot.torque(1 * MS), robot.node.arm.gravity_torque(Q))


def test_another_robot_continues_the_reference_and_the_torque(graph, elbow, elbow_urdf):
    from std_msgs.msg import String

    descriptions = graph.probe.create_publisher(String, 'robot_description', qos.LATCHED)
    descriptions.publish(String(data=elbow_urdf))
    robot = Robot(graph, description=None, kp=[100.0], max_torque_rate=[1000.0])
    graph.until(lambda: robot.node.active, 'the robot')
    for k in range(20):
        before = robot.torque(k * MS)
    robot.follow(trajectory(*MOVE))
    robot.torque(21 * MS)
    wanted = messages.trajectory(trajectory(*MOVE)).in_order(('shoulder', 'elbow')).sample(0.1)
    before = robot.torque(121 * MS, wanted.q)
    descriptions.publish(String(data=elbow_urdf.replace('value="0.7"', 'value="1.4"')))
    graph.until(lambda: robot.node.arm.model.mass[1] == 1.4, 'the heavier robot')
    robot.wait_for_status('stopping')
    after = robot.torque(122 * MS, wanted.q)
    assert np.abs(after - before).max() <= 1.0 + 1e-9
    np.testing.assert_allclose(robot.node.references.follower.present.q, wanted.q, atol=5e-3)
    # Another joint begins without torque, those of the same names where they were.
    other = elbow_urdf.replace('"elbow"', '"wrist"').replace(
        'robot name="wrist"', 'robot name="b"'
    )
    descriptions.publish(String(data=other))
    graph.until(lambda: 'wrist' in robot.node.arm.model.joint_names, 'the other robot')
    assert list(robot.node.torques.gate.last) == [after[0], 0.0]


def test_efforts_of_a_trajectory_include_the_payload(graph, elbow):
    robot = Robot(graph, start_enabled=False, payload__link='forearm', payload__mass=2.0)
    robot.send(0)
    graph.until(lambda: robot.node.health.inputs, 'the state')
    points = [point(t, (0.2, 0.1), accelerations=[2.0, 1.0]) for t in (0.0, 1.0)]
    robot.trajectories.publish(trajectory(*points))
    graph.until(lambda: robot.filled, 'the filled trajectory')
    loaded = type(elbow)(elbow.model.with_payload('forearm', 2.0))
    tau = loaded.inverse_dynamics(Q, STILL, np.array([1.0, 2.0]))
    close(robot.filled[0].points[0].effort, tau)
    assert isinstance(robot.filled[0], JointTrajectory)


def test_references_are_rejected_with_gravity_only(graph):
    robot = Robot(graph, control_law='gravity_only')
    references = graph.publisher(JointTrajectory, 'reference')
    robot.torque(0)
    references.publish(trajectory(point(0.0, (0.2, 0.1))))
    graph.until(lambda: robot.node.health.counts['reference rejected'] == 1, 'the refusal')


# -- timers that fail, tolerances that were violated ----------------------------------------------


def raising(*_):
    raise np.linalg.LinAlgError('Array must not contain infs or NaNs')


@pytest.mark.slow
@pytest.mark.parametrize('choice', ['hold', 'gravity'])
def test_a_watchdog_that_fails_holds_the_arm_until_it_is_enabled_again(
    graph, elbow, monkeypatch, choice
):
    """During a motion, and in the silence after it: the last torque is published on."""
    robot = Robot(graph, kp=[100.0], silence_timeout=0.1, on_timeout=choice)
    robot.torque(0)
    robot.follow(trajectory(*MOVE))
    for k in range(1, 30):
        robot.torque(k * MS)
    monkeypatch.setattr(robot.node.watch, 'begins_silence', raising)
    robot.wait_for_status('_on_watchdog failed, the arm is held until ~/enable: LinAlgError')
    assert robot.node.status()[0] == DiagnosticStatus.ERROR
    torques = np.array([robot.torque(k * MS) for k in range(30, 600)])
    assert not robot.node.references.follower.moving
    most = 1e-3 * elbow.model.effort_limit / 0.1 * (1 + 1e-9)
    assert (np.abs(np.diff(torques, axis=0)) <= most).all()
    # No motion is followed while the arm is not protected.
    robot.trajectories.publish(trajectory(*MOVE))
    graph.drain(0.2)
    assert not robot.node.references.follower.moving
    robot.node.watch.silent = 'no joint states'
    count = len(robot.torques)
    graph.until(lambda: len(robot.torques) > count + 3, 'the torque in the silence')
    close(np.array(robot.torques[-1].effort), torques[-1])
    monkeypatch.undo()
    assert graph.call(SetBool, 'feedforward_node/enable', SetBool.Request(data=True)).success
    assert robot.node.status() is None or 'failed' not in robot.node.status()[1]


def test_any_timer_that_fails_holds_the_arm(graph, monkeypatch):
    robot = Robot(graph, kp=[100.0], diagnostics_period=0.1)
    robot.torque(0)
    monkeypatch.setattr(robot.node.diagnostics, '_duplicates', raising)
    robot.wait_for_status('_report failed, the arm is held until ~/enable: LinAlgError')
    assert robot.node.active
    assert robot.node.failure is None


def test_enable_clears_a_violated_tolerance(graph):
    robot = Robot(graph, kp=[100.0])
    robot.torque(0)
    robot.node.references.follower._violate(robot.node.watch.last, "joint 'elbow' is off")
    assert robot.node.references.status()[0] == DiagnosticStatus.ERROR
    before = robot.torque(1 * MS)
    assert graph.call(SetBool, 'feedforward_node/enable', SetBool.Request(data=True)).success
    assert robot.node.references.status() is None
    close(robot.torque(2 * MS), before)


def test_missing_states_of_a_joint_name_the_parameter_that_locks_it(graph):
    node = graph.start(FeedforwardNode)
    node.health.inputs = 1
    part = node.joint_states
    assert part.status()[1] == 'joint_states without shoulder, elbow'
    message = JointState(name=['shoulder'], position=[0.1])
    (states,) = (s.callback for s in node.subscriptions if s.topic_name == '/joint_states')
    states(serialize_message(message))
    assert part.status()[1] == (
        'joint_states without elbow; name joints that have no states in locked_joints'
    )


@pytest.mark.parametrize('step', [[0.25], [0.25, 0.1]])
def test_the_torque_step_bounds_one_command_after_lost_states(graph, step):
    """Of 20 ms' worth of the rate, 20 N m: without max_torque_step one command takes them."""
    for bound in (step, [0.0]):
        arm = CalledNode(
            graph,
            FeedforwardNode,
            ramp_time=0.0,
            max_torque_rate=[1000.0],
            max_torque_step=bound,
            effort_offset=[15.0, -10.0],
        )
        taus = [np.zeros(2)]
        for stamp in (0, 1, 2, 42, 43):
            state = JointState(name=['shoulder', 'elbow'], position=Q, velocity=[0.0, 0.0])
            state.header.stamp = messages.time_message((1000 + stamp) * MS)
            taus.append(np.array(arm.answer(state)['tau']))
        steps = np.abs(np.diff(taus, axis=0))
        if bound == [0.0]:
            assert steps[3].max() > 5.0
        else:
            assert (steps <= np.array(bound) * (1 + 1e-12)).all()
            assert steps[3].max() == pytest.approx(max(bound))
        graph.stop(arm.node)


@pytest.mark.parametrize('how', ['reset', 'activation'])
@pytest.mark.parametrize('sign', [1, -1])
def test_the_memory_of_friction_ends_with_a_reset_of_the_time_and_with_the_activation(
    graph, sign, how
):
    """The torque is that of a node without a past, not that of the motion before."""
    hand = {'control_law': 'gravity_only', 'lead_friction': 1.0, 'friction.coulomb': [0.4]}
    used, fresh = (
        CalledNode(
            graph,
            FeedforwardNode,
            ramp_time=0.0,
            max_torque_rate=[0.0],
            **hand,
            **{'friction.law': 'coulomb_memory'},
        )
        for _ in range(2)
    )

    def answer(called, k, q):
        state = JointState(name=['shoulder', 'elbow'], position=q, velocity=[0.0, 0.0])
        state.header.stamp = messages.time_message((1000 + k) * MS)
        return np.array(called.answer(state)['tau'])

    before = [answer(used, k, Q + sign * 0.01 * k) for k in range(20)][-1]
    if how == 'reset':
        begin = -500
    else:
        used.begin_anew()
        begin = 20
    q = Q + sign * 0.19
    taus = [[answer(arm, begin + k, q) for k in range(3)] for arm in (used, fresh)]
    np.testing.assert_array_equal(*taus)
    assert np.abs(before - taus[0][-1]).max() > 0.3  # the friction of the motion
