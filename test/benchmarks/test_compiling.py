import subprocess

from benchmarks.compiling import BATCH, SINGLE, compile_all
from benchmarks.functions import FUNCTIONS
from benchmarks.measure_compile import recorded
from robot_dynamics.dynamics import Dynamics


def test_every_function_is_made_and_counted(chain, tmp_path, monkeypatch):
    monkeypatch.setenv('ROBOT_DYNAMICS_CACHE_DIR', str(tmp_path))
    made, given_up = compile_all(chain, batched=['gravity_torque'])
    assert given_up == []
    assert [m.function for m in made] == list(FUNCTIONS)
    arm = Dynamics(chain.model)
    for compilation in made:
        assert compilation.operations == recorded(arm, compilation.function).operation_counts()
        batched = compilation.function == 'gravity_torque'
        assert (compilation.batch_s is not None) == batched
    # They are in the cache now.
    assert len(list(tmp_path.glob('*.bin'))) > len(FUNCTIONS)


def test_what_takes_too_long_is_given_up(chain, monkeypatch):
    def late(*args, timeout, **options):
        raise subprocess.TimeoutExpired(args, timeout)

    monkeypatch.setattr(subprocess, 'run', late)
    made, given_up = compile_all(chain, [], limit=3.0)
    assert made == []
    assert [(g.function, g.why) for g in given_up] == [(f, 'more than 3 s') for f in FUNCTIONS]


def test_what_fails_says_why(chain, monkeypatch):
    def fail(*args, **options):
        raise subprocess.CalledProcessError(
            1, 'python', stderr='Traceback ...\nMemoryError: all\n'
        )

    monkeypatch.setattr(subprocess, 'run', fail)
    _, given_up = compile_all(chain, [])
    assert {(g.kind, g.why) for g in given_up} == {(SINGLE, 'MemoryError: all')}


def test_single_calls_stay_where_batches_crash(chain, monkeypatch):
    run = subprocess.run

    def crash(command, **options):
        if command[-1] == BATCH:
            raise subprocess.CalledProcessError(-11, command, stderr='')
        return run(command, **options)

    monkeypatch.setattr(subprocess, 'run', crash)
    made, given_up = compile_all(chain, ['gravity_torque'])
    assert [m.function for m in made] == list(FUNCTIONS)
    assert {m.batch_s for m in made} == {None}
    (lost,) = given_up
    assert (lost.function, lost.kind, lost.why) == ('gravity_torque', BATCH, 'exit code -11')
