# SPDX-License-Identifier: Apache-2.0
"""What can go wrong around a simulator, and what it does then."""

import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from rosgraph_msgs.msg import Clock
from simulator_view import MS, START, SimulatorView, stamp

from robot_dynamics.common.errors import FrameNotFound
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.ros import messages, qos
from robot_dynamics.simulation import Simulator
from robot_dynamics.simulation.run_control import RunState

NAN = float('nan')
ELASTIC = {
    'elasticity__stiffness': [500.0],
    'rotor_inertia': [0.1, 0.05],
    'effort_offset': [0.5, -0.5],
}


def wrench(frame, force=(0.0, 0.0, 10.0), torque=(0.0, 0.0, 0.0)):
    message = WrenchStamped()
    message.header.frame_id = frame
    for vector, values in ((message.wrench.force, force), (message.wrench.torque, torque)):
        vector.x, vector.y, vector.z = values
    return message


# -- a commander in another process ---------------------------------------------------------

COMMANDER = """
import sys, time
import rclpy
from sensor_msgs.msg import JointState
rclpy.init()
node = rclpy.create_node(sys.argv[1])
out = node.create_publisher(JointState, 'joint_effort', 10)
while not out.get_subscription_count():
    time.sleep(0.01)
message = JointState(name=['shoulder', 'elbow'], effort=[1.0, 0.5])
period, due = float(sys.argv[2]), time.perf_counter()
while True:
    out.publish(message)
    due += period
    time.sleep(max(0.0, due - time.perf_counter()))
"""


@pytest.fixture
def commander():
    processes = []

    def start(name, rate):
        processes.append(subprocess.Popen([sys.executable, '-c', COMMANDER, name, str(1 / rate)]))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()


@pytest.mark.slow
@pytest.mark.processes
def test_a_flood_of_commands_neither_stops_nor_deafens_it(graph, commander):
    view = SimulatorView(graph, diagnostics_period=0.1)
    graph.probe.destroy_publisher(view.commands)
    reports = graph.listen(DiagnosticArray, '/diagnostics')
    commander('flood', 10_000)
    rates = []

    def flooded():
        for report in reports:
            for item in report.status[0].values:
                if item.key == 'input rate [Hz]':
                    rates.append(float(item.value))
        reports.clear()
        return sum(rate > 1500 for rate in rates) >= 3

    graph.until(flooded, 'more commands than there are steps')
    before = view.node.loop.steps
    assert view.call('pause').success
    steps = view.node.loop.steps
    assert steps >= before
    assert view.call('step').success
    assert view.call('resume').success
    graph.until(lambda: view.node.loop.steps > steps + 100, 'time to go on')
    np.testing.assert_array_equal(view.node.loop.plant.effort, [1.0, 0.5])
    assert not view.node.commands.guard.conflict
    assert view.node.health.counts['command rejected'] == 0


@pytest.mark.slow
@pytest.mark.processes
def test_a_killed_command_publisher_may_return(graph, commander):
    view = SimulatorView(graph, command_timeout=0.2)
    graph.probe.destroy_publisher(view.commands)
    first = commander('controller', 200)
    graph.until(lambda: view.node.loop.commanded, 'the first')
    first.kill()
    first.wait()
    graph.until(lambda: view.node.loop.starved, 'the silence')
    graph.until(lambda: view.node.loop.plant.braked, 'the brakes')
    missed = view.node.loop.missed
    # The dead publisher is still in the graph and must not block its successor.
    commander('controller', 200)
    graph.until(lambda: not view.node.loop.plant.braked, 'the second')
    assert view.node.loop.missed == missed
    assert view.node.health.counts['command rejected'] == 0


# -- clocks ---------------------------------------------------------------------------------


