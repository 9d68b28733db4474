"""docs/compiler.md shows what the compiler does, not what it once did."""

from pathlib import Path

import numpy as np

from robot_dynamics.algorithms.gravity import gravity_torque
from robot_dynamics.algorithms.repeated_bodies import kind_keys, loop_tree
from robot_dynamics.codegen.backends.python import loop_source, python_source
from robot_dynamics.codegen.loops import LoopForm, Rows
from robot_dynamics.codegen.loops.assembly import trace_loops
from robot_dynamics.codegen.tracing import trace
from robot_dynamics.model.builder import build_tree
from robot_dynamics.model.canonical import canonical_tree
from robot_dynamics.model.inertia import Inertial
from robot_dynamics.spatial import pose
from robot_dynamics.urdf.loading import load_urdf

ROOT = Path(__file__).parents[2]


def test_every_stage_is_shown_as_it_is():
    page = (ROOT / 'docs' / 'compiler.md').read_text(encoding='utf-8')
    tree = canonical_tree(load_urdf(ROOT / 'urdf' / 'planar_2r.urdf'))
    program = trace(lambda q: gravity_torque(tree, q), {'q': 2}, name='gravity_torque')

    nodes = '\n'.join(f'{index:<2} {node}' for index, node in enumerate(program.nodes))
    results = ', '.join(str(index) for entries in program.results for index in entries)
    assert f'{nodes}\nresults: {results}\n' in page
    assert f'```python\n{python_source(program)}```' in page


def test_the_loops_of_a_row_of_rods_are_shown_as_they_are():
    n, end = 100, pose(np.eye(3), np.array([1.0, 0.0, 0.0]))
    rod = Inertial(1.0, np.array([0.5, 0.0, 0.0]), np.diag([0.0, 1 / 12, 1 / 12]))
    rods = build_tree(
        'rods',
        range(-1, n - 1),
        [True] * n,
        [np.array([0.0, 0.0, 1.0])] * n,
        [np.eye(4), *[end] * (n - 1)],
        [rod] * n,
        gravity=np.array([0.0, -9.81, 0.0]),
    )
    tree = canonical_tree(rods)
    rows = Rows.of([joint.parent for joint in tree.joints], kind_keys(tree))
    rolled = LoopForm(lambda way, q: gravity_torque(loop_tree(tree, way), q), rows, ('q',))
    program = trace_loops(rolled, {'q': n}, name='gravity_torque', outputs=('g',))
    source = loop_source(program)
    page = (ROOT / 'docs' / 'compiler.md').read_text(encoding='utf-8')
    assert f'```python\n{source[source.index("def ") :]}```' in page
    np.testing.assert_allclose(program.table[0], np.arange(99.5, 0.0, -1.0))
