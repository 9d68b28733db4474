import numpy as np
import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from robot_dynamics.nodes import messages, qos
from robot_dynamics.nodes.feedforward_node import FeedforwardNode
from robot_dynamics.nodes.simulator_node import SimulatorNode
from robot_dynamics.simulation import Simulator, semi_implicit_euler

MS = 1_000_000
START = [0.3, -0.4]


def stamp(message):
    return messages.nanoseconds(message.header.stamp)


class Plant:
    """A controller's view of the simulator."""

    def __init__(self, graph, commands='joint_effort', remap=(), **parameters):
        self.graph = graph
        values = {'initial_positions': START, **parameters}
        self.node = graph.start(SimulatorNode, remap=remap, **values)
        self.states = graph.listen(JointState, 'joint_states', 100)
        kind = JointState if commands == 'joint_effort' else Float64MultiArray
        self.commands = graph.publisher(kind, commands)

    def command(self, tau, at=0, names=('elbow', 'shoulder')):
        """Send a torque in the model's order, by name."""
        message = JointState(name=list(names), effort=[float(tau[1]), float(tau[0])])
        message.header.stamp = messages.time_message(at)
        self.commands.publish(message)

    def state(self, after=-1):
        """Return a state published later than the stamp `after`."""
        self.graph.until(
            lambda: self.states and stamp(self.states[-1]) > after, f'a state after {after} ns'
        )
        return self.states[-1]

    def call(self, verb):
        return self.graph.call(Trigger, f'simulator_node/{verb}')


def test_it_rests_at_the_start_until_the_first_command(graph):
    plant = Plant(graph)
    first = plant.state()
    assert first.name == ['shoulder', 'elbow']
    assert first.header.frame_id == 'base'
    later = plant.state(after=stamp(first) + 20 * MS)
    for message in (first, later):
        assert list(message.position) == START
        assert list(message.velocity) == [0, 0]
        assert list(message.effort) == [0, 0]


def test_states_are_one_time_step_apart(graph):
    plant = Plant(graph, time_step=0.002)
    plant.state(after=stamp(plant.state()) + 100 * MS)
    steps = np.diff([stamp(message) for message in plant.states])
    assert set(steps) == {2 * MS}


def test_publish_every(graph):
    plant = Plant(graph, publish_every=10)
    plant.state(after=stamp(plant.state()) + 100 * MS)
    assert set(np.diff([stamp(message) for message in plant.states])) == {10 * MS}


def test_efforts_by_order_move_the_arm_as_the_simulator_says(graph, elbow):
    plant = Plant(
        graph,
        'effort_controller/commands',
        start_paused=True,
        joints=['elbow', 'shoulder'],
        initial_positions=START[::-1],
    )
    plant.commands.publish(Float64MultiArray(data=[1.0, 2.0]))
    graph.until(lambda: plant.node._loop.commanded, 'the command')
    same = Simulator(elbow, q=START, time_step=1e-3, integrator=semi_implicit_euler)
    for k in range(5):
        response = plant.call('step')
        assert (response.success, response.message) == (True, f'at 0.00{k + 1} s')
        same.step([2.0, 1.0])
        message = plant.state(after=k * MS)
        assert list(message.position) == list(same.q)
        assert list(message.velocity) == list(same.qd)
        assert list(message.effort) == [2.0, 1.0]


def test_the_applied_effort_is_the_clamped_one(graph):
    plant = Plant(graph, start_paused=True)
    plant.command([1000.0, -1000.0])
    graph.until(lambda: plant.node._loop.commanded, 'the command')
    plant.call('step')
    assert list(plant.state(after=0).effort) == [50, -20]


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
def test_a_bad_command_by_name_is_refused_and_counted(graph, bad):
    plant = Plant(graph)
    plant.commands.publish(bad)
    graph.until(lambda: plant.node.health.counts['command refused'] == 1, 'the refusal')
    assert not plant.node._loop.commanded


@pytest.mark.parametrize('data', [[1.0], [1.0, 2.0, 3.0], [], [1.0, NAN], [float('inf'), 1.0]])
def test_a_bad_command_by_order_is_refused_and_counted(graph, data):
    plant = Plant(graph, 'effort_controller/commands')
    plant.commands.publish(Float64MultiArray(data=data))
    graph.until(lambda: plant.node.health.counts['command refused'] == 1, 'the refusal')
    assert not plant.node._loop.commanded


def test_when_commands_stop_the_arm_is_braked(graph):
    plant = Plant(graph, command_timeout=0.05)
    plant.command([5.0, 1.0])
    graph.until(lambda: plant.node._loop.missed == 1, 'the timeout')
    resting = plant.state(after=plant.node._loop.stamp)
    assert list(resting.velocity) == [0, 0]
    assert list(resting.effort) == [0, 0]
    assert list(resting.position) != START


def test_diagnostics_warn_when_commands_stop(graph):
    plant = Plant(graph, command_timeout=0.05, diagnostics_period=0.1)
    reports = graph.listen(DiagnosticArray, '/diagnostics')

    def says(level, text):
        status = reports[-1].status[0] if reports else DiagnosticStatus()
        return status.level == level and text in status.message

    graph.until(lambda: says(DiagnosticStatus.WARN, 'no command yet'), 'no command')
    plant.command([5.0, 1.0])
    graph.until(lambda: says(DiagnosticStatus.WARN, 'commands have stopped: brake'), 'silence')

    def is_well_again():
        plant.command([0.0, 0.0])
        return says(DiagnosticStatus.OK, 'running')

    graph.until(is_well_again, 'commands heard again')