def test_a_clock_that_jumps_back_is_counted_and_the_arm_is_held(graph):
    view = SimulatorView(graph, command_timeout=0.5)
    view.command([1.0, 0.5])
    graph.until(lambda: not view.node.loop.plant.braked, 'a motion')
    view.node.clock = lambda: time.monotonic() - 1000.0
    steps = view.node.loop.steps
    graph.until(lambda: view.node.loop.steps > steps + 50, 'time to go on')
    # The age of the last command is unknown.
    assert view.node.loop.plant.braked
    assert view.node.loop.pace.jumps == 1
    assert view.node.figures()['clock jumps'] == '1'
    view.command([1.0, 0.5])
    graph.until(lambda: not view.node.loop.plant.braked, 'the next command')


def test_a_clock_that_jumps_ahead_is_not_caught_up(graph):
    view = SimulatorView(graph)
    view.state(after=20 * MS)
    view.node.clock = lambda: time.monotonic() + 1000.0
    steps = view.node.loop.steps
    graph.until(lambda: view.node.loop.pace.restarts == 1, 'a new schedule')
    assert view.node.loop.steps < steps + 1000
    graph.until(lambda: view.node.loop.steps > steps + 50, 'time to go on')


def test_simulated_time_of_others_that_runs_backwards_does_not_matter(graph):
    view = SimulatorView(graph, use_sim_time=True)
    clock = graph.publisher(Clock, '/clock', qos.CLOCK)
    for seconds in (10, 11, 1, 2):
        clock.publish(Clock(clock=messages.time_message(seconds * SECOND)))
        steps = view.node.loop.steps
        graph.until(lambda steps=steps: view.node.loop.steps > steps + 20, 'time to go on')


def test_stamps_never_run_backwards_but_by_a_reset(graph):
    view = SimulatorView(graph, wall_stamps=True)
    view.state(after=stamp(view.state()) + 50 * MS)
    stamps = [stamp(message) for message in view.states]
    assert stamps == sorted(stamps)


# -- wrenches -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('bad', 'why'),
    [
        (wrench('hand'), "no frame 'hand'; the model has"),
        (wrench(''), "no frame ''; the model has"),
        (wrench('forearm', force=(0.0, NAN, 0.0)), 'external_wrench must be finite: force.y'),
        (wrench('forearm', torque=(float('inf'), 0.0, 0.0)), 'torque.x = inf'),
    ],
)
def test_an_invalid_wrench_is_rejected_and_counted(graph, bad, why, capfd):
    view = SimulatorView(graph)
    graph.publisher(WrenchStamped, 'external_wrench').publish(bad)
    graph.until(lambda: view.node.health.counts['external wrench rejected'], 'the refusal')
    assert not view.node.loop.plant.wrenches
    assert why in capfd.readouterr().err


def test_a_wrench_acts_until_its_timeout(graph, elbow):
    view = SimulatorView(graph, start_paused=True, wrench_timeout=0.005)
    view.command([0.0, 0.0])
    graph.until(lambda: view.node.loop.commanded, 'the command')
    publisher = graph.publisher(WrenchStamped, 'external_wrench')
    publisher.publish(wrench('forearm', (1.0, 2.0, 30.0), (0.5, 3.0, 0.1)))
    graph.until(lambda: view.node.loop.plant.wrenches, 'the wrench')
    assert view.set(steps_per_call=10) == ''
    assert view.call('step').success
    same = Simulator(elbow, q=START)
    for k in range(10):
        R = elbow.forward_kinematics(same.q, 'forearm')[:3, :3]
        F = np.concatenate([R @ [0.5, 3.0, 0.1], R @ [1.0, 2.0, 30.0]])
        same.step([0.0, 0.0], wrenches={'forearm': F} if k < 5 else None)
    np.testing.assert_array_equal(view.node.loop.plant.q, same.q)
    np.testing.assert_array_equal(view.node.loop.plant.qd, same.qd)


def test_frames_are_prepared_at_start_and_have_to_be_there(graph):
    view = SimulatorView(graph, wrench_frames=['forearm'])
    view.state()
    graph.stop(view.node)
    with pytest.raises(FrameNotFound, match="no frame 'hand'"):
        SimulatorView(graph, wrench_frames=['forearm', 'hand'])


