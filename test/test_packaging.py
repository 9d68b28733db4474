# SPDX-License-Identifier: Apache-2.0
"""Installed files and the checkout agree, as do the descriptions of the package."""

import ast
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from packaging.requirements import Requirement  # pytest needs it
from packaging.utils import canonicalize_name

from robot_dynamics.common import resources

CHECKOUT = Path(__file__).resolve().parents[1]
SHARED_FOLDERS = ('launch', 'urdf', 'config', 'config/ros2_control')
NODES = {
    'dynamics_node',
    'feedforward_node',
    'simulator_node',
    'pybullet_validator_node',
    'momentum_observer_node',
    'markers_node',
    'state_publisher_node',
}

# Imported name -> (key in ros/rosdistro's rosdep and distribution files, distribution on PyPI).
# All keys were found there, for jazzy, kilted and lyrical (8468e88). clarabel, distributed,
# llvmlite, pyarrow, threadpoolctl and viser have none; cvxpy, jax, rosbags, torch, trimesh and
# websockets are optional and left to pip. ROS packages come from a ROS 2 distribution or its
# wheels, two of them with that of rclpy; control_msgs and tf2_msgs have no wheel.
DEPENDENCIES = {
    'ament_index_python': ('ament_index_python', 'ros-jazzy-ament-index-python'),
    'builtin_interfaces': ('builtin_interfaces', 'ros-jazzy-rclpy'),
    'clarabel': (None, 'clarabel'),
    'control_msgs': ('control_msgs', None),
    'cvxpy': (None, 'cvxpy'),
    'diagnostic_msgs': ('diagnostic_msgs', 'ros-jazzy-diagnostic-msgs'),
    'distributed': (None, 'distributed'),
    'geometry_msgs': ('geometry_msgs', 'ros-jazzy-geometry-msgs'),
    'jax': (None, 'jax'),
    'lifecycle_msgs': ('lifecycle_msgs', 'ros-jazzy-lifecycle-msgs'),
    'llvmlite': (None, 'llvmlite'),
    'matplotlib': ('python3-matplotlib', 'matplotlib'),
    'mujoco': ('python3-mujoco-pip', 'mujoco'),
    'nav_msgs': ('nav_msgs', 'ros-jazzy-nav-msgs'),
    'numpy': ('python3-numpy', 'numpy'),
    'pinocchio': ('pinocchio', 'pin'),
    'pybullet': ('python3-pybullet-pip', 'pybullet'),
    'rcl_interfaces': ('rcl_interfaces', 'ros-jazzy-rclpy'),
    'rclpy': ('rclpy', 'ros-jazzy-rclpy'),
    'rich': ('python3-rich', 'rich'),
    'pyarrow': (None, 'pyarrow'),
    'rosbags': (None, 'rosbags'),
    'rosgraph_msgs': ('rosgraph_msgs', 'ros-jazzy-rosgraph-msgs'),
    'scipy': ('python3-scipy', 'scipy'),
    'sensor_msgs': ('sensor_msgs', 'ros-jazzy-sensor-msgs'),
    'std_msgs': ('std_msgs', 'ros-jazzy-std-msgs'),
    'std_srvs': ('std_srvs', 'ros-jazzy-std-srvs'),
    'sympy': ('python3-sympy', 'sympy'),
    'tf2_msgs': ('tf2_msgs', None),
    'torch': (None, 'torch'),
    'trajectory_msgs': ('trajectory_msgs', 'ros-jazzy-trajectory-msgs'),
    'threadpoolctl': (None, 'threadpoolctl'),
    'trimesh': (None, 'trimesh'),
    'typing_extensions': ('python3-typing-extensions', 'typing-extensions'),
    'urdf_parser_py': ('urdfdom_py', 'urdf-parser-py'),
    'visualization_msgs': ('visualization_msgs', 'ros-jazzy-visualization-msgs'),
    'viser': (None, 'viser'),
    'websockets': (None, 'websockets'),
    'xacro': ('xacro', 'xacro'),
    'yaml': ('python3-yaml', 'PyYAML'),
}
# Imported by the tests alone.
TEST_DEPENDENCIES = {
    'PIL': (None, 'viser'),
    'action_msgs': ('rclpy', 'ros-jazzy-rclpy'),
    'casadi': (None, 'casadi'),
    'coal': (None, 'pin'),
    'hypothesis': ('python3-hypothesis', 'hypothesis'),
    'ipykernel': (None, 'ipykernel'),
    'jupytext': (None, 'jupytext'),
    'launch': ('launch', None),
    'launch_ros': ('launch_ros', None),
    'libcst': (None, 'mutmut'),
    'markdown_it': (None, 'myst-nb'),
    'mcap': (None, 'mcap'),
    'mpmath': (None, 'mpmath'),
    'msgspec': (None, 'viser'),
    'mutmut': (None, 'mutmut'),
    'nbclient': (None, 'nbclient'),
    'packaging': ('python3-pytest', 'pytest'),
    'pytest': ('python3-pytest', 'pytest'),
    'pytest_rerunfailures': (None, 'pytest-rerunfailures'),
    'selenium': (None, 'selenium'),
    'sphinx': (None, 'sphinx'),
    'test_msgs': ('test_msgs', 'ros-jazzy-test-msgs'),
    'toppra': (None, 'toppra'),
}
# Used by the launch files and the tests.
OTHER_KEYS = {
    'joint_state_publisher_gui',
    'launch',
    'launch_ros',
    'python3-hypothesis',
    'python3-pip',
    'python3-pytest',
    'python3-setuptools',
    'python3-wheel',
    'robot_state_publisher',
    'ros2launch',
    'rviz2',
    'simulation_interfaces',
    'test_msgs',
}


