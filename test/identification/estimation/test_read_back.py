# SPDX-License-Identifier: Apache-2.0
"""What `identify` writes is read by the loader, check, evaluate and the nodes' parameters."""

from dataclasses import replace

import numpy as np
import pytest
from arms_to_identify import load_memory, recorded, wrong
from c_compilers import each_compiler, run_c
from tiers import soak

from robot_dynamics import cli
from robot_dynamics.common.resources import bundled_robots, share_file
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.inertia import Inertial, inconsistency
from robot_dynamics.export.c_header import c_files
from robot_dynamics.export.functions import functions
from robot_dynamics.ros.parameter_files import read_parameters, standard_errors
from robot_dynamics.ros.robot_parameters import MeasuredParameters
from robot_dynamics.urdf.loading import load_urdf


def write(file, one):
    head = ','.join(['t', *(f'{k}_{n}' for k in ('q', 'qd', 'tau') for n in one.joint_names)])
    rows = np.hstack([one.t[:, None], one.q, one.qd, one.effort])
    np.savetxt(file, rows, delimiter=',', header=head)


SMALL = ('planar_2r',)


@pytest.mark.slow
@pytest.mark.parametrize(
    'name', [*SMALL, *soak(name for name in bundled_robots() if name not in SMALL)]
)
@pytest.mark.parametrize('efforts', [*soak(['torques']), 'currents'])
def test_outputs_are_read_back(tmp_path, capsys, name, efforts):
    urdf = share_file(f'urdf/{name}.urdf')
    described = load_urdf(urdf)
    true = wrong(described, rotor_inertia=0.1 * np.ones(described.n))
    law = load_memory([0.5] * true.n, [0.4] * true.n, [0.05] * true.n)
    one = recorded(true, 1, duration=10.0, rate=100.0, friction=law)
    scale = {'torques': 1.0, 'currents': -2.5}[efforts]
    write(tmp_path / 'run.csv', replace(one, effort=one.effort / scale + 0.1))
    written = tmp_path / 'a.urdf'
    words = ['identify', tmp_path / 'run.csv', '--robot', urdf, '--efforts', efforts, '--force']
    words += ['--friction', 'load_memory', '--output', written]
    if scale < 0:
        words += ['--effort-scale', str(scale)]
    assert cli.main(list(map(str, words))) in (0, 1)
    model = load_urdf(written, strict_inertials=True)
    for body in zip(model.mass, model.com, model.inertia_com, strict=True):
        assert not inconsistency(Inertial(*body))
    assert (model.viscous >= 0).all()
    assert (model.coulomb >= 0).all()
    parameters = read_parameters(written.with_suffix('.yaml'), MeasuredParameters)
    assert parameters.friction(model).law.name == 'load_memory'
    rotors = parameters.robot(written.read_text()).reflected_inertia
    np.testing.assert_array_equal(rotors, parameters.of_joints('rotor_inertia', model))
    assert (parameters.of_joints('effort_scale', model) * scale > 0).all()
    errors = standard_errors(written.with_suffix('.yaml'), model)
    terms = {f'friction.{term}' for term in ('viscous', 'coulomb', 'load')}
    assert set(errors) == {*terms, 'rotor_inertia', 'effort_offset'}
    assert all((error > 0).all() for error in errors.values())
    capsys.readouterr()
    assert cli.main(['check', str(written)]) == 0
    assert 'ERROR' not in capsys.readouterr().out
    words = ['evaluate', tmp_path / 'run.csv', '--robot', written]
    words += ['--params', written.with_suffix('.yaml'), '--max-relative', '0.2']
    assert cli.main(list(map(str, words))) == 0
    assert 'PASS: no residual is larger than allowed' in capsys.readouterr().out


@each_compiler
@pytest.mark.slow
def test_the_law_chosen_by_default_is_read_by_nodes_and_exported_to_c(tmp_path, capsys, kind):
    urdf = share_file('urdf/planar_2r.urdf')
    true = wrong(load_urdf(urdf), rotor_inertia=0.1 * np.ones(2))
    friction = load_memory([0.5, 0.5], [0.4, 0.4], [0.1, 0.1])
    write(tmp_path / 'run.csv', recorded(true, 1, rate=200.0, friction=friction, noise=0.003))
    written = tmp_path / 'a.urdf'
    words = ['identify', tmp_path / 'run.csv', '--robot', urdf, '--output', written]
    assert cli.main(list(map(str, words))) == 0
    assert 'friction law load_memory' in capsys.readouterr().out
    model = load_urdf(written, strict_inertials=True)
    found = read_parameters(written.with_suffix('.yaml'), MeasuredParameters).friction(model)
    assert found.law.name == 'load_memory'
    for term, value in friction.coefficients.items():
        np.testing.assert_allclose(found.coefficients[term], value, rtol=0.1)
    # A header has viscous and Coulomb friction: that of the URDF, with a mean load.
    assert (model.coulomb > 1.2 * found.coefficients['coulomb']).all()
    exported = functions(Dynamics(model), ['friction_torque'])
    for name, text in c_files(
        Dynamics(model), exported, 'arm', 'double', version='0', self_test=True
    ).items():
        (tmp_path / name).write_text(text)
    printed = run_c(kind, tmp_path / 'arm_self_test.c', tmp_path / 't')
    assert printed.endswith('PASSED\n')
