"""./run removes processes, shared memory and temporary folders, and keeps its environment."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

RUN = Path(__file__).resolve().parents[1] / 'run'
SHARED_MEMORY = Path('/dev/shm')

pytestmark = pytest.mark.skipif(
    not (SHARED_MEMORY.is_dir() and Path('/proc/self/environ').exists() and shutil.which('bash')),
    reason='no bash, /proc and /dev/shm here',
)

# A stand-in for the tests: it leaves a process, a file that the process uses, and one in no use.
TESTS = """
set -e
source <(sed '$d' "$RUN")
set_test_environment
touch "$FREE"
exec 9>"$USED"
exec 9>&-
sleep 300 9>"$USED" &
echo "$! $scratch"
disown
"""


def is_running(pid):
    """Return whether a process exists and is not a zombie."""
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except FileNotFoundError:
        return False


@pytest.fixture
def files():
    """Return names in shared memory: two of the middleware, one of another program."""
    made = [
        SHARED_MEMORY / f'{prefix}robot_dynamics_run_{os.getpid()}_{k}'
        for k, prefix in enumerate(('fastrtps_', 'sem.fastdds_', 'other_'))
    ]
    yield made
    for file in made:
        file.unlink(missing_ok=True)


def run_tests(script, free, used):
    """Return the remaining process, the temporary folder, and the completed script."""
    environment = {k: v for k, v in os.environ.items() if k != 'ROS_LOG_DIR'}
    ended = subprocess.run(
        ['bash', '-c', script],
        env={**environment, 'RUN': str(RUN), 'FREE': str(free), 'USED': str(used)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    pid, scratch = ended.stdout.split()
    return int(pid), Path(scratch), ended


def test_leftovers_of_the_tests_are_removed_and_those_of_others_stay(files):
    free, used, strange = files
    strange.touch()
    other = subprocess.Popen(['sleep', '300'])
    try:
        pid, scratch, ended = run_tests(TESTS, free, used)
        assert ended.returncode == 0, ended.stderr
        assert f'the tests left process {pid} running: sleep 300' in ended.stderr
        assert not is_running(pid)
        assert not scratch.exists()
        assert [file.exists() for file in files] == [False, False, True]
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_shared_memory_from_before_and_in_use_stays(files):
    before, used, _ = files
    before.touch()
    with used.open('w'):
        _, scratch, ended = run_tests(TESTS, SHARED_MEMORY / before.name, used)
        assert ended.returncode == 0, ended.stderr
        assert before.exists()
        assert used.exists()
    assert not scratch.exists()


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_interrupted_tests_are_ended_with_all_they_started(files, number):
    free, used, _ = files
    # The tests would continue for 300 s if no signal ended the script.
    script = TESTS + f'kill -{number.value} $$\nsleep 300\n'
    pid, scratch, ended = run_tests(script, free, used)
    assert ended.returncode != 0
    assert not is_running(pid)
    assert not scratch.exists()
    assert not free.exists()
    assert not used.exists()


# A stand-in for the demo, in an environment that ./run test has installed.
DEMO = """
set -e
source <(sed '$d' "$RUN")
root=$CHECKOUT; venv=$root/.venv ros=wheels ros_extra=,ros python=/bin/python python_version=3.11
printf '%s\\n' "3.11 /bin/python $root $(cksum <"$root/setup.py")" >"$venv/.installed-test"
make_venv() { exit 3; }
demo --headless
"""


def test_demo_keeps_the_environment_of_the_tests_and_removes_its_shared_memory(files, tmp_path):
    left, before, strange = files
    before.touch()
    strange.touch()
    program = tmp_path / '.venv' / 'bin' / 'robot-dynamics'
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\ntouch {left}\necho "$@"\nexit 130\n')
    program.chmod(0o755)
    (tmp_path / 'setup.py').touch()
    ended = subprocess.run(
        ['bash', '-c', DEMO],
        env={**os.environ, 'RUN': str(RUN), 'CHECKOUT': str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (130, 'demo --headless\n'), ended.stderr
    end = time.monotonic() + 60
    while left.exists():  # removed in the background, after the end of the demo
        assert time.monotonic() < end
        time.sleep(0.02)
    assert [file.exists() for file in files] == [False, True, True]