class Installation:
    """The package as pip installs it, below a prefix of its own."""

    def __init__(self, prefix):
        self.share = prefix / 'share' / 'robot_dynamics'
        self.scripts = prefix / 'bin'
        (self.package,) = prefix.glob('lib*/python*/site-packages/robot_dynamics')
        (self.metadata,) = importlib.metadata.distributions(
            name='robot_dynamics', path=[str(self.package.parent)]
        )
        self.prefix = prefix

    def python(self, code):
        """Run code that sees this installation, not the checkout."""
        return subprocess.run(
            [sys.executable, '-c', code],
            cwd=self.prefix,
            env={
                **os.environ,
                'PYTHONPATH': str(self.package.parent),
                'AMENT_PREFIX_PATH': str(self.prefix),
            },
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope='module')
def installed(tmp_path_factory):
    source = tmp_path_factory.mktemp('source') / 'robot_dynamics'
    prefix = tmp_path_factory.mktemp('prefix')
    shutil.copytree(
        CHECKOUT,
        source,
        ignore=shutil.ignore_patterns('.*', 'build', 'install', 'log', '*.egg-info'),
    )
    subprocess.run(
        [sys.executable, '-m', 'pip', 'install', '--quiet', '--no-index', '--no-deps',
         '--no-build-isolation', '--ignore-installed', '--prefix', prefix, source],
        check=True,
    )  # fmt: skip
    return Installation(prefix)


@pytest.mark.slow
def names_below(folder):
    return {path.name for path in folder.rglob('*.*') if path.suffix != '.pyc'}


def test_all_modules_are_installed(installed):
    files = {
        path.relative_to(CHECKOUT / 'robot_dynamics')
        for path in (CHECKOUT / 'robot_dynamics').rglob('*.py')
    }
    assert {file for file in files if not (installed.package / file).is_file()} == set()
    assert (installed.package / 'py.typed').is_file()
    templates = 'export/ros2_control/templates'
    assert names_below(installed.package / templates) >= {'law.hpp', 'CMakeLists.txt', 'README.md'}
    own = names_below(CHECKOUT / 'robot_dynamics' / templates)
    assert names_below(installed.package / templates) == own
    assert not (installed.package.parent / 'test').exists()
    assert not (installed.package.parent / 'benchmarks').exists()


