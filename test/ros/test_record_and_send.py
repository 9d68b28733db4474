# SPDX-License-Identifier: Apache-2.0
"""The verbs `record` and `send`: from excitation to an identified model, without ros2cli."""

import json
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('rosbags')

from elbow import ELBOW
from feedforward_view import MS, Robot, point, trajectory
from live_nodes import start_python
from rclpy import create_node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger
from tiers import soak

from robot_dynamics import Dynamics, cli
from robot_dynamics.control import Trajectory
from robot_dynamics.control.trajectory_file import write_trajectory
from robot_dynamics.recordings import by_joint, read_bag
from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.bag_recorder import RecordedTopic
from robot_dynamics.ros.nodes.feedforward_node import FeedforwardNode
from robot_dynamics.ros.nodes.simulator_node import SimulatorNode
from robot_dynamics.urdf.loading import parse_urdf

pytestmark = pytest.mark.processes

NAMES = ('shoulder', 'elbow')
# The simulated arm differs from the description that the others know.
TRUE = ELBOW.replace('mass value="1.5"', 'mass value="1.8"').replace(
    'mass value="0.7"', 'mass value="0.5"'
)
LOCKSTEP = {'lockstep': True, 'real_time_factor': 0.0, 'command_timeout': 30.0}


def verb(*arguments):
    return start_python('-m', 'robot_dynamics.cli', *map(str, arguments))


def result(graph, process):
    """Spin until a process has ended; return its exit code and output."""
    graph.until(lambda: process.poll() is not None, f'the end of {process.args[2:]}')
    return process.returncode, process.stdout.read()


@pytest.fixture
def arm(graph):
    """Return a function that starts a simulated arm and its controller."""

    def start(description=ELBOW, **parameters):
        graph.start(
            SimulatorNode,
            description=description,
            remap=['robot_description:=unused'],
            **(LOCKSTEP | parameters),
        )
        controller = graph.start(
            FeedforwardNode,
            remap=['~/feedforward_torque:=joint_effort'],
            kp=[200.0],
            kd=[20.0],
            ramp_time=0.0,
        )
        described = graph.probe.create_publisher(String, 'robot_description', qos.LATCHED)
        described.publish(String(data=ELBOW))
        return controller

    return start


@pytest.fixture
def motion(tmp_path):
    """A file with a motion of both joints there and back."""
    file = tmp_path / 'motion.yaml'
    q = [[0.0, 0.0], [0.8, -0.6], [0.0, 0.0]]
    write_trajectory(Trajectory(NAMES, [0.0, 1.0, 2.0], q, [[0.0, 0.0]] * 3), file)
    return file


# -- the chain ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_recorded_motion_identifies_the_arm(graph, arm, tmp_path):
    urdf, motion, bag = tmp_path / 'elbow.urdf', tmp_path / 'motion.yaml', tmp_path / 'run'
    urdf.write_text(ELBOW)
    size = '--period', '4', '--harmonics', '3', '--repeats', '2'
    assert cli.main(['excite', str(urdf), '--start', '0', *size, '--output', str(motion)]) == 0
    arm(TRUE, sensors__effort_noise=[0.02], sensors__position_noise=[1e-5])
    recorder = verb('record', bag)
    graph.until(lambda: (bag / 'run.mcap').exists(), 'the recording')
    code, output = result(graph, verb('send', motion))
    assert (code, output.splitlines()[-1]) == (0, f'{motion}: reached'), output
    recorder.send_signal(signal.SIGINT)
    code, output = result(graph, recorder)
    assert code == 0, output
    assert '/joint_states' in output
    assert '/joint_effort' in output
    assert 'warning' not in output

    for reader in ('evaluate', 'identify'):
        assert cli.main([reader, str(bag), '--json', str(tmp_path / f'{reader}.json')]) == 0
    assert cli.main(['payload', str(bag), '--link', 'forearm']) == 0
    identified = tmp_path / 'identified.urdf'
    assert cli.main(['identify', str(bag), '--output', str(identified)]) == 0
    found, described, true = (
        Dynamics(parse_urdf(text)) for text in (identified.read_bytes(), ELBOW, TRUE)
    )
    q = np.random.default_rng(0).uniform(-2, 2, (100, 2))
    before, after = (
        np.abs(arm.gravity_torque(q) - true.gravity_torque(q)).max(axis=0)
        for arm in (described, found)
    )
    assert (after < 0.05 * before).all()
    figures = json.loads((tmp_path / 'evaluate.json').read_text())
    assert figures['samples'] > 0


