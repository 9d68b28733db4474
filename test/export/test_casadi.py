# SPDX-License-Identifier: Apache-2.0
"""External functions of CasADi: values and Jacobians, as its own expressions use them."""

import ctypes
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from c_compilers import FOUND, load_c
from robots import load

from robot_dynamics import Dynamics, cli
from robot_dynamics.common.resources import share_file
from robot_dynamics.core.model.robots import planar_2r, random_tree
from robot_dynamics.export.casadi_source import DERIVATIVES, casadi_files
from robot_dynamics.export.functions import functions
from robot_dynamics.urdf.loading import load_urdf

ca = pytest.importorskip('casadi')
pytestmark = pytest.mark.skipif(not FOUND, reason='needs gcc or clang')


@pytest.fixture
def exported(tmp_path):
    """Return a function that exports, compiles and loads functions of an arm, by their names."""

    def loaded(arm, names, frame=None):
        for file, text in casadi_files(
            arm, functions(arm, names, frame), 'arm', version='0'
        ).items():
            (tmp_path / file).write_text(text)
        library = tmp_path / 'arm_casadi.so'
        load_c(FOUND[0], tmp_path / 'arm_casadi.c', library)
        return {name: ca.external(f'arm_{name}', str(library)) for name in names}

    return loaded


def check(arm, found, frame, rng):
    """Compare values with those of the library, Jacobians with differences of these values."""
    for name, function in found.items():
        extra = [frame] if name == 'forward_kinematics' else []

        def value(x, name=name, extra=extra):
            return getattr(arm, name)(*np.split(x, len(x) // arm.model.n), *extra)

        x = rng.uniform(-1, 1, arm.model.n * function.n_in())
        own = np.array(function(*np.split(x, function.n_in())))
        expected = value(x)
        size = np.abs(expected).max()
        shape = expected.shape if expected.ndim == 2 else (expected.size, 1)
        np.testing.assert_allclose(own, expected.reshape(shape), rtol=0, atol=1e-13 * size)

        variable = ca.MX.sym('x', len(x))
        result = ca.vec(function(*ca.vertsplit(variable, arm.model.n)))
        J = np.array(ca.Function('J', [variable], [ca.jacobian(result, variable)])(x))
        # Central differences of fourth order; entries of matrices by columns, as CasADi does.
        h, sides = 1e-3, (-2, -1, 1, 2)
        moved = [[np.ravel(value(x + k * h * e), 'F') for k in sides] for e in np.eye(len(x))]
        a, b, c, d = np.moveaxis(np.array(moved), 1, 0)
        differences = ((a - d) + 8 * (c - b)).T / (12 * h)
        assert np.abs(differences).max() > 0
        np.testing.assert_allclose(J, differences, rtol=0, atol=1e-8 * np.abs(J).max())


def end(arm):
    """Return a frame of the last body."""
    return max(arm.model.frame_names, key=lambda name: arm.tree.frame(name).body)


def test_values_and_jacobians(exported):
    rng = np.random.default_rng(5)
    arm = Dynamics(random_tree(3, rng), backend='python')
    assert 0 < arm.model.angular.sum() < 3
    frame = end(arm)
    check(arm, exported(arm, list(DERIVATIVES), frame), frame, rng)


@pytest.mark.slow
@pytest.mark.parametrize('robot', ['panda', 'ur5', 'kuka_iiwa'])
def test_arms(exported, robot):
    arm = Dynamics(load(robot), backend='python')
    frame = end(arm)
    check(arm, exported(arm, list(DERIVATIVES), frame), frame, np.random.default_rng(6))


@pytest.mark.slow
def test_loops_over_a_long_chain(exported):
    arm = Dynamics(random_tree(30, np.random.default_rng(1), branching=0.1))
    check(arm, exported(arm, ['inverse_dynamics', 'bias_torque']), '', np.random.default_rng(7))


def test_null_arguments_and_results(exported, tmp_path):
    """Arguments that are NULL are zeros, results that are NULL are not stored."""
    arm = Dynamics(planar_2r(), backend='python')
    exported(arm, ['gravity_torque'])
    call = ctypes.CDLL(str(tmp_path / 'arm_casadi.so')).arm_gravity_torque
    room, found = (ctypes.c_double * 2)(), (ctypes.c_double * 2)()
    pointers = ctypes.POINTER(ctypes.c_double) * 1
    assert call(pointers(), pointers(found), None, room, 0) == 0
    np.testing.assert_allclose(found, arm.gravity_torque([0.0, 0.0]), rtol=1e-14)
    assert call(pointers(), pointers(), None, room, 0) == 0


def test_a_second_derivative_raises(exported):
    torque = exported(Dynamics(planar_2r(), backend='python'), ['gravity_torque'])[
        'gravity_torque'
    ]
    q = ca.MX.sym('q', 2)
    with pytest.raises(RuntimeError, match='Derivatives cannot be calculated for jac_arm_grav'):
        ca.hessian(ca.sum1(torque(q)), q)


def test_in_code_that_casadi_generates(exported, tmp_path):
    """It calls the functions by their names: the file is compiled with the others."""
    arm = Dynamics(planar_2r(), backend='python')
    torque = exported(arm, ['gravity_torque'])['gravity_torque']
    q = ca.MX.sym('q', 2)
    generator = ca.CodeGenerator('stiffness.c')
    generator.add(ca.Function('stiffness', [q], [ca.jacobian(torque(q), q)]))
    generator.generate(f'{tmp_path}/')
    both, library = tmp_path / 'both.c', tmp_path / 'both.so'
    both.write_text('#include "arm_casadi.c"\n#include "stiffness.c"\n')
    load_c(FOUND[0], both, library, '-w')
    J = ca.external('stiffness', str(library))([0.3, -0.2])
    np.testing.assert_allclose(J.full(), arm.gravity_torque_derivative([0.3, -0.2]), rtol=1e-14)


@pytest.mark.slow
def test_the_guide(tmp_path, monkeypatch, capsys):
    """Its commands write and compile the file, its Python runs with the result."""
    text = (Path(__file__).parents[2] / 'docs/guides/export.md').read_text()
    section = text.split('\n## In CasADi\n')[1].split('\n## ')[0].replace('\\\n', ' ')
    monkeypatch.chdir(tmp_path)
    (command,) = re.findall('^robot-dynamics (.*)', section, re.M)
    assert cli.main(command.split()) == 0
    monkeypatch.chdir(tmp_path / 'panda_casadi')
    (command,) = re.findall('^gcc (.*)', section, re.M)
    subprocess.run([FOUND[0], *command.split()], check=True)
    (code,) = re.findall('```python\n(.*?)```', section, re.S)
    names = {}
    exec(compile(code, 'export.md', 'exec'), names)
    tip = ca.Function('tip', [names['q']], [names['tip']])
    arm, q = Dynamics(load_urdf('panda')), np.linspace(-1.0, 1.0, 7)
    assert tip(q).full().ravel() == pytest.approx(arm.forward_kinematics(q, 'panda_link8')[:3, 3])
    for name, its in re.findall(r'^\| (`.*`) .*\| (\S+|from .*) \|$', section, re.M):
        for each in re.findall('`(.*?)`', name):
            assert DERIVATIVES[each] == its.strip('`') or each == 'forward_kinematics'


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (['--functions', 'mass_matrix'], "'mass_matrix' has no Jacobian for CasADi; expected inv"),
        (['--functions', 'terms', '--scalar', 'float'], '--scalar float is not supported'),
        (['--functions', 'terms', '--variable', 'gravity'], '--variable is not supported for --l'),
        (['--functions', 'terms', '--self-test'], '--self-test is not supported for --language c'),
        (['--functions', 'gravity_torque', '--name', 'a__b'], "'a__b' is none for CasADi"),
        (['--functions', 'gravity_torque', '--name', 'a-b'], "'a-b' is no identifier of C"),
    ],
)
def test_refusals(tmp_path, capsys, options, message):
    words = ['export', str(share_file('urdf/planar_2r.urdf')), '--language', 'casadi', *options]
    assert cli.main([*words, '--output', str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not list(tmp_path.iterdir())
