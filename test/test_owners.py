# SPDX-License-Identifier: Apache-2.0
"""One concept, one owner: the code of a concept is written in the files of the table alone.

A row names a concept, a pattern of code that only its owner writes, a line that the pattern finds,
and the files that may contain it, owner first, below `robot_dynamics/` ('name/' for a folder).
Comments and docstrings are not searched. A file that no longer contains the pattern leaves its
row.
"""

import ast
import io
import re
import tokenize
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / 'robot_dynamics'


class Row(NamedTuple):
    concept: str
    pattern: str
    found: str
    files: tuple[str, ...]


OWNERS = [
    Row(
        concept='speeds and lengths of the friction laws',
        pattern=r'\b(COULOMB_SPEED|STRIBECK_SPEED|PRESLIDING) = ',
        found='STRIBECK_SPEED = 0.1',
        files=('core/friction/',),
    ),
    Row(
        concept='direction of sliding of a friction law',
        pattern=r'\btanh\(',
        found='dry = np.tanh(qd / COULOMB_SPEED)',
        files=(
            'core/friction/',
            'common/scalars.py',  # of floats, arrays and recorded scalars
            'core/algorithms/dual_numbers.py',  # and of dual numbers
            'codegen/',  # what programs compute it with
        ),
    ),
    Row(
        concept='torque of a motion, friction included',
        pattern=r'inverse_dynamics\(.*friction_torque\(',
        found='tau = arm.inverse_dynamics(q, qd, qdd) + arm.friction_torque(qd)',
        files=('core/dynamics.py',),
    ),
    Row(
        concept='figure: the file that matplotlib writes',
        pattern=r'savefig\(',
        found="figure.savefig('a.png')",
        files=('common/reporting/figures.py',),
    ),
    Row(
        concept='line that installs a missing package',
        pattern=r'pip install',
        found="f'figures need matplotlib: pip install matplotlib'",
        files=(
            'common/extras.py',
            'ros/executables.py',  # ROS 2, of which there are several sources
            'urdf/robot_files.py',  # robots, no dependency
            'urdf/xacro_process.py',  # a dependency, in a process of its own
        ),
    ),
    Row(
        concept='results as JSON',
        pattern=r'json\.dumps?\(',
        found='json.dumps(content, indent=2)',
        files=(
            'common/reporting/json_files.py',
            'ros/messages.py',  # label of a message
            'urdf/xacro_process.py',  # messages between two processes
        ),
    ),
    Row(
        concept='table: widths of columns',
        pattern=r'max\(map\(len, \w+\)\)|:[<>]\{width',
        found="' '.join(f'{cell:<{width}}' for cell in row)",
        files=('common/reporting/tables.py',),
    ),
    Row(
        concept='number ± error',
        pattern=r'± \{|\{sign\} \{',
        found="f'{mass:.4g} ± {error:.2g}'",
        files=('common/reporting/numbers.py',),
    ),
    Row(
        concept='geometry of a robot description',
        pattern=r"""findall\('(visual|collision)'|'geometry(/\*)?'|'filename'""",
        found="for element in link.findall('visual'):",
        files=(
            'urdf/geometry/shapes.py',
            'urdf/geometry/link_solids.py',
            'urdf/writing.py',  # primitives
            'urdf/mjcf/as_urdf.py',  # shapes of an MJCF file
        ),
    ),
    Row(
        concept='elements of a URDF',
        pattern=r'\bSubElement\(',
        found="visual = SubElement(link, 'visual')",
        files=(
            'urdf/writing.py',
            'urdf/mjcf/as_urdf.py',  # what a model does not have
            'urdf/mjcf/writing.py',  # elements of MJCF
            'validation/engines/',  # texts for reference engines, which share nothing with ours
        ),
    ),
    Row(
        concept='form of a parameter file',
        pattern=r"'ros__parameters': ",
        found="nodes = {'/**': {'ros__parameters': parameters}}",
        files=('common/yaml_text.py',),
    ),
    Row(
        concept='meshes of a robot description',
        pattern=r'\bread_scene\(|\bmesh_path\(|import trimesh',
        found='path = mesh_path(name, folders)',
        files=('urdf/geometry/mesh_process.py', 'urdf/geometry/meshes.py'),
    ),
    Row(
        concept='declared range of a setting of friction, sensors, drives and gains',
        pattern=r'setting\(|\b(friction|sensors|drives|elasticity|stops|servo)__'
        r'(?!kind|seed|speed_limits)\w+: [^=\n]+ = parameter\(',
        found="latency: float = setting(0.0, 'Age', 's', (0.0, 1.0))",
        files=(
            *('common/settings.py', 'core/friction/friction_settings.py', 'simulation/sensors.py'),
            'simulation/joint_models/',
            *('simulation/environment.py', 'simulation/inertial_sensor.py'),
            'control/base_motion_estimate.py',
            'control/feedforward.py',
            'control/impedance.py',
            'control/loop_settings.py',
            *('control/momentum_observer.py', 'control/contact.py'),
            'control/base_motion_estimate.py',
            'control/contact_thresholds.py',
        ),
    ),
    Row(
        concept='noise of a recording',
        pattern=r'\bperiodogram\(',
        found="f, P = periodogram(x, 1 / step, 'hann', axis=0)",
        files=('recordings/noise.py',),
    ),
    Row(
        concept='preparation of measured signals: low-pass without lag, sparse samples',
        pattern=r'filtfilt\(|1 / \(\w+ \* \S*cutoff \* \S*step\)\)\)',
        found='stride = max(1, int(1 / (SPARSE * s.cutoff * s.step)))',
        files=('recordings/smoothing.py',),
    ),
    Row(
        concept='joints that move in a recording',
        pattern=r'\bSTANDING\b',
        found='self.moving = np.abs(s.qd) > STANDING',
        files=('recordings/',),
    ),
    Row(
        concept='validity of mass and inertia',
        pattern=r'eigvalsh\(second_moment|violate the triangle|inertia\S* .*must be symmetric',
        found='if np.linalg.eigvalsh(second_moment(tensor))[0] < 0:',
        files=('core/model/inertia.py',),
    ),
    Row(
        concept='units of joints',
        pattern=r"'N m': 'N'|'(N m|N|rad|rad/s|m|m/s)' if |else '(N|m|m/s|rad)'",
        found="unit = 'N m' if angular else 'N'",
        files=('core/model/joint_values.py',),
    ),
    Row(
        concept='one value for all joints or one each',
        pattern=r'shape not in \(\(\), |not in \(1, len\(',
        found='if array.shape not in ((), (n,)):',
        # Settings are checked with their ranges; laws in control loops, for rows of states.
        files=('core/model/joint_values.py', 'common/settings.py', 'control/feedforward.py'),
    ),
    Row(
        concept='root mean square',
        pattern=r'def _?rms\(',
        found='def _rms(x: Array) -> Array:',
        files=('core/model/joint_values.py',),
    ),
    Row(
        concept='links that move',
        pattern=r'frame_body\[.*frame_index\(.*\] >= 0|>= 0\]\[-1\]',
        found='return [link for link in links if tree.frame(link).body >= 0][-1]',
        files=('core/model/robot_model.py', 'validation/engines/reference_engine.py'),
    ),
    Row(
        concept='quaternion and rotation matrix',
        pattern=r'eigh\(K\)|\b2(\.0)? \* (\w+\.)?w(\b.*)? \* \w+ \+ 2',
        found='R = np.eye(3) + 2 * w * across + 2 * across @ across',
        files=('common/spatial.py',),
    ),
    Row(
        concept='nanoseconds per second',
        pattern=r'\* 1e9|/ 1e9|1e9 [*/]|1_000_000_000|10\*\*9',
        found='t = stamp / 1e9',
        files=('common/stamps.py',),
    ),
    Row(
        concept='quintic from rest to rest',
        pattern=r'\(10 - 15 \*|10 \* \w+\*\*3 - 15|30 \* \w+\*\*2 \* \(1 - ',
        found='s = u**3 * (10 - 15 * u + 6 * u**2)',
        files=('control/spline.py',),
    ),
    Row(
        concept='steps that an integrator resolves',
        pattern=r'\b2\.78\d*\b|\bSTABLE\b',
        found="STABLE = {'rk4': 2.78}",
        files=('core/algorithms/integrators.py',),
    ),
    Row(
        concept='names of namespaces',
        pattern=r'validate_namespace|A-Za-z_\]\\w\*\(/',
        found='from rclpy.validate_namespace import validate_namespace',
        files=('ros/namespaces.py',),
    ),
    Row(
        concept='defaults of a URDF',
        pattern=r"'(0 0 0|1 0 0)'",
        found="axis = element.get('xyz', '1 0 0')",
        files=(
            'urdf/rules.py',
            'validation/engines/original_text.py',  # which shares nothing with our reader
        ),
    ),
    Row(
        concept='option of the gravity vector',
        pattern=r"gravity vector, m/s|'--gravity'",
        found="add('--gravity', nargs=3, help='gravity vector, m/s^2')",
        files=('cli/options.py',),
    ),
    Row(
        concept='form of a finding',
        pattern=r"'(words|subject)': ",
        found="return {'kind': kind, 'subject': link, 'words': text}",
        files=(
            'common/reporting/findings.py',
            'evaluation/evaluation_report.py',  # kinds that were not searched
        ),
    ),
]