@pytest.mark.slow
def test_the_recording_has_every_message_of_its_topics(graph, tmp_path):
    """Names, order and values as published: latched, reliable and best effort, three types."""
    bag = tmp_path / 'run'
    described = graph.probe.create_publisher(String, 'left/arm/robot_description', qos.LATCHED)
    described.publish(String(data=ELBOW))
    states = graph.probe.create_publisher(JointState, 'left/states', qos.JOINT_STATES_IN)
    commands = graph.probe.create_publisher(Float64MultiArray, 'left/commands', 10)
    topics = (
        '--joint-states',
        'states',
        '--description',
        'arm/robot_description',
        '--commands',
        'commands',
        'none',
    )
    recorder = verb('record', bag, '--namespace', 'left', *topics)
    graph.until(
        lambda: states.get_subscription_count() and commands.get_subscription_count(),
        'the recorder',
    )
    q = np.random.default_rng(0).normal(size=(50, 2))
    for k, row in enumerate(q):
        message = JointState(name=['elbow', 'shoulder'], position=row, effort=2 * row)
        message.header.stamp = messages.time_message((k + 1) * MS)
        states.publish(message)
        commands.publish(Float64MultiArray(data=3 * row))
        graph.drain(0.01)
    graph.drain(0.2)
    recorder.send_signal(signal.SIGTERM)
    code, output = result(graph, recorder)
    assert code == 0, output
    assert '50 on /left/states, 1 on /left/arm/robot_description, 50 on /left/commands' in output

    found = read_bag(bag)
    assert (found.topic, found.description) == ('/left/states', ELBOW)
    assert [sample.stamp for sample in found.samples] == [k * MS for k in range(1, 51)]
    recording = by_joint(found.samples, NAMES)
    np.testing.assert_array_equal(recording.q, q[:, ::-1])
    np.testing.assert_array_equal(recording.effort, 2 * q[:, ::-1])
    logged = np.array([sample.logged for sample in found.samples])
    assert (np.diff(logged) > 0).all()

    from rosbags.highlevel import AnyReader
    from rosbags.typesys import Stores, get_typestore

    with AnyReader([bag], default_typestore=get_typestore(Stores.LATEST)) as reader:
        rows = [
            reader.deserialize(data, connection.msgtype).data
            for connection, _, data in reader.messages()
            if connection.topic == '/left/commands'
        ]
        offered = {
            connection.topic: [
                (profile.reliability.name, profile.durability.name)
                for profile in connection.ext.offered_qos_profiles
            ]
            for connection in reader.connections
        }
    np.testing.assert_array_equal(rows, 3 * q)
    # With these `ros2 bag play` latches again what was latched.
    assert offered == {
        '/left/states': [('BEST_EFFORT', 'VOLATILE')],
        '/left/arm/robot_description': [('RELIABLE', 'TRANSIENT_LOCAL')],
        '/left/commands': [('RELIABLE', 'VOLATILE')],
    }
    assert 'durability: transient_local' in (bag / 'metadata.yaml').read_text()


# -- ends of a recording ------------------------------------------------------------------------


@pytest.fixture
def states(graph):
    """A driver that publishes joint states while the graph turns, with their number as time."""
    publisher = graph.probe.create_publisher(JointState, 'joint_states', 10)
    driver = SimpleNamespace(count=0, frame=1000 * 'base')  # a file of megabytes in seconds

    def publish():
        k = driver.count
        driver.count += 1
        message = JointState(name=list(NAMES), position=[0.01 * k, 1.0], effort=[1.0, 2.0])
        message.header.stamp = messages.time_message(k * MS)
        message.header.frame_id = driver.frame
        publisher.publish(message)

    graph.probe.create_timer(0.002, publish)
    return driver


def recording(graph, folder, *options):
    """Start a recording of the driver; return the process once it has a file."""
    process = verb('record', folder, *options)
    graph.until(lambda: (folder / f'{folder.name}.mcap').exists(), 'the recording')
    return process