def test_lock_step_gives_one_state_per_answer(graph, elbow):
    plant = Plant(graph, lockstep=True, real_time_factor=0.0)
    same = Simulator(elbow, q=START, time_step=1e-3, integrator=semi_implicit_euler)
    rng = np.random.default_rng(0)
    for k in range(50):
        now = plant.state(after=k * MS - 1)
        assert stamp(now) == k * MS
        assert list(now.position) == list(same.q)
        tau = rng.uniform(-5, 5, 2)
        same.step(tau)
        plant.command(tau, at=stamp(now))
    plant.state(after=49 * MS)
    assert plant.node._loop.missed == 0


def test_lock_step_repeats_its_state_for_who_comes_late(graph):
    plant = Plant(graph, lockstep=True)
    graph.until(lambda: len(plant.states) >= 3, 'repetitions')
    assert {stamp(message) for message in plant.states} == {0}
    plant.command([0.0, 0.0], at=MS)  # the answer to no state
    graph.drain()
    assert plant.node._loop.steps == 0
    plant.command([0.0, 0.0], at=0)
    plant.state(after=0)


def test_a_lost_answer_costs_one_timeout_and_no_more(graph):
    plant = Plant(graph, lockstep=True, real_time_factor=0.0, command_timeout=0.2)
    plant.command([0.0, 0.0], at=stamp(plant.state()))
    now = plant.state(after=MS)  # nobody answered at 1 ms
    assert plant.node._loop.missed == 1
    plant.command([0.0, 0.0], at=stamp(now))
    plant.state(after=stamp(now))
    assert plant.node._loop.missed == 1


def test_services(graph):
    plant = Plant(graph)
    refused = plant.call('step')
    assert not refused.success
    assert 'pause first' in refused.message
    assert plant.call('pause').message == 'paused'
    again = plant.call('pause')
    assert (again.success, again.message) == (True, 'was paused already')
    steps = plant.node._loop.steps
    graph.drain(0.05)
    assert plant.node._loop.steps == steps
    assert plant.call('resume').message == 'resumed'
    assert plant.call('resume').message == 'was running already'
    plant.command([5.0, 1.0])
    graph.until(lambda: plant.states[-1].position[0] != START[0], 'a motion')
    assert plant.call('pause').success
    assert plant.call('reset').message == 'reset, paused'
    graph.until(lambda: stamp(plant.states[-1]) == 0, 'the start')
    assert list(plant.states[-1].position) == START


def test_a_motion_that_diverges_is_reported_and_can_be_reset(graph):
    plant = Plant(graph, diagnostics_period=0.1)
    reports = graph.listen(DiagnosticArray, '/diagnostics')
    plant.command([0.0, 0.0])
    graph.until(lambda: not plant.node._loop.braked, 'a free arm')
    plant.node._loop.simulator.qd = np.array([1e200, 1e200])
    plant.command([0.0, 0.0])
    graph.until(
        lambda: reports and reports[-1].status[0].level == DiagnosticStatus.ERROR, 'the error'
    )
    assert 'reset to go on' in reports[-1].status[0].message
    assert not plant.call('resume').success
    assert np.isfinite([[*m.position, *m.velocity] for m in plant.states]).all()
    assert plant.call('reset').success
    graph.until(lambda: reports[-1].status[0].level != DiagnosticStatus.ERROR, 'recovery')


def test_the_clock_is_published_on_request(graph):
    plant = Plant(graph, publish_clock=True, time_step=0.01)
    clock = graph.listen(Clock, '/clock', qos.CLOCK)
    graph.until(lambda: len(clock) > 10, 'the clock')
    times = [messages.nanoseconds(message.clock) for message in clock]
    assert times == sorted(times)
    assert all(moment % (10 * MS) == 0 for moment in times)
    assert plant.state(after=times[-1])


def test_no_clock_unless_asked(graph):
    plant = Plant(graph)
    plant.state()
    assert graph.probe.count_publishers('/clock') == 0


def test_wall_stamps(graph):
    plant = Plant(graph, wall_stamps=True)
    age = graph.probe.get_clock().now().nanoseconds - stamp(plant.state())
    assert abs(age) < 60e9


def test_two_commanders_are_refused_until_one_is_gone(graph):
    import rclpy

    plant = Plant(graph)
    rival = rclpy.create_node('rival', context=graph.context)
    rival.create_publisher(JointState, 'joint_effort', 10)
    graph.until(lambda: '/rival' in plant.node._named_guard.conflict, 'the conflict')
    plant.command([1.0, 1.0])
    graph.until(lambda: plant.node.health.counts['command refused'], 'the refusal')
    assert plant.node.trouble()[0] == DiagnosticStatus.ERROR
    rival.destroy_node()
    graph.until(lambda: not plant.node._named_guard.conflict, 'its end')
    plant.command([1.0, 1.0])
    graph.until(lambda: plant.node._loop.commanded, 'the command')


def test_diagnostics_name_the_real_time_factor(graph):
    Plant(graph, diagnostics_period=0.1)
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
    graph.until(lambda: simulator._loop.missed, 'the loss')
    second = controller()
    then = simulator._loop.stamp / 1e9
    np.testing.assert_allclose(reaches(then + 0.2), START, atol=1e-9)
    graph.call(Trigger, 'simulator_node/reset')
    graph.until(lambda: stamp(states[-1]) < 1e9 * then, 'the start')
    missed = simulator._loop.missed
    np.testing.assert_allclose(reaches(0.2), START, atol=1e-9)
    assert simulator._loop.missed == missed
    assert second.failure is None
