"""Recorded runs: standard tools read them, and they come again in every bit."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('mcap')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from mcap.reader import make_reader
from simulator_view import MS, START, SimulatorView

from benchmarks.shared_memory import remove_shared_memory, shared_memory
from robot_dynamics import cli
from robot_dynamics.nodes.simulator_node import SimulatorNode
from robot_dynamics.ros.recordings import run_file, run_messages
from robot_dynamics.ros.recordings.replay import replay_file
from robot_dynamics.ros.recordings.run_file import RecordingError
from robot_dynamics.ros.recordings.run_reader import RecordedRun
from robot_dynamics.simulation.commands import Drive, Place, Push
from robot_dynamics.simulation.replay import replay

LOCKSTEP = {'lockstep': True, 'real_time_factor': 0.0}


def push(graph, frame, force):
    publisher = graph.publisher(WrenchStamped, 'external_wrench')
    message = WrenchStamped()
    message.header.frame_id = frame
    message.wrench.force.z = force
    publisher.publish(message)


@pytest.fixture
def eventful(graph, tmp_path):
    """A run with commands, a wrench, payloads, a reset, a pause, steps and a famine, recorded."""
    view = SimulatorView(
        graph,
        **LOCKSTEP,
        command_timeout=0.05,
        payload__link='forearm',
        wrench_timeout=0.02,
        record_to=str(tmp_path / 'run.mcap'),
    )
    rng = np.random.default_rng(0)
    view.drive(rng, 30)
    push(graph, 'forearm', 20.0)
    graph.until(lambda: view.node._loop.plant.pushes, 'the wrench')
    view.drive(rng, 30)
    assert not view.node._loop.plant.pushes
    assert view.set(payload__mass=1.25, payload__com=[0.1, 0.0, 0.05]) == ''
    view.drive(rng, 20)
    assert view.set(payload__mass=0.0) == ''
    view.drive(rng, 20)
    graph.until(lambda: view.node._loop.missed, 'a famine')
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
    view.path = tmp_path / 'run.mcap'
    return view


def test_an_eventful_run_comes_again_in_every_bit(eventful, capsys):
    assert eventful.answer.success, eventful.answer.message
    run = RecordedRun(eventful.path)
    plant = run.plant()
    result = replay(plant, run.log())
    assert result.agrees, result.difference
    assert result.states > 110
    assert run.end == ''
    assert plant.q.tobytes() + plant.qd.tobytes() == eventful.last
    assert cli.main(['replay', str(eventful.path)]) == 0
    said = capsys.readouterr().out
    assert 'elbow: ' in said
    assert f'{result.states} recorded states came again, in every bit' in said


def test_standard_tools_read_it(eventful):
    mcap_ros2 = pytest.importorskip('mcap_ros2.decoder')
    heard, positions = Counter(), []
    with eventful.path.open('rb') as stream:
        reader = make_reader(stream, decoder_factories=[mcap_ros2.DecoderFactory()])
        assert reader.get_header().profile == 'ros2'
        times = []
        for schema, channel, message, decoded in reader.iter_decoded_messages():
            heard[channel.topic, schema.name] += 1
            times.append(message.log_time)
            if channel.topic == '/joint_states':
                positions.append(list(decoded.position))
                assert list(decoded.name) == ['shoulder', 'elbow']
                assert decoded.header.frame_id == 'base'
                assert len(decoded.effort) == len(decoded.velocity) == 2
    assert times == sorted(times)
    assert set(np.diff(sorted(set(times)))) == {MS}
    assert positions[0] == START
    assert heard['/robot_description', 'std_msgs/msg/String'] == 1
    assert heard['/external_wrench', 'geometry_msgs/msg/WrenchStamped'] == 2
    assert heard['/parameter_events', 'rcl_interfaces/msg/ParameterEvent'] == 5
    assert heard['/simulator_node/placed', 'sensor_msgs/msg/JointState'] == 3
    assert heard['/joint_effort', 'sensor_msgs/msg/JointState'] > 100
    assert heard['/joint_states', 'sensor_msgs/msg/JointState'] > 110
    assert len(heard) == 6


def test_rclpy_reads_it_too(eventful):
    from rclpy.serialization import deserialize_message
    from sensor_msgs.msg import JointState

    with eventful.path.open('rb') as stream:
        for _, _, message in make_reader(stream).iter_messages(topics=['/joint_states']):
            assert len(deserialize_message(message.data, JointState).position) == 2


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
        assert replay_file(file) == 0


def test_what_is_there_is_never_overwritten(graph, tmp_path):
    file = tmp_path / 'precious.mcap'
    file.write_text('precious')
    view = SimulatorView(graph, record_to=str(file))
    view.state()  # it simulates all the same
    level, message = view.node.trouble()
    assert level == DiagnosticStatus.ERROR
    assert 'is there already' in message
    assert not view.record(True).success
    assert file.read_text() == 'precious'
    assert view.set(record_to=str(tmp_path / 'no' / 'such' / 'folder.mcap')) == ''
    assert 'no such folder' in view.record(True).message


def test_a_robot_from_a_file_that_has_changed_is_not_recorded(graph, tmp_path, elbow_urdf):
    file = tmp_path / 'robot.urdf'
    file.write_text(elbow_urdf)
    view = SimulatorView(
        graph, description='', robot_description_file=str(file), record_to=str(tmp_path)
    )
    assert view.record(False).success
    file.write_text(elbow_urdf.replace('mass value="1.5"', 'mass value="1.6"'))
    refused = view.record(True)
    assert not refused.success
    assert 'has changed since the simulator read it' in refused.message


def test_a_name_of_its_own_does_no_harm(graph, tmp_path):
    node = graph.start(
        SimulatorNode,
        remap=['joint_states:=states', 'joint_effort:=torques', '__node:=plant', '__ns:=/left'],
        record_to=str(tmp_path / 'run.mcap'),
        start_paused=True,
    )
    assert node.step(20).success
    assert node.end_record().success
    with (tmp_path / 'run.mcap').open('rb') as stream:
        topics = {channel.topic for _, channel, _ in make_reader(stream).iter_messages()}
    assert {'/left/states', '/left/torques', '/left/plant/placed'} < topics
    assert replay_file(tmp_path / 'run.mcap') == 0


def test_a_disk_that_fills_up_ends_the_recording_and_nothing_else(graph, tmp_path, monkeypatch):
    view = SimulatorView(
        graph, **LOCKSTEP, diagnostics_period=0.1, record_to=str(tmp_path / 'run.mcap')
    )
    reports = graph.listen(DiagnosticArray, '/diagnostics')
    view.drive(np.random.default_rng(2), 50)
    file = view.node._recording._recorder.file
    graph.until(lambda: file.messages > 50, 'messages on the disk')
    acknowledged = file.messages

    def full(*_):
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(run_file.WholePieces, '_pwrite', full)
    monkeypatch.setattr('robot_dynamics.ros.simulator_recording.FLUSH', 0.0)
    steps = view.node._loop.steps
    view.drive(np.random.default_rng(3), 50)
    graph.until(lambda: view.node._recording.failure, 'the failure')
    view.drive(np.random.default_rng(4), 50)
    assert view.node._loop.steps >= steps + 100
    graph.until(lambda: reports[-1].status[0].level == DiagnosticStatus.ERROR, 'the error')
    message = reports[-1].status[0].message
    assert 'recording ended: No space left on device' in message
    assert 'and the simulation goes on' in message
    assert acknowledged <= file.messages
    assert f'the {file.messages} messages before that are in {tmp_path / "run.mcap"}' in message
    run = RecordedRun(tmp_path / 'run.mcap')
    result = replay(run.plant(), run.log())
    assert result.agrees
    assert result.states > 20
    assert run.end
    told = view.record(False)
    assert (told.success, told.message) == (False, message)
    graph.until(lambda: reports[-1].status[0].level != DiagnosticStatus.ERROR, 'the end of it')
    monkeypatch.undo()
    assert view.set(record_to=str(tmp_path / 'next.mcap')) == ''
    assert view.record(True).success
    assert view.record(False).success


# -- files that are not as they should be ---------------------------------------------------


def test_a_file_that_breaks_off_is_read_as_far_as_it_goes(eventful, capsys):
    whole = eventful.path.read_bytes()
    eventful.path.write_bytes(whole[: len(whole) * 2 // 3])
    assert replay_file(eventful.path) == 0
    assert 'the file was not ended' in capsys.readouterr().out


def test_another_robot_is_found_out(eventful, monkeypatch, capsys):
    from robot_dynamics.ros.recordings import run_reader

    original = run_reader.unloaded_robot

    def heavier(parameters, text):
        return original(parameters, text.replace('mass value="1.5"', 'mass value="1.5000001"'))

    monkeypatch.setattr(run_reader, 'unloaded_robot', heavier)
    assert cli.main(['replay', str(eventful.path)]) == 1
    said = capsys.readouterr().out
    assert 'then one differs: after' in said
    assert 'was recorded, and' in said
    assert 'the description gives another model than it gave the recorder' in said


@pytest.mark.parametrize('contents', [b'', b'not a recording', b'\x89MCAP0\r\n'])
def test_what_is_no_recording_is_refused(tmp_path, contents, capsys):
    file = tmp_path / 'file.mcap'
    file.write_bytes(contents)
    assert cli.main(['replay', str(file)]) == 2
    assert 'does not begin as the recording of a simulation does' in capsys.readouterr().err


def test_a_file_that_is_not_there(tmp_path, capsys):
    assert cli.main(['replay', str(tmp_path / 'none.mcap')]) == 2
    assert 'No such file' in capsys.readouterr().err


def test_replay_without_ros_says_what_it_needs(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, 'rclpy', None)
    assert cli.main(['replay', str(tmp_path / 'run.mcap')]) == 2
    assert 'replay needs ROS 2' in capsys.readouterr().err


def test_without_the_package_mcap_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'mcap.writer', None)
    with pytest.raises(RecordingError, match='pip install mcap'):
        run_file.RunFile(tmp_path / 'run.mcap', {})


# -- messages -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    'deed',
    [
        Drive(np.array([1.0, -0.0])),
        Drive(None),
        Push('forearm', np.arange(6.0)),
        Push('forearm', None),
        Place(np.array([0.1, 1e-300]), np.array([-0.0, 3.0])),
    ],
)
def test_a_deed_survives_being_written(deed):
    from rclpy.serialization import deserialize_message, serialize_message

    topic, message = run_messages.written(deed, ('shoulder', 'elbow'), 5)
    again = deserialize_message(serialize_message(message), run_messages.TYPES[topic])
    read = run_messages.deed(topic, again)
    assert type(read) is type(deed)
    for one, other in zip(read, deed, strict=True):
        if isinstance(other, np.ndarray):
            assert one.tobytes() == other.tobytes()
        else:
            assert one == other


def test_parameters_survive_being_written():
    from robot_dynamics.ros.parameters import snapshot, values
    from robot_dynamics.ros.simulator_parameters import SimulatorParameters

    given = snapshot(SimulatorParameters, {'time_step': 0.002, 'gravity': [0.0, 0.1, -9.0]})
    event = run_messages.parameter_event('/simulator_node', values(given), 7, new=True)
    assert snapshot(SimulatorParameters, run_messages.parameter_values(event)) == given


def test_definitions_name_every_type_they_need():
    text = run_messages.definition('rcl_interfaces/ParameterEvent')
    for nested in ('Parameter', 'ParameterValue'):
        assert f'MSG: rcl_interfaces/{nested}\n' in text
    assert text.count('MSG: builtin_interfaces/Time\n') == 1
    with pytest.raises(RecordingError, match=r'std_msgs is installed without msg/NoSuch\.msg'):
        run_messages.definition('std_msgs/NoSuch')


# -- a process that is killed ---------------------------------------------------------------


def test_of_a_simulator_that_is_killed_what_was_on_the_disk_remains(tmp_path, elbow_urdf):
    urdf, file = tmp_path / 'robot.urdf', tmp_path / 'run.mcap'
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
    assert {path.name for path in tmp_path.iterdir()} == {'robot.urdf', 'run.mcap'}
    run = RecordedRun(file)
    result = replay(run.plant(), run.log())
    assert result.agrees, result.difference
    assert result.states > 200
    assert run.end
