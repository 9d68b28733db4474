# SPDX-License-Identifier: Apache-2.0
"""Import contracts of pyproject.toml: they hold, and each detects a violation."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]

ROS = [
    'ament_index_python',
    'builtin_interfaces',
    'diagnostic_msgs',
    'geometry_msgs',
    'launch',
    'launch_ros',
    'lifecycle_msgs',
    'rcl_interfaces',
    'rclpy',
    'rosgraph_msgs',
    'sensor_msgs',
    'std_msgs',
    'std_srvs',
    'trajectory_msgs',
    'visualization_msgs',
]
OPTIONAL = ['llvmlite', 'matplotlib', 'mujoco', 'pinocchio', 'pybullet', 'rich', 'viser']

# Packages and modules that import ROS when they are imported.
NEED_ROS = (
    'robot_dynamics.ros',
    'robot_dynamics.cli.demo_client',
    'robot_dynamics.cli.demo_figure',
)
# Libraries that are extras, for these files alone.
NEED_ARRAYS = ('robot_dynamics.export.interop.jax', 'robot_dynamics.export.interop.torch')

# One import for each contract, or each kind of mistake, that must be noticed.
VIOLATIONS = [  # contract, file, line added to it
    ('wings', 'common/spatial.py', 'import robot_dynamics.core.model'),
    ('wings', 'codegen/tracing/__init__.py', 'import robot_dynamics.core.model'),
    ('wings', 'core/friction/__init__.py', 'import robot_dynamics.control'),
    ('wings', 'formulations/euler_lagrange.py', 'import robot_dynamics.urdf'),
    ('wings', 'validation/__init__.py', 'import robot_dynamics.ros.nodes'),
    ('wings', 'miscellaneous.py', 'import robot_dynamics.common.errors'),
    ('common-rooms', 'common/files.py', 'import robot_dynamics.common.spatial'),
    ('core-rooms', 'core/kinematics.py', 'import robot_dynamics.core.dynamics'),
    ('core-rooms', 'core/friction/__init__.py', 'import robot_dynamics.core.algorithms'),
    ('core-rooms', 'core/miscellaneous.py', 'import robot_dynamics.common.errors'),
    ('ros-rooms', 'ros/part.py', 'import robot_dynamics.ros.nodes.dynamics_node'),
    (
        'equations-before-programs',
        'core/algorithms/__init__.py',
        'import robot_dynamics.codegen.tracing',
    ),
    ('equations-before-programs', 'urdf/reader.py', 'import robot_dynamics.core.dynamics'),
    (
        'derivations-apart',
        'formulations/euler_lagrange.py',
        'import robot_dynamics.core.algorithms',
    ),
    (
        'steps-above-joint-models',
        'simulation/joint_models/stops.py',
        'import robot_dynamics.simulation.steps.body',
    ),
    (
        'formulations-independent',
        'formulations/euler_lagrange.py',
        'import robot_dynamics.formulations.newton_euler_link_frame',
    ),
    (
        'formulations-are-oracles',
        'core/dynamics.py',
        'import robot_dynamics.formulations.euler_lagrange',
    ),
    ('formulations-are-oracles', 'ros/nodes/__init__.py', 'import robot_dynamics.formulations'),
    (
        'engines-read-the-own-text',
        'validation/engines/original_text.py',
        'from robot_dynamics.urdf.reader import read_urdf',
    ),
    (
        'algorithms-on-model',
        'core/algorithms/__init__.py',
        'import robot_dynamics.core.kinematics',
    ),
    ('wings', 'recordings/bag.py', 'import robot_dynamics.identification.estimation'),
    ('wings', 'evaluation/causes.py', 'import robot_dynamics.identification.estimation'),
    ('wings', 'identification/payload/payload.py', 'import robot_dynamics.evaluation'),
    (
        'identification-rooms',
        'identification/estimation/estimation.py',
        'import robot_dynamics.identification.payload',
    ),
    ('codegen-stages', 'codegen/tracing/__init__.py', 'import robot_dynamics.codegen.loops'),
    ('codegen-stages', 'codegen/loops/__init__.py', 'import robot_dynamics.codegen.calls'),
    ('compiler-knows-no-robots', 'codegen/loops/__init__.py', 'import robot_dynamics.core'),
    (
        'compiler-knows-no-robots',
        'codegen/calls/__init__.py',
        'import robot_dynamics.common.spatial',
    ),
    ('llvm-in-one-file', 'codegen/backends/llvm_straight_line.py', 'import llvmlite'),
    ('arrays-in-interop', 'core/dynamics.py', 'import jax'),
    ('viser-in-one-file', 'view/page.py', 'import viser'),
    ('ros-in-nodes', 'control/__init__.py', 'import rclpy'),
    ('ros-in-nodes', 'simulation/__init__.py', 'from sensor_msgs.msg import JointState'),
    (
        'closed-forms-by-hand',
        'textbook/closed_forms/__init__.py',
        'import robot_dynamics.common.spatial',
    ),
]


def lint_imports(checkout, *arguments):
    command = 'from importlinter.cli import lint_imports_command as lint; lint()'
    return subprocess.run(
        [sys.executable, '-c', command, '--no-cache', '--no-logo', *arguments],
        cwd=checkout,
        env={**os.environ, 'PYTHONPATH': str(checkout)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_contracts_hold():
    result = lint_imports(CHECKOUT)
    assert result.returncode == 0, result.stdout + result.stderr
    assert f'{len(contract_ids())} kept, 0 broken' in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize(('contract', 'file', 'line'), VIOLATIONS)
def test_a_violation_of_a_contract_is_detected(contract, file, line, tmp_path):
    shutil.copy(CHECKOUT / 'pyproject.toml', tmp_path)
    shutil.copytree(CHECKOUT / 'robot_dynamics', tmp_path / 'robot_dynamics')
    with (tmp_path / 'robot_dynamics' / file).open('a') as source:
        source.write(f'\n{line}\n')
    result = lint_imports(tmp_path, '--contract', contract)
    assert result.returncode == 1
    assert '0 kept, 1 broken' in result.stdout, result.stdout + result.stderr


def test_every_contract_has_a_violation():
    assert {contract for contract, _, _ in VIOLATIONS} == contract_ids()


def contract_ids():
    text = (CHECKOUT / 'pyproject.toml').read_text()
    return set(re.findall(r'^id = "(.+)"$', text, re.MULTILINE))


def python_without(packages, code):
    # None in sys.modules makes `import` fail as it does where the package is not installed.
    hide = f'import sys; sys.modules.update(dict.fromkeys({packages!r}))\n'
    return subprocess.run(
        [sys.executable, '-c', hide + code],
        env={**os.environ, 'PYTHONPATH': str(CHECKOUT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_packages_without_ros_import_without_ros():
    needy = *NEED_ROS, *NEED_ARRAYS
    modules = [module for module in package_modules() if not module.startswith(needy)]
    assert 'robot_dynamics.core.dynamics' in modules
    result = python_without(ROS, '\n'.join(f'import {module}' for module in modules))
    assert result.returncode == 0, result.stderr


def package_modules():
    for file in sorted((CHECKOUT / 'robot_dynamics').rglob('*.py')):
        parts = file.relative_to(CHECKOUT).with_suffix('').parts
        yield '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


def test_the_package_imports_without_ros_engines_or_compiler():
    result = python_without(ROS + OPTIONAL, 'from robot_dynamics import *')
    assert result.returncode == 0, result.stderr


CONTRIBUTING = (CHECKOUT / 'CONTRIBUTING.md').read_text()


def test_the_table_of_packages_is_complete():
    table = CONTRIBUTING.partition('## Where things are')[2].partition('\n## ')[0]
    listed = {
        name for row in re.findall(r'^\| (`.*?) \|', table, re.MULTILINE) for name in names(row)
    }
    wings = {path.parent.name for path in (CHECKOUT / 'robot_dynamics').glob('*/__init__.py')}
    assert wings == listed


def test_the_answers_to_where_is_something_exist():
    table = CONTRIBUTING.partition('## Where is …')[2].partition('\n## ')[0].strip()
    rows = table.splitlines()[2:]
    assert len(rows) == 30
    for row in rows:
        answers = [names(answer) for answer in row.split(' | ')[-1].split(';')]
        for path, *inside in answers:
            text = (CHECKOUT / 'robot_dynamics' / path).read_text()
            for name in inside:
                defined = rf'^ *(def|class) {name}\b|^{name}\b.*= '
                assert re.search(defined, text, re.MULTILINE), f'{name} is not in {path}: {row}'


def names(text):
    return re.findall('`(.*?)`', text)
