# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from simulator_view import MS, START, SimulatorView, stamp
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.nodes.feedforward_node import FeedforwardNode
from robot_dynamics.ros.nodes.simulator_node import SimulatorNode
from robot_dynamics.simulation import Simulator


def test_it_rests_at_the_start_until_the_first_command(graph):
    view = SimulatorView(graph)
    first = view.state()
    assert first.name == ['shoulder', 'elbow']
    assert first.header.frame_id == 'base'
    later = view.state(after=stamp(first) + 20 * MS)
    for message in (first, later):
        assert list(message.position) == START
        assert list(message.velocity) == [0, 0]
        assert list(message.effort) == [0, 0]


@pytest.mark.slow
def test_states_are_one_time_step_apart(graph):
    # Slow enough that a busy machine loses no state.
    view = SimulatorView(graph, time_step=0.002, real_time_factor=0.1)
    view.state(after=stamp(view.state()) + 100 * MS)
    assert view.steps() == {2 * MS}


def test_publish_every(graph):
    view = SimulatorView(graph, publish_every=10)
    view.state(after=stamp(view.state()) + 100 * MS)
    assert view.steps() == {10 * MS}


def test_efforts_by_order_move_the_arm_as_in_the_simulator(graph, elbow):
    view = SimulatorView(
        graph,
        'effort_controller/commands',
        start_paused=True,
        joints=['elbow', 'shoulder'],
        initial_positions=START[::-1],
    )
    view.commands.publish(Float64MultiArray(data=[1.0, 2.0]))
    graph.until(lambda: view.node.loop.commanded, 'the command')
    same = Simulator(elbow, q=START, time_step=1e-3)
    for k in range(5):
        response = view.call('step')
        assert (response.success, response.message) == (True, f'at 0.00{k + 1} s')
        same.step([2.0, 1.0])
        message = view.state(after=k * MS)
        assert list(message.position) == list(same.q)
        assert list(message.velocity) == list(same.qd)
        assert list(message.effort) == [2.0, 1.0]


def test_the_applied_effort_is_the_clamped_one(graph):
    view = SimulatorView(graph, start_paused=True)
    view.command([1000.0, -1000.0])
    graph.until(lambda: view.node.loop.commanded, 'the command')
    view.call('step')
    assert list(view.state(after=0).effort) == [50, -20]


NAN = float('nan')


@pytest.mark.parametrize(
    'bad',
    [
        JointState(name=['shoulder', 'elbow'], effort=[1.0, NAN]),
        JointState(name=['shoulder', 'elbow'], effort=[1.0]),
        JointState(name=['shoulder', 'elbow'], effort=[]),
        JointState(name=['shoulder'], effort=[1.0]),
        JointState(name=['shoulder', 'hip'], effort=[1.0, 1.0]),
        JointState(name=['shoulder', 'elbow', 'elbow'], effort=[1.0, 1.0, 1.0]),
    ],
    ids=['nan', 'short', 'empty', 'missing', 'unknown', 'twice'],
)
def test_an_invalid_command_by_name_is_rejected_and_counted(graph, bad):
    view = SimulatorView(graph)
    view.commands.publish(bad)
    graph.until(lambda: view.node.health.counts['command rejected'] == 1, 'the refusal')
    assert not view.node.loop.commanded


@pytest.mark.parametrize('data', [[1.0], [1.0, 2.0, 3.0], [], [1.0, NAN], [float('inf'), 1.0]])
def test_an_invalid_command_by_order_is_rejected_and_counted(graph, data):
    view = SimulatorView(graph, 'effort_controller/commands')
    view.commands.publish(Float64MultiArray(data=data))
    graph.until(lambda: view.node.health.counts['command rejected'] == 1, 'the refusal')
    assert not view.node.loop.commanded


def test_when_commands_stop_the_arm_is_braked(graph):
    view = SimulatorView(graph, command_timeout=0.05)
    view.command([5.0, 1.0])
    graph.until(lambda: view.node.loop.missed == 1, 'the timeout')
    resting = view.state(after=view.node.loop.stamp)
    assert list(resting.velocity) == [0, 0]
    assert list(resting.effort) == [0, 0]
    assert list(resting.position) != START


