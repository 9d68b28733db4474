# SPDX-License-Identifier: Apache-2.0
"""docs/appendices/compiler.md shows what the compiler does, not what it once did."""

from pathlib import Path

from robot_dynamics.codegen.backends.python import python_source
from robot_dynamics.codegen.tracing import trace
from robot_dynamics.core.algorithms.gravity import gravity_torque
from robot_dynamics.core.model.canonical import canonical_tree
from robot_dynamics.urdf.loading import load_urdf

ROOT = Path(__file__).parents[2]


def test_every_stage_is_shown_as_it_is():
    page = (ROOT / 'docs' / 'appendices' / 'compiler.md').read_text(encoding='utf-8')
    tree = canonical_tree(load_urdf(ROOT / 'urdf' / 'planar_2r.urdf'))
    program = trace(lambda q: gravity_torque(tree, q), {'q': 2}, name='gravity_torque')

    nodes = '\n'.join(f'{index:<2} {node}' for index, node in enumerate(program.nodes))
    results = ', '.join(str(index) for entries in program.results for index in entries)
    assert f'{nodes}\nresults: {results}\n' in page
    assert f'```python\n{python_source(program)}```' in page