@pytest.mark.parametrize('folder', SHARED_FOLDERS)
def test_shared_files_are_installed(installed, folder):
    names = {path.name for path in (CHECKOUT / folder).iterdir() if path.is_file()}
    assert names
    shared = installed.share / folder
    assert {path.name for path in shared.iterdir() if path.is_file()} == names


def test_ament_finds_the_package(installed):
    index = installed.prefix / 'share' / 'ament_index' / 'resource_index' / 'packages'
    assert (index / 'robot_dynamics').is_file()
    assert (installed.share / 'package.xml').read_text() == package_xml_text()


def test_console_scripts_are_installed(installed):
    scripts = installed.metadata.entry_points.select(group='console_scripts')
    others = {'robot-dynamics', 'robot_dynamics_nodes'}
    assert {script.name for script in scripts} == NODES | others
    assert {path.name for path in installed.scripts.iterdir()} >= {s.name for s in scripts}


def test_console_scripts_import(installed):
    for script in installed.metadata.entry_points.select(group='console_scripts'):
        result = installed.python(
            f'from {script.module} import {script.attr}; assert callable({script.attr})'
        )
        assert result.returncode == 0, result.stderr


def test_resources_are_found_in_an_installation(installed):
    code = 'from robot_dynamics.common import resources; print(resources.share_directory())'
    result = installed.python(f'import sys; sys.prefix = {str(installed.prefix)!r}; {code}')
    assert result.stdout.strip().splitlines()[-1:] == [str(installed.share)], result.stderr


def test_resources_are_found_in_the_checkout():
    assert resources.share_file('package.xml').read_text() == package_xml_text()


def test_the_error_of_a_missing_resource_names_the_searched_folders():
    with pytest.raises(resources.ResourceNotFound) as error:
        resources.share_file('urdf/no_such_robot.urdf')
    assert isinstance(error.value, FileNotFoundError)
    assert 'urdf/no_such_robot.urdf' in str(error.value)
    assert str(Path(sys.prefix, 'share', 'robot_dynamics')) in str(error.value)
    assert str(CHECKOUT) in str(error.value)


# -- the descriptions agree --------------------------------------------------------------------


def package_xml_text():
    return (CHECKOUT / 'package.xml').read_text()


def package_xml():
    return ElementTree.fromstring(package_xml_text())


def rosdep_keys():
    return {element.text for element in package_xml() if element.tag.endswith('depend')}


def test_package_xml_is_an_ament_python_package_of_format_3():
    package = package_xml()
    assert package.get('format') == '3'
    assert package.findtext('name') == 'robot_dynamics'
    assert package.findtext('export/build_type') == 'ament_python'
    assert re.fullmatch(r'[\w.]+@[\w.]+\.\w+', package.find('maintainer').get('email'))


def test_versions_agree(installed):
    # Those of the other files: test_release.py.
    assert installed.metadata.version == package_xml().findtext('version')


def test_licence_is_apache_2(installed):
    assert package_xml().findtext('license') == 'Apache-2.0'
    text = (CHECKOUT / 'LICENSE').read_text()
    assert 'Apache License' in text
    assert 'Version 2.0, January 2004' in text
    assert any(file.name == 'LICENSE' for file in installed.metadata.files)