def test_a_wrench_of_zero_takes_the_last_one_away(graph):
    view = SimulatorView(graph, start_paused=True)
    publisher = graph.publisher(WrenchStamped, 'external_wrench')
    publisher.publish(wrench('forearm'))
    graph.until(lambda: view.node.loop.plant.wrenches, 'the wrench')
    publisher.publish(wrench('forearm', (0.0, 0.0, 0.0)))
    graph.until(lambda: not view.node.loop.plant.wrenches, 'its end')


# -- payloads -------------------------------------------------------------------------------


def test_a_payload_comes_and_goes_while_the_arm_moves(graph, elbow):
    view = SimulatorView(graph, start_paused=True, payload__link='forearm')
    view.command([1.0, 0.5])
    graph.until(lambda: view.node.loop.commanded, 'the command')
    same = Simulator(elbow, q=START, payload_links=['forearm'])
    assert view.set(steps_per_call=5) == ''

    def both():
        assert view.call('step').success
        for _ in range(5):
            same.step([1.0, 0.5])
        np.testing.assert_array_equal(view.node.loop.plant.q, same.q)

    both()
    assert view.set(payload__mass=2.0, payload__com=[0.1, 0.0, 0.0]) == ''
    same.attach('forearm', 2.0, [0.1, 0.0, 0.0], np.zeros((3, 3)))
    both()
    assert 'payload.mass' in view.set(payload__mass=-1.0)
    assert 'physically inconsistent' in view.set(payload__inertia=[1.0, 0.0, 0.0, 0.1, 0.0, 0.1])
    both()
    assert view.set(payload__mass=0.0) == ''
    same.drop('forearm')
    both()


def test_a_payload_given_at_the_start_is_carried_from_the_first_step(graph, elbow):
    load = {'payload__mass': 2.0, 'payload__com': [0.1, 0.0, 0.0]}
    view = SimulatorView(graph, start_paused=True, payload__link='forearm', **load)
    view.command([1.0, 0.5])
    graph.until(lambda: view.node.loop.commanded, 'the command')
    same = Simulator(elbow, q=START, payload_links=['forearm'])
    same.attach('forearm', 2.0, [0.1, 0.0, 0.0], np.zeros((3, 3)))
    assert view.call('step').success
    same.step([1.0, 0.5])
    np.testing.assert_array_equal(view.node.loop.plant.q, same.q)


def test_a_payload_without_a_link_is_rejected(graph):
    view = SimulatorView(graph)
    assert 'payload.link must name the link that carries it' in view.set(payload__mass=1.0)
    assert not view.node.loop.plant.simulator.payloads


# -- motions that explode -------------------------------------------------------------------


@pytest.mark.parametrize('force', [1e200, 1e308])
@pytest.mark.filterwarnings('ignore:overflow', 'ignore:invalid value')
def test_a_wrench_beyond_all_measure_pauses_the_simulation(graph, force):
    view = SimulatorView(graph, start_paused=True, hold_until_command=False)
    publisher = graph.publisher(WrenchStamped, 'external_wrench')
    publisher.publish(wrench('forearm', (force, force, force), (force, force, force)))
    graph.until(lambda: view.node.loop.plant.wrenches, 'the wrench')
    assert view.set(steps_per_call=100) == ''
    stopped = view.call('step')
    assert not stopped.success
    assert 'reset to continue' in stopped.message
    assert np.isfinite(view.node.loop.plant.q).all()
    assert view.call('reset').success
    assert view.call('step').success


def test_energy_out_of_nothing_pauses_the_simulation(graph):
    view = SimulatorView(
        graph,
        integrator='explicit_euler',
        time_step=0.05,
        stops__kind='none',
        real_time_factor=0.0,
        hold_until_command=False,
        initial_velocities=[4.0, -5.0],
        friction__viscous=[0.0],
        friction__coulomb=[0.0],
        diagnostics_period=0.1,
    )
    reports = graph.listen(DiagnosticArray, '/diagnostics')
    graph.until(lambda: view.node.loop.diverged, 'the explosion')
    assert view.node._control.state is RunState.PAUSED
    graph.until(
        lambda: reports and reports[-1].status[0].level == DiagnosticStatus.ERROR, 'the error'
    )
    assert 'reset to continue' in reports[-1].status[0].message
    assert np.isfinite([[*m.position, *m.velocity] for m in view.states]).all()
    assert not view.call('resume').success
    assert not view.call('step').success
    assert view.call('reset').message == 'reset, paused'
    assert view.call('resume').success