def test_diagnostics_warn_when_commands_stop(graph):
    view = SimulatorView(graph, command_timeout=0.05, diagnostics_period=0.1)
    reports = graph.listen(DiagnosticArray, '/diagnostics')

    def has_status(level, text):
        status = reports[-1].status[0] if reports else DiagnosticStatus()
        return status.level == level and text in status.message

    graph.until(lambda: has_status(DiagnosticStatus.WARN, 'no command yet'), 'no command')
    view.command([5.0, 1.0])
    graph.until(
        lambda: has_status(DiagnosticStatus.WARN, 'commands have stopped: brake'), 'silence'
    )

    def is_well_again():
        view.command([0.0, 0.0])
        return has_status(DiagnosticStatus.OK, 'running')

    graph.until(is_well_again, 'commands received again')


def test_lock_step_gives_one_state_per_answer(graph, elbow):
    view = SimulatorView(graph, lockstep=True, real_time_factor=0.0)
    same = Simulator(elbow, q=START, time_step=1e-3)
    rng = np.random.default_rng(0)
    for k in range(50):
        now = view.state(after=k * MS - 1)
        assert stamp(now) == k * MS
        assert list(now.position) == list(same.q)
        tau = rng.uniform(-5, 5, 2)
        same.step(tau)
        view.command(tau, at=stamp(now))
    view.state(after=49 * MS)
    assert view.node.loop.missed == 0


def test_lock_step_repeats_its_state_for_late_subscribers(graph):
    view = SimulatorView(graph, lockstep=True)
    graph.until(lambda: len(view.states) >= 3, 'repetitions')
    assert {stamp(message) for message in view.states} == {0}
    view.command([0.0, 0.0], at=MS)  # the answer to no state
    graph.until(lambda: view.node.loop.unmatched == 1, 'the command')
    assert view.node.loop.steps == 0
    view.command([0.0, 0.0], at=0)
    view.state(after=0)


def test_a_lost_answer_costs_one_timeout_and_no_more(graph):
    view = SimulatorView(graph, lockstep=True, real_time_factor=0.0, command_timeout=0.2)
    view.command([0.0, 0.0], at=stamp(view.state()))
    now = view.state(after=MS)  # no command for 1 ms
    assert view.node.loop.missed == 1
    view.command([0.0, 0.0], at=stamp(now))
    view.state(after=stamp(now))
    assert view.node.loop.missed == 1


def test_a_motion_that_diverges_is_reported_and_can_be_reset(graph):
    view = SimulatorView(graph, diagnostics_period=0.1)
    reports = graph.listen(DiagnosticArray, '/diagnostics')
    view.command([0.0, 0.0])
    graph.until(lambda: not view.node.loop.plant.braked, 'a free arm')
    view.node.loop.plant.simulator.reset(view.node.loop.plant.q, [1e200, 1e200])
    view.command([0.0, 0.0])
    graph.until(
        lambda: reports and reports[-1].status[0].level == DiagnosticStatus.ERROR, 'the error'
    )
    assert 'reset to continue' in reports[-1].status[0].message
    assert not view.call('resume').success
    assert np.isfinite([[*m.position, *m.velocity] for m in view.states]).all()
    assert view.call('reset').success
    graph.until(lambda: reports[-1].status[0].level != DiagnosticStatus.ERROR, 'recovery')


def test_the_clock_is_published_on_request(graph):
    view = SimulatorView(graph, publish_clock=True, time_step=0.01)
    clock = graph.listen(Clock, '/clock', qos.CLOCK)
    graph.until(lambda: len(clock) > 10, 'the clock')
    times = [messages.nanoseconds(message.clock) for message in clock]
    assert times == sorted(times)
    assert all(moment % (10 * MS) == 0 for moment in times)
    assert view.state(after=times[-1])


def test_no_clock_by_default(graph):
    view = SimulatorView(graph)
    view.state()
    assert graph.probe.count_publishers('/clock') == 0


@pytest.mark.parametrize('offset', [5.0, -5.0])
def test_wall_stamps_far_from_the_wall_clock_are_a_warning_with_the_remedy(graph, offset):
    view = SimulatorView(
        graph, wall_stamps=True, lockstep=True, command_timeout=1000.0, diagnostics_period=0.1
    )
    reports = graph.listen(DiagnosticArray, '/diagnostics')
    view.drive(np.random.default_rng(0), 5)
    clock = view.node.wall_clock
    view.node.wall_clock = lambda: clock() + round(offset * 1e9)
    graph.until(
        lambda: any(
            r.status[0].level == DiagnosticStatus.WARN
            and 'stamps are more than 1 s from the wall clock: set wall_stamps: false'
            in r.status[0].message
            for r in reports
        ),
        'the warning',
    )
    lag = {v.key: v.value for v in reports[-1].status[0].values}[
        'stamps behind the wall clock [s]'
    ]
    assert abs(float(lag)) > 4