@cache
def code_of(file):
    """Return the source of a file with comments and docstrings left out."""
    source = file.read_text()
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            for k in range(node.lineno - 1, node.end_lineno):
                lines[k] = '\n'
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            k, start = token.start
            lines[k - 1] = lines[k - 1][:start] + '\n'
    return ''.join(lines)


def places(row):
    """Return the files whose code contains the pattern of a row, with the first such line."""
    found = {}
    for file in sorted(PACKAGE.rglob('*.py')):
        match = re.search(row.pattern, code_of(file))
        if match:
            line = code_of(file).count('\n', 0, match.start()) + 1
            found[file.relative_to(PACKAGE).as_posix()] = line
    return found


def is_in(file, allowed):
    return file == allowed or (allowed.endswith('/') and file.startswith(allowed))


def of_concept(row):
    return row.concept


@pytest.mark.parametrize('row', OWNERS, ids=of_concept)
def test_only_the_owner_writes_a_concept(row):
    second = [
        f'{file}:{line}'
        for file, line in places(row).items()
        if not any(is_in(file, allowed) for allowed in row.files)
    ]
    assert not second, f'{row.concept}: {row.files[0]} has it; also written in {second}'


@pytest.mark.parametrize('row', OWNERS, ids=of_concept)
def test_every_file_of_a_row_contains_the_concept(row):
    assert re.search(row.pattern, row.found)
    found = places(row)
    for allowed in row.files:
        assert any(is_in(file, allowed) for file in found), f'{allowed} has no {row.pattern}'
