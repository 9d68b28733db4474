"""./run leaves the machine as it found it: no process, no shared memory, no temporary folder."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

RUN = Path(__file__).resolve().parents[1] / 'run'
SHARED_MEMORY = Path('/dev/shm')

pytestmark = pytest.mark.skipif(
    not (SHARED_MEMORY.is_dir() and Path('/proc/self/environ').exists() and shutil.which('bash')),
    reason='no bash, /proc and /dev/shm here',
)

# Stands for the tests: it leaves a process, and files that it and nobody use.
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
    """Say whether a process exists that has not ended; a zombie only waits to be counted."""
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except FileNotFoundError:
        return False


@pytest.fixture
def files():
    """Return names in shared memory: two of the middleware's, one of somebody else."""
    made = [
        SHARED_MEMORY / f'{prefix}robot_dynamics_run_{os.getpid()}_{k}'
        for k, prefix in enumerate(('fastrtps_', 'sem.fastdds_', 'other_'))
    ]
    yield made
    for file in made:
        file.unlink(missing_ok=True)


def run_tests(script, free, used):
    """Return the process left behind, the temporary folder, and what was said."""
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


def test_what_the_tests_left_is_gone_and_what_others_have_is_not(files):
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
def test_tests_that_are_interrupted_are_ended_with_all_they_started(files, number):
    free, used, _ = files
    # The tests go on, until a signal ends the script.
    script = TESTS + f'kill -{number.value} $$\nsleep 300\n'
    pid, scratch, ended = run_tests(script, free, used)
    assert ended.returncode != 0
    assert not is_running(pid)
    assert not scratch.exists()
    assert not free.exists()
    assert not used.exists()