def test_wall_stamps(graph):
    view = SimulatorView(graph, wall_stamps=True)
    age = graph.probe.get_clock().now().nanoseconds - stamp(view.state())
    assert abs(age) < 60e9


def test_two_command_publishers_are_rejected_until_one_is_gone(graph):
    import rclpy

    view = SimulatorView(graph)
    other = rclpy.create_node('other', context=graph.context)
    other.create_publisher(JointState, 'joint_effort', 10)
    graph.until(lambda: '/other' in view.node.commands.guard.conflict, 'the conflict')
    view.command([1.0, 1.0])
    graph.until(lambda: view.node.health.counts['command rejected'], 'the refusal')
    assert view.node.diagnostics.fault()[0] == DiagnosticStatus.ERROR
    other.destroy_node()
    graph.until(lambda: not view.node.commands.guard.conflict, 'its end')
    view.command([1.0, 1.0])
    graph.until(lambda: view.node.loop.commanded, 'the command')


def test_diagnostics_name_the_real_time_factor(graph):
    SimulatorView(graph, diagnostics_period=0.1)
    reports = graph.listen(DiagnosticArray, '/diagnostics')
    figures = {}

    def factor():
        figures.update((v.key, v.value) for r in reports[-1:] for v in r.status[0].values)
        return float(figures.get('real-time factor', 0.0))

    # A busy machine may make no step between two reports, but not for ever.
    graph.until(lambda: factor() > 0, 'a report after some steps')
    assert int(figures['steps']) > 0
    assert {'late steps', 'missed commands', 'simulated time [s]', 'model'} <= set(figures)


def test_feedforward_holds_the_arm_in_lock_step_and_survives_a_restart_and_a_reset(graph, elbow):
    def controller():
        return graph.start(
            FeedforwardNode,
            remap=['~/feedforward_torque:=joint_effort'],
            kp=[100.0],
            kd=[10.0],
            ramp_time=0.0,  # the arm in its brakes is carried at once
            max_torque_rate=[0.0],
        )

    simulator = graph.start(
        SimulatorNode,
        lockstep=True,
        real_time_factor=0.0,
        command_timeout=0.2,
        initial_positions=START,
    )
    states = graph.listen(JointState, 'joint_states', 100)
    first = controller()

    def reaches(seconds):
        graph.until(lambda: states and stamp(states[-1]) > seconds * 1e9, f'{seconds} s')
        return np.array(states[-1].position)

    np.testing.assert_allclose(reaches(0.2), START, atol=1e-9)
    graph.stop(first)
    graph.until(lambda: simulator.loop.missed, 'the loss')
    second = controller()
    then = simulator.loop.stamp / 1e9
    np.testing.assert_allclose(reaches(then + 0.2), START, atol=1e-9)
    graph.call(Trigger, 'simulator_node/reset')
    graph.until(lambda: stamp(states[-1]) < 1e9 * then, 'the start')
    missed = simulator.loop.missed
    np.testing.assert_allclose(reaches(0.2), START, atol=1e-9)
    assert simulator.loop.missed == missed
    assert second.failure is None


@pytest.mark.slow
@pytest.mark.parametrize('sends', ['nothing', 'unstamped', 'stamped'])
def test_lock_step_without_a_publisher_of_stamped_commands_is_said(
    graph, sends, monkeypatch, capfd
):
    monkeypatch.setattr('robot_dynamics.ros.nodes.simulator_node.DISCOVERY', 0.3)
    node = graph.start(SimulatorNode, lockstep=True)
    if sends == 'stamped':
        graph.publisher(JointState, 'joint_effort')
    elif sends == 'unstamped':
        other = graph.publisher(Float64MultiArray, 'effort_controller/commands')
        other.publish(Float64MultiArray(data=[0.0, 0.0]))
    for _ in range(2):
        capfd.readouterr()
        node.trigger_deactivate()
        node.trigger_activate()
        graph.drain(0.6)
        said = capfd.readouterr().err.count('nothing publishes on /joint_effort')
        assert said == (sends != 'stamped')
