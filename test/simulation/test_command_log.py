"""Command logs: replay, full disks, killed processes, damaged files."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict

import numpy as np
import pytest

from robot_dynamics import cli
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.inertia import Inertial
from robot_dynamics.simulation import (
    Actuators,
    FrictionSettings,
    InelasticStop,
    JointModels,
    SpringDamperStop,
)
from robot_dynamics.simulation import command_log as log_module
from robot_dynamics.simulation.command_log import CommandLog, CommandLogError, RecordedRun
from robot_dynamics.simulation.commands import (
    EffortCommand,
    ExternalWrench,
    SetPayload,
    SetState,
)
from robot_dynamics.simulation.replay import replay
from robot_dynamics.simulation.settings import SimulationSettings

SETTINGS = SimulationSettings(
    gravity=(0.1, 0.0, -9.7),
    coulomb=(0.2, 0.1),
    time_step=2e-3,
    integrator='semi_implicit_euler',
    joint_models=JointModels(stops=InelasticStop()),
    payload_links=('forearm',),
    wrench_frames=('forearm',),
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'run.log'


@pytest.fixture
def plant(elbow_urdf):
    return SETTINGS.plant(Dynamics(SETTINGS.model(elbow_urdf)))


def bits(plant):
    return plant.q.tobytes() + plant.qd.tobytes()


def eventful(plant, log=None, steps=300):
    """Apply all kinds of commands at random steps; log every fifth state."""
    rng = np.random.default_rng(7)
    payloads = (None, Inertial(0.7), Inertial(1.5, np.array([0.1, 0.2, 0.0]), 0.01 * np.eye(3)))
    for k in range(steps):
        if k % 3 == 0:
            plant.apply(EffortCommand(rng.uniform(-5, 5, 2) if k % 7 else None))
        if k % 20 == 10:
            wrench = rng.uniform(-1, 1, 6) if k % 40 == 10 else None
            plant.apply(ExternalWrench('forearm', wrench))
        if k % 50 == 25:
            plant.apply(SetPayload('forearm', payloads[rng.integers(3)]))
        if k == 150:
            plant.apply(SetState(rng.uniform(-1, 1, 2), rng.uniform(-1, 1, 2)))
        plant.step()
        if log is not None and k % 5 == 0:
            log.add_state()


def recorded(path, plant, urdf, **options):
    log = CommandLog(path, plant, urdf, SETTINGS)
    eventful(plant, log, **options)
    log.close()
    return log


def replayed(path):
    run = RecordedRun(path)
    plant = run.plant()
    return replay(plant, run.entries()), plant, run


def test_a_motion_is_reproduced_in_every_bit(path, plant, elbow_urdf):
    log = recorded(path, plant, elbow_urdf)
    result, again, run = replayed(path)
    assert result.agrees, result.difference
    assert (result.steps, result.states) == (300, 62)  # the first and the last state too
    assert run.complete
    assert log.records > 150
    assert bits(again) == bits(plant)


def test_a_log_started_in_the_middle_of_a_motion_suffices(path, plant, elbow_urdf):
    eventful(plant, steps=100)
    plant.apply(SetPayload('forearm', Inertial(0.3)))
    assert not plant.braked
    assert plant.wrenches
    assert plant.simulator.payloads
    recorded(path, plant, elbow_urdf)
    result, again, _ = replayed(path)
    assert result.agrees, result.difference
    assert result.states == 62
    assert bits(again) == bits(plant)


def test_starting_a_log_does_not_change_the_motion(path, elbow_urdf):
    ends = []
    for logs in (False, True):
        plant = SETTINGS.plant(Dynamics(SETTINGS.model(elbow_urdf)))
        eventful(plant, steps=40)
        if logs:
            CommandLog(path, plant, elbow_urdf, SETTINGS)
        eventful(plant, steps=40)
        ends.append(bits(plant))
    assert ends[0] == ends[1]


def test_a_log_longer_than_a_chunk_takes_constant_memory(path, plant, elbow_urdf, monkeypatch):
    monkeypatch.setattr(log_module, 'CHUNK', 16)
    log = CommandLog(path, plant, elbow_urdf, SETTINGS)
    memory = log._buffer.nbytes
    eventful(plant, log)
    assert log._buffer.nbytes == memory
    log.close()
    assert log.records > 10 * 16
    assert replayed(path)[0].agrees


@pytest.mark.parametrize(
    'command',
    [
        EffortCommand(np.array([1.0, -0.0])),
        EffortCommand(None),
        ExternalWrench('forearm', np.arange(6.0)),
        ExternalWrench('forearm', None),
        SetState(np.array([0.1, 1e-300]), np.array([-0.0, 3.0])),
        SetPayload('forearm', Inertial(1.5, np.array([0.1, 0.2, 0.3]), 0.1 * np.eye(3))),
        SetPayload('forearm', None),
    ],
)
def test_a_command_is_read_as_it_was_written(path, plant, elbow_urdf, command):
    log = CommandLog(path, plant, elbow_urdf, SETTINGS)
    log._on_command(0, command)
    log.close()
    read = [e for _, e in RecordedRun(path).entries() if isinstance(e, type(command))][-1]
    if isinstance(command, SetPayload) and command.payload:
        read, command = (vars(load.payload).values() for load in (read, command))
    for one, other in zip(read, command, strict=True):
        if isinstance(other, np.ndarray):
            assert one.tobytes() == other.tobytes()
        else:
            assert one == other


@pytest.mark.parametrize(
    'models',
    [
        JointModels(),
        JointModels(
            'stick_slip',
            Actuators(0.003, rate_limit=[np.inf, 200.0], velocity_limit=None, bandwidth=50.0),
            SpringDamperStop(1e4, [1.0, 2.0]),
        ),
        JointModels(FrictionSettings('load_memory', load=[0.1, 0.2]), stops=InelasticStop()),
    ],
)
def test_settings_are_read_as_they_were_written(path, elbow_urdf, models):
    settings = SimulationSettings(
        gravity=[0.0, 0.1, -9.0],
        viscous=[0.1, 1 / 3],
        joint_models=models,
    )
    plant = settings.plant(Dynamics(settings.model(elbow_urdf)))
    CommandLog(path, plant, elbow_urdf, settings).close()
    read = RecordedRun(path).settings
    assert read.joint_models == models
    assert {k: v for k, v in asdict(read).items() if v} == {
        k: list(v) if isinstance(v, tuple) else v for k, v in asdict(settings).items() if v
    }


def test_an_existing_file_is_never_overwritten(path, plant, elbow_urdf):
    path.write_text('precious')
    with pytest.raises(CommandLogError, match='File exists'):
        CommandLog(path, plant, elbow_urdf, SETTINGS)
    assert path.read_text() == 'precious'


# -- full disks and killed processes --------------------------------------------------------

LIMITED = """
import resource, signal, sys
from pathlib import Path
sys.path[:0] = {path!r}
from test_command_log import *

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
urdf = Path({urdf!r}).read_text()
plant = SETTINGS.plant(Dynamics(SETTINGS.model(urdf)))
try:
    log = CommandLog(Path({log!r}), plant, urdf, SETTINGS)