def imported_names(node, calls=('import_module',)):
    """Yield the packages that a node of the syntax imports by statements or these calls."""
    if isinstance(node, ast.Import):
        yield from (alias.name.split('.')[0] for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.level == 0:
        yield node.module.split('.')[0]
    elif (
        isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith(calls)
        and isinstance(node.args[0], ast.Constant)
    ):
        yield node.args[0].value.split('.')[0]


def test_all_imports_are_declared(installed):
    known = sys.stdlib_module_names | {'robot_dynamics', 'pybullet_data'}
    files = [ast.parse(file.read_text()) for file in (CHECKOUT / 'robot_dynamics').rglob('*.py')]
    imported = {name for f in files for node in ast.walk(f) for name in imported_names(node)}
    imported -= known
    assert imported - set(DEPENDENCIES) == set()
    keys = {key for key, _ in (DEPENDENCIES[name] for name in imported)} - {None}
    assert keys - rosdep_keys() == set()
    distributions = {name.lower() for _, name in map(DEPENDENCIES.get, imported) if name}
    assert distributions - required_distributions(installed) == set()


def required_distributions(installed):
    return {re.match(r'[\w.-]+', line).group().lower() for line in installed.metadata.requires}


def files_of_tests():
    """Yield each file of the tests with its syntax tree."""
    for file in (CHECKOUT / 'test').rglob('*.py'):
        yield file, ast.parse(file.read_text())


LOCAL = (
    sys.stdlib_module_names
    | {'robot_dynamics', 'benchmarks', 'pybullet_data', 'ament_copyright', 'urdf_parser_py'}
    | {file.stem for folder in ('test', 'docs') for file in (CHECKOUT / folder).rglob('*.py')}
    | {folder.name for folder in (CHECKOUT / 'docs').iterdir()}
)


@pytest.mark.slow
def test_imports_of_tests_are_declared(installed):
    known = DEPENDENCIES | TEST_DEPENDENCIES
    imported = {
        name: file.name
        for file, tree in files_of_tests()
        for node in ast.walk(tree)
        for name in imported_names(node, ('importorskip', 'import_module'))
        if name not in LOCAL
    }
    assert {name: file for name, file in imported.items() if name not in known} == {}
    distributions = {name.lower() for _, name in map(known.get, imported) if name}
    assert distributions - required_distributions(installed) == set()


@pytest.mark.slow
def test_tests_are_collected_without_what_has_no_rosdep_key():
    known = DEPENDENCIES | TEST_DEPENDENCIES
    stops = {
        (file.name, name)
        for file, tree in files_of_tests()
        if file.name != 'mutants.py'  # imported by ./run mutate alone
        for node in tree.body
        for name in imported_names(node)
        if name not in LOCAL and known[name][0] is None
    }
    # A module of tests skips them itself: jax = pytest.importorskip('jax').
    skipping = {file.name for file, _ in files_of_tests() if 'importorskip(' in file.read_text()}
    assert {(file, name) for file, name in stops if file not in skipping} == set()


# Each distribution of ROS 2 excludes the other; PyTorch is installed by hand before a release.
UNPINNED = {'robot_dynamics', 'torch'}


def test_constraints_satisfy_every_requirement(installed):
    lines = (CHECKOUT / 'constraints.txt').read_text().splitlines()
    pinned = [Requirement(line) for line in lines if not line.startswith('#')]
    versions = {}
    for pin in pinned:
        (version,) = pin.specifier
        versions.setdefault(canonicalize_name(pin.name), []).append(version.version)
    for required in map(Requirement, installed.metadata.requires):
        name = canonicalize_name(required.name)
        if name in UNPINNED or name.startswith('ros-kilted-'):
            continue
        assert versions.get(name), f'{name} is not in constraints.txt: ./run lock'
        outside = [v for v in versions[name] if not required.specifier.contains(v)]
        assert outside == [], f'{required}: constraints.txt has {outside}: ./run lock'


def test_dependencies_are_rosdep_keys():
    known = {key for key, _ in DEPENDENCIES.values()} | OTHER_KEYS
    assert rosdep_keys() - known == set()


def test_tools_that_install_the_package_are_declared(installed):
    tools = {'pip', 'setuptools', 'wheel'}
    declared = {element.text for element in package_xml().findall('test_depend')}
    assert {f'python3-{tool}' for tool in tools} <= declared
    assert tools <= required_distributions(installed)


def test_every_source_file_names_its_license():
    line = '# SPDX-License-Identifier: Apache-2.0'
    folders = ('robot_dynamics', 'test', 'benchmarks', 'examples', 'launch', 'docs/extensions')
    files = [path for folder in folders for path in (CHECKOUT / folder).rglob('*.py')]
    files += [CHECKOUT / 'setup.py', CHECKOUT / 'run', CHECKOUT / '.ci' / 'run']
    without = [path.name for path in files if line not in path.read_text()[:100]]
    assert not without