@pytest.mark.slow
@pytest.mark.parametrize('number', [signal.SIGINT, *soak([signal.SIGTERM, signal.SIGHUP])])
def test_a_signal_ends_a_recording_that_can_be_read(graph, states, tmp_path, number):
    process = recording(graph, tmp_path / 'run')
    graph.drain(0.5)
    process.send_signal(number)
    code, output = result(graph, process)
    assert code == 0, output
    assert 'warning: no robot_description on /robot_description' in output
    found = read_bag(tmp_path / 'run')
    stamps = [sample.stamp // MS for sample in found.samples]
    assert len(stamps) > 20
    assert stamps == list(range(stamps[0], stamps[-1] + 1))  # none is missing


@pytest.mark.slow
def test_a_duration_ends_a_recording(graph, states, tmp_path):
    code, output = result(graph, recording(graph, tmp_path / 'run', '--duration', '0.5'))
    assert code == 0, output
    logged = [sample.logged for sample in read_bag(tmp_path / 'run').samples]
    assert 0.4e9 < logged[-1] - logged[0] < 5e9


@pytest.mark.slow
@pytest.mark.parametrize('size', [1, *soak([1000])], ids=['part of a chunk', 'chunks'])
def test_what_a_killed_recorder_has_written_is_readable(graph, states, tmp_path, size):
    StreamReader = pytest.importorskip('mcap.stream_reader').StreamReader
    states.frame = size * 'base'
    file = tmp_path / 'run' / 'run.mcap'
    process = recording(graph, tmp_path / 'run')
    graph.drain(0.5)
    written = states.count
    graph.drain(1.5)
    process.kill()
    process.wait()
    found = [sample.stamp // MS for sample in read_bag(tmp_path / 'run').samples]
    assert found == list(range(found[0], found[-1] + 1))
    assert found[-1] > written
    # Complete for other readers as well
    with file.open('rb') as stream:
        records = [type(one).__name__ for one in StreamReader(stream).records]
    assert records[-2:] == ['DataEnd', 'Footer']
    assert records.count('Message') == len(found)


@pytest.mark.slow
def test_a_disk_that_is_full_is_an_error_with_the_file(graph, states, tmp_path):
    limited = """
import resource, sys
from robot_dynamics import cli
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
sys.exit(cli.main(sys.argv[1:]))
"""
    process = start_python('-c', limited, 'record', str(tmp_path / 'run'))
    code, output = result(graph, process)
    assert code == 2
    assert f'{tmp_path / "run"}: File too large: the recording has ended early' in output
    assert 'Traceback' not in output


# -- what is refused ----------------------------------------------------------------------------


@pytest.mark.slow
def test_without_joint_states_nothing_is_recorded(graph, tmp_path):
    described = graph.probe.create_publisher(String, 'robot_description', qos.LATCHED)
    described.publish(String(data=ELBOW))
    code, output = result(graph, verb('record', tmp_path / 'run', '--timeout', '1'))
    assert code == 2
    assert 'no joint states on /joint_states within 1 s' in output
    assert '--joint-states or --namespace' in output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_recording_is_replaced_on_request_and_nothing_else(graph, states, tmp_path, capsys):
    folder = tmp_path / 'run'
    short = '--duration', '0.1'
    assert result(graph, recording(graph, folder, *short))[0] == 0
    before = (folder / 'run.mcap').read_bytes()
    assert cli.main(['record', str(folder), *short]) == 2
    error = capsys.readouterr().err
    assert error == f'robot-dynamics: {folder} exists: name a new folder, or --force\n'
    assert (folder / 'run.mcap').read_bytes() == before
    assert result(graph, verb('record', folder, '--force', *short))[0] == 0
    assert (folder / 'run.mcap').read_bytes() != before
    (folder / 'thesis.tex').touch()
    assert cli.main(['record', str(folder), '--force', *short]) == 2
    assert "holds 'thesis.tex', which is not of a recording" in capsys.readouterr().err
    assert {file.name for file in folder.iterdir()} == {'run.mcap', 'metadata.yaml', 'thesis.tex'}


OTHERS = """
rosbag2_bagfile_information:
  relative_file_paths: {files}
  custom_data: {data}
"""
OURS = '{recorder: robot-dynamics record}'


@pytest.mark.parametrize(
    ('files', 'held'),
    [
        ({'gains.yaml': 'kp: 3'}, 'gains.yaml'),
        ({'run.mcap/thesis/chapter_1.tex': ''}, 'run.mcap'),
        ({'metadata.yaml': 'title: a thesis', 'run.mcap': ''}, 'metadata.yaml'),
        ({'metadata.yaml': '- 1', 'run.mcap': ''}, 'metadata.yaml'),
        ({'metadata.yaml': '[', 'run.mcap': ''}, 'metadata.yaml'),
        ({'metadata.yaml/run.mcap': ''}, 'metadata.yaml'),
        ({'run.mcap': ''}, 'run.mcap'),
        # Of another recorder
        ({'metadata.yaml': OTHERS.format(files='[a.tex]', data='null'), 'a.tex': ''}, 'a.tex'),
        # Of a recording, whose file was replaced by a folder, or that has got another file
        (
            {'metadata.yaml': OTHERS.format(files='[run.mcap]', data=OURS), 'run.mcap/a.tex': ''},
            'run.mcap',
        ),
        ({'metadata.yaml': OTHERS.format(files='[run.mcap]', data=OURS), 'a.mcap': ''}, 'a.mcap'),
        ({'metadata.yaml': OTHERS.format(files='[../a.tex]', data=OURS), 'a.tex': ''}, 'a.tex'),
    ],
)
def test_only_files_that_record_wrote_are_replaced(tmp_path, capsys, files, held):
    folder = tmp_path / 'run'
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    before = {file: file.is_file() and file.read_text() for file in tmp_path.rglob('*')}
    assert cli.main(['record', str(folder), '--force', '--timeout', '0.1']) == 2
    assert f'{folder} holds {held!r}, which is not of a recording' in capsys.readouterr().err
    after = {file: file.is_file() and file.read_text() for file in tmp_path.rglob('*')}
    assert after == before


def test_a_link_is_not_replaced(tmp_path, capsys):
    (tmp_path / 'thesis').mkdir()
    (tmp_path / 'run').symlink_to(tmp_path / 'thesis')
    assert cli.main(['record', str(tmp_path / 'run'), '--force', '--timeout', '0.1']) == 2
    assert f'{tmp_path / "run"} is a link; expected a folder' in capsys.readouterr().err


@pytest.mark.parametrize('name', ['record', 'send'])
@pytest.mark.parametrize(
    ('options', 'reason'),
    [
        (('--namespace', 'a b'), "--namespace is 'a b'"),
        (('--{topic}', '2nd'), "--{topic} is '2nd'"),
    ],
)
def test_an_invalid_name_is_named_with_its_option(tmp_path, motion, capsys, name, options, reason):
    topic = {'record': 'joint-states', 'send': 'status'}[name]
    target = {'record': tmp_path / 'run', 'send': motion}[name]
    words = [word.format(topic=topic) for word in options]
    assert cli.main([name, str(target), *words]) == 2
    error = capsys.readouterr().err
    assert reason.format(topic=topic) in error
    assert error.count('\n') == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ('missing', 'name', 'reason'),
    [
        ('rclpy', 'record', 'record needs ROS 2'),
        pytest.param('rclpy', 'send', 'send needs ROS 2', marks=pytest.mark.slow),
        ('rosbags.rosbag2', 'record', 'recordings are written by rosbags'),
    ],
)
def test_what_is_not_installed_is_named(tmp_path, motion, missing, name, reason):
    code = (
        f'import sys; sys.modules[{missing!r}] = None; from robot_dynamics import cli; '
        'sys.exit(cli.main(sys.argv[1:]))'
    )
    target = {'record': tmp_path / 'run', 'send': motion}[name]
    ended = subprocess.run(
        [sys.executable, '-c', code, name, target], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert reason in ended.stderr
    assert 'pip install' in ended.stderr
    assert ended.stderr.count('\n') == 1


# -- ends of a motion ---------------------------------------------------------------------------


@pytest.mark.slow
def test_a_motion_that_is_reached_shows_its_progress(graph, arm, motion):
    arm()
    code, output = result(graph, verb('send', motion))
    assert code == 0, output
    assert output.splitlines()[-1] == f'{motion}: reached'
    assert '%' in output


@pytest.mark.slow
def test_a_rejected_motion_is_exit_code_1_with_the_reason(graph, arm, motion):
    arm()
    motion.write_text(motion.read_text().replace('0.8', '9.8'))
    code, output = result(graph, verb('send', motion))
    assert code == 1
    assert "joint 'shoulder'" in output
    assert 'rejected' in output


@pytest.fixture
def still(graph):
    """Return a function that starts a controller of an arm that does not move."""

    def start(**parameters):
        robot = Robot(graph, silence_timeout=5.0, **parameters)
        stamps = iter(range(5, 10**6, 5))
        graph.probe.create_timer(0.005, lambda: robot.send(next(stamps) * MS, q=[0.0, 0.0]))
        robot.wait_for_word('holding')
        return robot

    return start


def sent(robot, motion, *options):
    """Start to send a motion; return the process once it is followed."""
    process = verb('send', motion, *options)
    robot.wait_for_word('following')
    return process


def progress(robot):
    values = {item.key: item.value for item in robot.status[-1].values}
    return float(values['progress'] or 'nan')


@pytest.mark.slow
def test_a_violated_tolerance_is_exit_code_1(graph, still, motion):
    process = sent(still(constraints__trajectory=[0.05]), motion)
    code, output = result(graph, process)
    assert (code, 'path tolerance violated' in output) == (1, True), output


@pytest.mark.slow
@pytest.mark.parametrize(
    ('end', 'reason'),
    [
        ('stop', 'cancelled: stopped by ~/stop'),
        ('replace', 'replaced by another trajectory'),
        pytest.param('disable', 'cancelled: disabled', marks=pytest.mark.soak),
        ('deactivate', 'inactive'),
    ],
)
def test_a_motion_that_is_ended_by_others_is_exit_code_1(graph, still, motion, end, reason):
    robot = still()
    process = sent(robot, motion)
    graph.until(lambda: progress(robot) > 0.3, 'a third of the motion')
    if end == 'stop':
        graph.call(Trigger, 'feedforward_node/stop')
    elif end == 'disable':
        graph.call(SetBool, 'feedforward_node/enable', SetBool.Request(data=False))
    elif end == 'deactivate':
        robot.node.trigger_deactivate()
    else:
        robot.trajectories.publish(trajectory(point(60.0, (0.1, 0.1))))
    code, output = result(graph, process)
    assert (code, reason in output) == (1, True), output


@pytest.mark.slow
def test_ctrl_c_ends_the_motion(graph, still, motion):
    robot = still()
    process = sent(robot, motion)
    graph.until(lambda: progress(robot) > 0.1, 'a part of the motion')
    process.send_signal(signal.SIGINT)
    robot.wait_for_word('stopping')
    code, output = result(graph, process)
    assert (code, 'interrupted' in output) == (130, True), output


@pytest.mark.slow
def test_without_a_node_nothing_is_sent(graph, motion):
    code, output = result(graph, verb('send', motion, '--timeout', '0.5'))
    assert (code, 'no node subscribes to /joint_trajectory within 0.5 s' in output) == (2, True)


@pytest.mark.slow
def test_a_node_without_joint_states_is_not_ready(graph, motion):
    Robot(graph)
    code, output = result(graph, verb('send', motion, '--timeout', '4'))
    assert (code, '/feedforward_node/status: waiting' in output) == (2, True), output


@pytest.mark.slow
def test_a_node_that_ends_during_the_motion_is_named(graph, still, motion):
    robot = still()
    process = sent(robot, motion, '--timeout', '6')
    graph.executor.remove_node(robot.node)  # as if it were killed
    code, output = result(graph, process)
    assert (code, 'no status for 6 s' in output) == (2, True), output


@pytest.mark.parametrize('setting', ['reliability', 'durability'])
@pytest.mark.parametrize('order', [1, -1])
def test_publishers_of_different_quality_are_all_recorded(graph, setting, order):
    profiles = [qos.LATCHED, QoSProfile(depth=10)]  # reliable, the first one latched
    if setting == 'reliability':
        profiles = [QoSProfile(depth=10), qos.JOINT_STATES_IN]
    publishers = [
        graph.probe.create_publisher(String, 'news', profile) for profile in profiles[::order]
    ]
    # Its queue is read by the recorder, not by an executor.
    own = create_node('recorder', context=graph.context)
    topic = RecordedTopic(SimpleNamespace(node=own), '/news')
    graph.until(lambda: own.count_publishers('/news') == 2, 'both publishers')
    topic.poll()
    graph.until(
        lambda: all(one.get_subscription_count() for one in publishers), 'the subscription'
    )
    for k, one in enumerate(publishers):
        one.publish(String(data=str(k)))
    graph.until(lambda: topic.poll() == 2, 'the messages of both')
    own.destroy_node()