# -- the node's own life --------------------------------------------------------------------


def test_deactivated_it_stands_still_and_activated_it_begins_anew(graph):
    view = SimulatorView(graph, hold_until_command=False)
    view.state(after=50 * MS)
    view.node.trigger_deactivate()
    steps = view.node.loop.steps
    rejected = view.call('pause')
    assert (rejected.success, rejected.message) == (False, 'the node is inactive')
    graph.drain(0.1)
    assert view.node.loop.steps == steps
    view.states.clear()
    view.node.trigger_activate()
    assert stamp(view.state()) < steps * MS
    assert list(view.states[0].position) == START


@pytest.mark.parametrize('paused', [False, True])
def test_activated_again_it_runs_or_pauses_as_at_its_start(graph, paused):
    view = SimulatorView(graph, hold_until_command=False, start_paused=paused)
    assert view.call('resume' if paused else 'pause').success
    for transition in ('deactivate', 'activate'):
        getattr(view.node, f'trigger_{transition}')()
    assert view.call('resume').message == ('resumed' if paused else 'was running already')


def test_another_robot_begins_at_its_start(graph, elbow_urdf):
    from std_msgs.msg import String

    from robot_dynamics.ros.nodes.simulator_node import SimulatorNode

    description = graph.probe.create_publisher(String, 'robot_description', qos.LATCHED)
    description.publish(String(data=elbow_urdf))
    node = graph.start(SimulatorNode, description='')
    graph.until(lambda: node.active, 'the description')
    first = node.loop
    graph.until(lambda: first.steps > 20, 'time to go on')
    description.publish(String(data=elbow_urdf.replace('mass value="1.5"', 'mass value="1.6"')))
    graph.until(lambda: node.loop is not first, 'the other robot')
    graph.until(lambda: node.loop.steps > 20, 'time to go on')
    description.publish(String(data='<robot'))
    graph.until(lambda: node.health.counts['robot_description rejected'], 'the refusal')
    second, steps = node.loop, node.loop.steps
    graph.until(lambda: second.steps > steps + 20, 'the good one to go on')


def test_the_speed_may_change_any_time(graph):
    view = SimulatorView(graph)
    view.state(after=10 * MS)
    assert view.set(real_time_factor=0.0) == ''
    view.state(after=stamp(view.states[-1]) + 500 * MS)
    assert view.set(real_time_factor=0.5, publish_every=5) == ''
    graph.drain(0.05)
    view.states.clear()
    view.state(after=view.node.loop.stamp + 50 * MS)
    assert view.steps() == {5 * MS}
    for bad in (-1.0, NAN, 1e9):
        assert view.set(real_time_factor=bad) != ''
    assert view.node.parameters.real_time_factor == 0.5


@pytest.mark.slow
def test_a_slow_simulation_that_gets_faster_is_polled_as_often_at_once(graph):
    view = SimulatorView(graph, hold_until_command=False, real_time_factor=1e-3)
    view.state()
    assert view.set(real_time_factor=1.0) == ''
    view.state(after=100 * MS)


@pytest.mark.parametrize(
    'joint_models',
    [{}, ELASTIC, {'drives__delay': 0.002}],
    ids=['default', 'elastic', 'delay'],
)
def test_the_same_commands_give_the_same_bits(graph, joint_models):
    ends = []
    for _ in range(2):
        view = SimulatorView(graph, lockstep=True, real_time_factor=0.0, **joint_models)
        view.drive(np.random.default_rng(5), 100)
        plant = view.node.loop.plant
        ends.append(plant.q.tobytes() + plant.qd.tobytes())
        graph.stop(view.node)
        graph.probe.destroy_publisher(view.commands)
    assert ends[0] == ends[1]
