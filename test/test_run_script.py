# SPDX-License-Identifier: Apache-2.0
"""./run removes processes, shared memory and temporary folders, and keeps its environment."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import mutate
import pytest
from tiers import soak
from waiting import wait_until

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
root=${RUN%/*}
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
    environment |= {
        'RUN': str(RUN),
        'python': sys.executable,
        'FREE': str(free),
        'USED': str(used),
    }
    ended = subprocess.run(
        ['bash', '-c', script],
        env={
            **environment,
            'RUN': str(RUN),
            'python': sys.executable,
            'FREE': str(free),
            'USED': str(used),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    pid, scratch = ended.stdout.split()
    return int(pid), Path(scratch), ended


@pytest.mark.slow
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


@pytest.mark.slow
def test_shared_memory_from_before_and_in_use_stays(files):
    before, used, _ = files
    before.touch()
    with used.open('w'):
        _, scratch, ended = run_tests(TESTS, SHARED_MEMORY / before.name, used)
        assert ended.returncode == 0, ended.stderr
        assert before.exists()
        assert used.exists()
    assert not scratch.exists()


@pytest.mark.slow
@pytest.mark.parametrize('number', [signal.SIGINT, *soak([signal.SIGTERM])])
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
root=$CHECKOUT; venv=$root/.venv ros=wheels ros_extra=,ros python_version=3.11
printf '%s\\n' "$(environment) $(cksum <"$root/setup.py")" >"$venv/.installed-test"
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
    (tmp_path / 'constraints.txt').touch()
    shutil.copytree(RUN.parent / 'benchmarks', tmp_path / 'benchmarks')
    ended = subprocess.run(
        ['bash', '-c', DEMO],
        env={**os.environ, 'RUN': str(RUN), 'python': sys.executable, 'CHECKOUT': str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (130, 'demo --headless\n'), ended.stderr
    # It is removed in the background, after the end of the demo.
    wait_until(lambda: not left.exists(), 'the end of the removal', 60.0)
    assert [file.exists() for file in files] == [False, True, True]


# A stand-in for the environment, in which mutation testing runs with the interpreter of the tests.
MUTATE = """
set -e
source <(sed '$d' "$RUN")
root=$CHECKOUT
install() { echo "installed $1: $2"; }
set_environment() { :; }
ros_extra=,ros
mutate "$@"
"""


@pytest.mark.parametrize(
    ('file', 'tests'),
    [
        ('control/limits.py', ['test/control/test_limits.py']),
        ('simulation/joint_models/stops.py', ['test/simulation/test_stops.py']),  # a package above
        ('validation/engines/process.py', None),  # no tests of its name: those that import it
        ('ros/messages.py', ['test/ros/test_messages.py']),  # another folder
        ('kinematics.py', ['test/core/test_kinematics.py']),
    ],
)
def test_the_tests_of_a_file_are_found(file, tests):
    found = mutate.mirrored_tests(Path('robot_dynamics', file))
    assert found if tests is None else found == [Path(name) for name in tests]


def test_only_parts_of_nodes_have_no_tests_of_their_own():
    files = [path.relative_to(RUN.parent) for path in RUN.parent.glob('robot_dynamics/**/*.py')]
    without = {file for file in files if not mutate.mirrored_tests(file)}
    assert {file.parts[1] for file in without} <= {'__init__.py', 'ros'}


@pytest.mark.slow
def test_mutate_lists_the_changes_that_no_test_finds(tmp_path):
    pytest.importorskip('mutmut', reason='mutmut comes with the extra mutate')
    checkout = tmp_path / 'checkout'
    files = {
        'robot_dynamics/__init__.py': '',
        'robot_dynamics/signs.py': 'def sign(x):\n    return 1 if x > 0 else -1\n',
        'test/test_signs.py': 'from robot_dynamics.signs import sign\n\n\n'
        'def test_sign():\n    assert sign(2) == 1\n    assert sign(-2) < 0\n',
        'pyproject.toml': '[tool.pytest.ini_options]\nmarkers = ["slow"]\n',
    }
    for name, text in files.items():
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(text)
    for name in ('mutate.py', 'mutants.py'):
        shutil.copy(RUN.parent / 'test' / name, checkout / 'test')
    shutil.copytree(RUN.parent / 'benchmarks', checkout / 'benchmarks')
    subprocess.run(['git', 'init', '--quiet', checkout], check=True)
    before = sorted(checkout.rglob('*'))
    ended = subprocess.run(
        ['bash', '-c', MUTATE, 'run', 'robot_dynamics/signs.py'],
        env={**os.environ, 'RUN': str(RUN), 'python': sys.executable, 'CHECKOUT': str(checkout)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr + ended.stdout
    assert 'installed mutate: sim,demo,test,mutate,ros-test' in ended.stdout
    assert 'tests: test/test_signs.py' in ended.stdout
    # The test finds another number and an exchanged condition, but tries no 0 and no 1.
    survivors = {line[1:].strip() for line in ended.stdout.splitlines() if line.startswith('+')}
    assert survivors == {
        'return 1 if x >= 0 else -1',
        'return 1 if x > 1 else -1',
        'return 1 if x > 0 else -2',
    }
    assert ' 0 timed out, 3 survived' in ended.stdout
    assert sorted(checkout.rglob('*')) == before
    assert (checkout / 'robot_dynamics/signs.py').read_text() == files['robot_dynamics/signs.py']


# The first installation of a set, in an environment without PyBullet.
INSTALL = """
set -e
source <(sed '$d' "$RUN")
root=$CHECKOUT; venv=$root/.venv ros_extra=,ros python=/bin/python python_version=3.11
make_venv() { :; }
pip_install() { echo "pip install $*"; }
install "$@"
"""


@pytest.mark.parametrize(
    ('words', 'reported'),
    [
        (('view', 'view,bags'), False),
        (('docs', 'docs'), False),
        (('demo', 'sim,demo'), True),
        (('bench', 'sim,bench'), True),
        (('test', 'sim,demo,test,ros-test'), True),
    ],
)
def test_a_missing_pybullet_is_reported_where_it_was_to_be_installed(words, reported, tmp_path):
    python = tmp_path / '.venv' / 'bin' / 'python'
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\nexit 1\n')
    python.chmod(0o755)
    (tmp_path / 'setup.py').touch()
    (tmp_path / 'constraints.txt').touch()
    shutil.copytree(RUN.parent / 'benchmarks', tmp_path / 'benchmarks')
    ended = subprocess.run(
        ['bash', '-c', INSTALL, 'run', *words],
        env={**os.environ, 'RUN': str(RUN), 'python': sys.executable, 'CHECKOUT': str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert f'[{words[1]},ros]' in ended.stdout
    assert ('PyBullet has no wheel' in ended.stderr) == reported


def test_the_first_screen_names_the_engines_in_their_order_of_preference():
    from robot_dynamics.validation.engines import ENGINES, title

    first_screen = (RUN.parent / 'README.md').read_text().split('\n## ')[0]
    assert f'The engine is {title(ENGINES[0])}, or\n{title(ENGINES[1])} where' in first_screen
    extras = (RUN.parent / 'setup.py').read_text()
    assert 'python_version < "3.12"' in extras
    assert 'with Python 3.12 and newer' in first_screen


# The versions that pip may install, and how pytest is called, without installing or running it.
VERSIONS = """
set -e
source <(sed '$d' "$RUN")
venv=$CHECKOUT/.venv ros=wheels ros_extra=$EXTRA python_version=3.11
root=$CHECKOUT
install() { mkdir -p "$venv" && write_constraints; }
compile_versions() { echo "compiled $*"; }
set_environment() { :; }
set_test_environment() { :; }
check_style() { :; }
python() { echo "$*"; }
run_tests "$@"
cat "$venv/constraints.txt"
"""


def lines_of_run(tmp_path, *words, extra=',ros'):
    """Return the lines of ./run test: how pytest is called, and the versions."""
    (tmp_path / 'constraints.txt').write_text('numpy==2.4.6\nros-jazzy-rclpy==7.1.6\n')
    ended = subprocess.run(
        ['bash', '-c', VERSIONS, 'run', *words],
        env={**os.environ, 'RUN': str(RUN), 'CHECKOUT': str(tmp_path), 'EXTRA': extra},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return ended.stdout.splitlines()


@pytest.mark.parametrize(
    ('words', 'expression'),
    [([], 'not slow and not soak'), (['--all'], 'not soak'), (['--soak'], 'soak')],
)
def test_a_tier_is_selected_and_other_words_go_to_pytest(words, expression, tmp_path):
    called, *_ = lines_of_run(tmp_path, *words, '-k', 'mimic')
    assert called.startswith('-m pytest -n auto ')
    assert called.endswith(f' -m {expression} -k mimic')


def test_packages_have_the_versions_of_the_constraints(tmp_path):
    _, *versions = lines_of_run(tmp_path)
    assert versions == ['numpy==2.4.6', 'ros-jazzy-rclpy==7.1.6']
    # Those of jazzy exclude the wheels of kilted.
    _, *versions = lines_of_run(tmp_path, extra=',ros-kilted')
    assert versions == ['numpy==2.4.6']
    _, *versions = lines_of_run(tmp_path, '--newest')
    assert versions == []
    _, versions = lines_of_run(tmp_path, '--lowest')
    assert versions.startswith('compiled --resolution lowest-direct --extra sim --extra demo')


def test_other_constraints_renew_the_environment(tmp_path):
    script = """
    source <(sed '$d' "$RUN")
    root=$CHECKOUT python=python3 python_version=3.11
    environment
    """
    seen = set()
    for text in ('numpy==2.4.6\n', 'numpy==2.4.7\n'):
        (tmp_path / 'constraints.txt').write_text(text)
        ended = subprocess.run(
            ['bash', '-c', script],
            env={**os.environ, 'RUN': str(RUN), 'CHECKOUT': str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        seen.add(ended.stdout)
    assert len(seen) == 2
