# SPDX-License-Identifier: Apache-2.0
"""The key of cached machine code depends on every source file that contributes to it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from compiling import *  # noqa: F403  (fixtures)

import robot_dynamics
from robot_dynamics.codegen import tracing
from robot_dynamics.codegen.backends import cache

# All files of these folders generate code, including those that no program below uses.
GENERATORS = ('core/algorithms', 'codegen', 'core/friction')

# These name programs and check arguments, or define functions of their own programs.
CALLERS = (
    'core/compiled_robot.py',
    'core/dynamics.py',
    'core/moving_base.py',
    'core/rollout.py',
    'core/base_motion.py',
    'simulation/steps/held_base.py',
)
OWNERS = ('simulation/closed_chains/closed_chain.py',)

# Makes programs in a copy of the package, with a cache that keeps nothing. For each it prints the
# files that run meanwhile, and those of them of which a changed byte does not change the key.
UNNOTICED = """
import json
import sys
from pathlib import Path

import numpy as np

import robot_dynamics
from robot_dynamics import ClosedChain, Dynamics
from robot_dynamics.codegen.backends import cache, machine_code
from robot_dynamics.core import programs
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.model.robots import random_tree
from robot_dynamics.simulation.closed_chains import linkages
from robot_dynamics.simulation.ensembles.perturbations import Perturbations
from robot_dynamics.simulation.steps.rigid_arm import RigidArm

package, generators = Path(robot_dynamics.__file__).parent, sys.argv[1:]
rng = np.random.default_rng(0)
arm = random_tree(3, rng).with_actuation(viscous=0.1, coulomb=0.1)
# Short enough for lanes, with branches alike; long enough for loops.
humanoid = random_tree(12, rng, branching=0.5, prismatic=0.0)
chain = random_tree(60, rng, branching=0.1)
linkage = linkages.slider_crank()
closed = ClosedChain(Dynamics(linkage.tree), linkage.closures, near=linkage.near)


def closed_chain_step():
    closed.arm = Dynamics(linkage.tree)
    closed.simulation_step('rk4')


makers = {
    'inverse dynamics': lambda: Dynamics(arm).inverse_dynamics,
    'mass matrix with a payload': lambda: Dynamics(arm).with_payload('link3', 1.0).mass_matrix,
    'branch vectorization': lambda: Dynamics(humanoid).inverse_dynamics,
    'loops': lambda: Dynamics(chain).mass_matrix,
    'at a frame': lambda: Dynamics(arm).jacobian([0.1, 0.2, 0.3], 'link3'),
    'simulation step': lambda: Dynamics(arm).simulation_step('semi_implicit_euler'),
    'simulation/closed_chains/closed_chain.py': closed_chain_step,
    'simulation/ensembles/perturbations.py': lambda: Perturbations(viscous=0.2).step(
        Dynamics(arm), 'semi_implicit_euler'
    ),
    'simulation/steps/rigid_arm.py': lambda: RigidArm(Dynamics(arm))._rounds(1),
}


class Found(Exception):
    '''The key, instead of what is kept under it.'''


def nothing(text):
    return None


def found(text):
    raise Found(text)


def files_run(make):
    ran = set()
    sys.setprofile(lambda frame, *_: ran.add(frame.f_code.co_filename))
    make()
    sys.setprofile(None)
    return {Path(name).relative_to(package) for name in ran if name.startswith(str(package))}


def key(make):
    try:
        make()
    except Found as found:
        return str(found)
    raise AssertionError('no key was asked for')


def forget():
    programs.version_of.cache_clear()
    cache.generator_digest.cache_clear()


machine_code.processor()
cache.write = lambda *_: None
cache.read = nothing
everywhere = {
    path.relative_to(package) for name in generators for path in (package / name).rglob('*.py')
}
parts = {name: files_run(make) | everywhere for name, make in makers.items()}
cache.read = found
before = {name: key(make) for name, make in makers.items()}
unnoticed = {name: [] for name in makers}
for path in sorted(set().union(*parts.values())):
    content = (package / path).read_bytes()
    (package / path).write_bytes(content + b'#')
    forget()
    for name, make in makers.items():
        if path in parts[name] and key(make) == before[name]:
            unnoticed[name].append(path.as_posix())
    (package / path).write_bytes(content)
forget()
assert {name: key(make) for name, make in makers.items()} == before
ran = sorted(path.as_posix() for path in set().union(*parts.values()))
print(json.dumps({'ran': ran, 'unnoticed': unnoticed}))
"""


@pytest.mark.slow
@pytest.mark.usefixtures('machine')
def test_a_change_of_any_generating_source_changes_the_key(tmp_path):
    """Otherwise stale machine code would be reused silently."""
    package = Path(robot_dynamics.__file__).parent
    shutil.copytree(package, tmp_path / package.name, ignore=shutil.ignore_patterns('__pycache__'))
    environment = {
        **os.environ,
        'PYTHONPATH': os.pathsep.join([str(tmp_path), *sys.path]),
        'PYTHONDONTWRITEBYTECODE': '1',
        'ROBOT_DYNAMICS_WRAPPER': 'native',
    }
    command = [sys.executable, '-c', UNNOTICED, *GENERATORS]
    ended = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = json.loads(ended.stdout)
    vectors = 'codegen/loops/branch_vectorization.py'
    model = 'core/model/canonical.py', 'core/model/coordinates.py', 'common/spatial.py'
    assert {*model, vectors} <= set(found['ran'])
    for program, files in found['unnoticed'].items():
        assert set(files) <= {*CALLERS, *OWNERS} - {program}, program


def test_a_missing_folder_has_no_fingerprint(tmp_path, monkeypatch):
    (tmp_path / 'empty').mkdir()
    (tmp_path / 'empty' / 'notes.txt').write_text('no source')
    for path in (tmp_path / 'empty', tmp_path / 'gone', tmp_path / 'gone.py'):
        with pytest.raises(FileNotFoundError):
            cache.fingerprint(path)
        with pytest.raises(FileNotFoundError):
            cache.fingerprint(Path(tracing.__file__).parent, path)
    monkeypatch.setattr(cache, 'GENERATORS', (*cache.GENERATORS, 'moved'))
    cache.generator_digest.cache_clear()
    with pytest.raises(FileNotFoundError, match='moved'):
        cache.generator_digest()
    cache.generator_digest.cache_clear()
