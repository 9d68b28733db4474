"""Command logs of the simulator node: every bit again, at any time, on failing disks."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from simulator_view import SimulatorView

from benchmarks.shared_memory import remove_shared_memory, shared_memory
from robot_dynamics import cli
from robot_dynamics.nodes.simulator_node import SimulatorNode
from robot_dynamics.simulation.command_log import RecordedRun
from robot_dynamics.simulation.replay import replay

LOCKSTEP = {'lockstep': True, 'real_time_factor': 0.0}


def push_on(graph, frame, force):
    publisher = graph.publisher(WrenchStamped, 'external_wrench')
    message = WrenchStamped()
    message.header.frame_id = frame
    message.wrench.force.z = force
    publisher.publish(message)


@pytest.fixture
def eventful(graph, tmp_path):
    """A run with commands, a wrench, payloads, a reset, a pause and missed commands, recorded."""
    view = SimulatorView(
        graph,
        **LOCKSTEP,
        command_timeout=0.05,
        payload__link='forearm',
        wrench_timeout=0.02,
        record_to=str(tmp_path / 'run.log'),
    )
    rng = np.random.default_rng(0)
    view.drive(rng, 30)
    push_on(graph, 'forearm', 20.0)
    graph.until(lambda: view.node._loop.plant.wrenches, 'the wrench')
    view.drive(rng, 30)
    assert not view.node._loop.plant.wrenches
    assert view.set(payload__mass=1.25, payload__com=[0.1, 0.0, 0.05]) == ''
    view.drive(rng, 20)
    assert view.set(payload__mass=0.0) == ''
    view.drive(rng, 20)
    graph.until(lambda: view.node._loop.missed, 'missed commands')
    assert view.call('pause').success
    assert view.set(steps_per_call=5) == ''
    assert view.call('step').success
    assert view.call('reset').success
    assert view.set(initial_positions=[0.5, 0.5], initial_velocities=[0.1, 0.2]) == ''
    assert view.call('reset').success
    assert view.call('resume').success
    view.drive(rng, 10)
    assert view.call('pause').success
    view.last = view.node._loop.plant.q.tobytes() + view.node._loop.plant.qd.tobytes()
    view.answer = view.record(False)
    view.path = tmp_path / 'run.log'
    return view


def test_an_eventful_run_is_replayed_bit_for_bit(eventful, capsys):
    assert eventful.answer.success, eventful.answer.message
    run = RecordedRun(eventful.path)
    plant = run.plant()
    result = replay(plant, run.entries())
    assert result.agrees, result.difference
    assert result.states > 110
    assert run.complete
    assert plant.q.tobytes() + plant.qd.tobytes() == eventful.last
    assert cli.main(['replay', str(eventful.path)]) == 0
    shown = capsys.readouterr().out
    assert 'elbow: ' in shown
    assert f'{result.states} recorded states reproduced in every bit' in shown


def test_a_recording_may_begin_at_any_time_and_follow_another(graph, tmp_path):
    view = SimulatorView(graph, **LOCKSTEP)
    rng = np.random.default_rng(1)
    view.drive(rng, 20)
    nothing = view.record(True)
    assert not nothing.success
    assert 'record_to is empty' in nothing.message
    assert view.record(False).message == nothing.message
    assert view.set(record_to=str(tmp_path)) == ''
    for _ in range(2):
        begun = view.record(True)
        assert begun.success
        again = view.record(True)
        assert (again.success, again.message[:12]) == (True, 'is recording')
        view.drive(rng, 20)
        ended = view.record(False)
        assert ended.success
        assert ', 0.020 s in ' in ended.message
    assert view.record(False).message == 'is not recording'
    files = sorted(tmp_path.iterdir())
    assert len(files) == 2
    for file in files:
        assert cli.main(['replay', str(file)]) == 0


def test_an_existing_file_is_never_overwritten(graph, tmp_path):
    file = tmp_path / 'precious.log'
    file.write_text('precious')
    view = SimulatorView(graph, record_to=str(file))
    view.state()  # it simulates all the same
    level, message = view.node.diagnostics.fault()
    assert level == DiagnosticStatus.ERROR
    assert 'precious.log exists' in message
    assert not view.record(True).success
    assert file.read_text() == 'precious'
    assert view.set(record_to=str(tmp_path / 'no' / 'such' / 'folder.log')) == ''
    assert 'no such folder' in view.record(True).message


def test_a_file_that_changes_later_is_recorded_as_it_was_read(graph, tmp_path, elbow_urdf):
    file = tmp_path / 'robot.urdf'
    file.write_text(elbow_urdf)
    view = SimulatorView(
        graph, description='', robot_description_file=str(file), record_to=str(tmp_path)
    )
    assert view.record(False).success
    file.write_text(elbow_urdf.replace('mass value="1.5"', 'mass value="1.6"'))
    assert view.record(True).success
    assert view.record(False).success
    for log in tmp_path.glob('*.log'):
        assert RecordedRun(log).model.fingerprint() == view.node.base.model.fingerprint()


def test_a_remapped_node_records(graph, tmp_path):
    node = graph.start(
        SimulatorNode,
        remap=['joint_states:=states', 'joint_effort:=torques', '__node:=plant', '__ns:=/left'],
        record_to=str(tmp_path / 'run.log'),
        start_paused=True,
    )
    assert node.request(lambda control: control.step(20, node.publish_if_needed)).success
    assert node.record(False).success
    assert cli.main(['replay', str(tmp_path / 'run.log')]) == 0


def test_a_disk_that_fills_up_ends_the_recording_and_nothing_else(graph, tmp_path, monkeypatch):
    view = SimulatorView(
        graph, **LOCKSTEP, diagnostics_period=0.1, record_to=str(tmp_path / 'run.log')
    )
    reports = graph.listen(DiagnosticArray, '/diagnostics')
    view.drive(np.random.default_rng(2), 50)
    log = view.node.recording._log
    graph.until(lambda: log.records > 50, 'records on the disk')
    flushed = log.records

    class FullDisk:
        def __init__(self, file):
            self.file = file

        def write(self, data):
            raise OSError(28, 'No space left on device')

        def close(self):
            self.file.close()

    log._file = FullDisk(log._file)
    steps = view.node._loop.steps
    view.drive(np.random.default_rng(3), 50)
    graph.until(lambda: view.node.recording.failure, 'the failure')
    view.drive(np.random.default_rng(4), 50)
    assert view.node._loop.steps >= steps + 100
    graph.until(lambda: reports[-1].status[0].level == DiagnosticStatus.ERROR, 'the error')
    message = reports[-1].status[0].message
    assert 'recording ended: No space left on device' in message
    assert 'and the simulation continues' in message
    assert log.records == flushed
    assert f'the {flushed} records before that are in {tmp_path / "run.log"}' in message
    run = RecordedRun(tmp_path / 'run.log')
    result = replay(run.plant(), run.entries())
    assert result.agrees
    assert result.states > 20
    assert not run.complete
    ended = view.record(False)
    assert (ended.success, ended.message) == (False, message)
    graph.until(lambda: reports[-1].status[0].level != DiagnosticStatus.ERROR, 'the end of it')
    monkeypatch.undo()
    assert view.set(record_to=str(tmp_path / 'next.log')) == ''
    assert view.record(True).success
    assert view.record(False).success


# -- a process that is killed ---------------------------------------------------------------


@pytest.mark.processes
def test_the_log_of_a_killed_simulator_can_be_replayed(tmp_path, elbow_urdf):
    urdf, file = tmp_path / 'robot.urdf', tmp_path / 'run.log'
    urdf.write_text(elbow_urdf)
    before = shared_memory()
    process = subprocess.Popen(
        [sys.executable, '-m', 'robot_dynamics.nodes.simulator_node', '--ros-args']
        + [argument for parameter in (
            f'robot_description_file:={urdf}', f'record_to:={file}', 'hold_until_command:=false'
        ) for argument in ('-p', parameter)],
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    try:
        end = time.monotonic() + 30
        while not file.exists() or file.stat().st_size < 100_000:
            assert time.monotonic() < end
            assert process.poll() is None
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        remove_shared_memory(before)
    assert {path.name for path in tmp_path.iterdir()} == {'robot.urdf', 'run.log'}
    run = RecordedRun(file)
    result = replay(run.plant(), run.entries())
    assert result.agrees, result.difference
    assert result.states > 200
    assert not run.complete