except CommandLogError as error:
    print(error)
    raise SystemExit(3)
for _ in range(20):
    eventful(plant, log, steps=300)
    log.flush()
log.close()
print(log.records, log.failure, plant.steps)
"""


def limited(tmp_path, urdf, limit):
    """Record in a process whose files may not grow beyond a size [bytes]."""
    (tmp_path / 'robot.urdf').write_text(urdf)
    here = os.path.dirname(__file__)
    code = LIMITED.format(
        path=[here, *sys.path],
        limit=limit,
        urdf=str(tmp_path / 'robot.urdf'),
        log=str(tmp_path / 'run.log'),
    )
    return subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, check=False
    )


def test_a_disk_that_fills_up_ends_the_log_after_a_complete_record(tmp_path, elbow_urdf, path):
    result = limited(tmp_path, elbow_urdf, 50_001)
    assert result.returncode == 0, result.stderr
    records, *failure, steps = result.stdout.split()
    assert 'large' in failure
    assert int(steps) == 6000
    result, _, run = replayed(path)
    assert result.agrees, result.difference
    assert result.states > 20
    assert not run.complete
    assert 0 < int(records) * run_record_size(run) <= 50_001


def run_record_size(run):
    return log_module._record(run.model.n).itemsize


def test_a_disk_that_is_full_from_the_start_is_an_error(tmp_path, elbow_urdf, path):
    result = limited(tmp_path, elbow_urdf, 100)
    assert result.returncode == 3, result.stderr
    assert 'nothing is recorded' in result.stdout
    assert not path.exists()


def test_a_log_of_a_killed_process_has_the_flushed_records(tmp_path, elbow_urdf, path):
    (tmp_path / 'robot.urdf').write_text(elbow_urdf)
    code = LIMITED.replace('range(20)', 'iter(int, 1)').format(
        path=[os.path.dirname(__file__), *sys.path],
        limit=-1,
        urdf=str(tmp_path / 'robot.urdf'),
        log=str(path),
    )
    process = subprocess.Popen([sys.executable, '-c', code])
    try:
        end = time.monotonic() + 60
        while not path.exists() or path.stat().st_size < 100_000:
            assert time.monotonic() < end
            assert process.poll() is None
            time.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    result, _, run = replayed(path)
    assert result.agrees, result.difference
    assert result.states > 100
    assert not run.complete


# -- the verb -------------------------------------------------------------------------------


def test_the_verb_needs_no_ros(path, plant, elbow_urdf, capsys, monkeypatch):
    recorded(path, plant, elbow_urdf)
    monkeypatch.setitem(sys.modules, 'rclpy', None)
    assert cli.main(['replay', str(path)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith('elbow: 0.600 s in 300 steps of 0.002 s with semi_implicit_euler')
    assert '62 recorded states reproduced in every bit' in shown


def test_one_changed_bit_is_detected(path, plant, elbow_urdf, capsys):
    recorded(path, plant, elbow_urdf)
    data = bytearray(path.read_bytes())
    start = data.index(b'\n') + 1
    record = np.dtype(log_module._record(2))
    records = np.frombuffer(memoryview(data)[start:], record)
    changed = np.flatnonzero((records['kind'] == log_module.Kind.STATE) & (records['step'] > 100))[
        0
    ]
    steps = records['step'][changed]
    records['values'][changed, 2:3].view('<i8')[...] ^= 1
    path.write_bytes(data)
    assert cli.main(['replay', str(path)]) == 1
    shown = capsys.readouterr().out
    assert f"then a difference: after {steps} steps, velocity of joint 'shoulder'" in shown


def test_another_robot_is_detected(path, plant, elbow_urdf, capsys):
    recorded(path, plant, elbow_urdf)
    data = path.read_bytes()
    path.write_bytes(data.replace(b'mass value=\\"1.5\\"', b'mass value=\\"1.6\\"'))
    assert cli.main(['replay', str(path)]) == 1
    assert 'then a difference: after' in capsys.readouterr().out


def test_a_truncated_log_is_replayed_up_to_its_last_whole_record(path, plant, elbow_urdf, capsys):
    recorded(path, plant, elbow_urdf)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 2 // 3 + 1])
    assert cli.main(['replay', str(path)]) == 0
    assert 'the log was not closed' in capsys.readouterr().out


@pytest.mark.parametrize(
    'contents',
    [
        b'',
        b'not a recording',
        b'\x89MCAP0\r\n',
        b'{}\n',
        b'[1]\n',
        b'[' * 100_000,
        b'{"format": "robot_dynamics command log 1", "n": 2, "urdf": "<robot", "machine": "",'
        b' "settings": {}}\n',
    ],
)
def test_a_file_that_is_no_command_log_is_an_error(path, contents, capsys):
    path.write_bytes(contents)
    assert cli.main(['replay', str(path)]) == 2
    assert capsys.readouterr().err.count('\n') == 1


@pytest.mark.parametrize(
    ('setting', 'value'),
    [('time_step', 0), ('time_step', 'short'), ('stops', 'rubber'), ('viscous', 'no'), ('x', 1)],
)
def test_invalid_settings_are_an_error(path, plant, elbow_urdf, setting, value, capsys):
    CommandLog(path, plant, elbow_urdf, SETTINGS).close()
    line, records = path.read_bytes().split(b'\n', 1)
    header = log_module.json.loads(line)
    header['settings'][setting] = value
    path.write_bytes(log_module.json.dumps(header).encode() + b'\n' + records)
    assert cli.main(['replay', str(path)]) == 2
    assert str(path) in capsys.readouterr().err


def test_a_damaged_record_is_an_error(path, plant, elbow_urdf, capsys):
    recorded(path, plant, elbow_urdf)
    data = bytearray(path.read_bytes())
    start, size = data.index(b'\n') + 1, log_module._record(2).itemsize
    data[start + 50 * size + 8] = 77
    path.write_bytes(data)
    assert cli.main(['replay', str(path)]) == 2
    assert 'record of kind 77' in capsys.readouterr().err


def test_a_missing_file_is_an_error(tmp_path, capsys):
    assert cli.main(['replay', str(tmp_path / 'none.log')]) == 2
    assert 'No such file' in capsys.readouterr().err
