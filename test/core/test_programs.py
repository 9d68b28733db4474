# SPDX-License-Identifier: Apache-2.0
"""Gravity and payloads at run time, pickling, and when programs are compiled."""

import copy
import inspect
import multiprocessing
import pickle
import sys
import threading
import types

import numpy as np
import pytest

from robot_dynamics.codegen.backends import machine_code
from robot_dynamics.common.errors import FrameNotFound, ModelError
from robot_dynamics.core import programs
from robot_dynamics.core.dynamics import PROGRAMS, Dynamics
from robot_dynamics.core.model.robots import planar_2r, random_inertial, random_tree

N = 4
GRAVITY = [1.0, -2.0, -9.0]


@pytest.fixture(scope='module')
def arm():
    model = random_tree(N, np.random.default_rng(3))
    return Dynamics(model.with_actuation(viscous=0.3, coulomb=0.1))


@pytest.fixture(scope='module')
def load():
    body = random_inertial(np.random.default_rng(4))
    return body.mass, body.com, body.inertia_com


def results_of(arm, leading=()):
    """Return the results of every method."""
    q, qd, x = np.random.default_rng(1).uniform(-1, 1, (3, *leading, N))
    tip = arm.model.frame_names[-1]
    results = {}
    for name in PROGRAMS:
        if name == 'simulate':
            results[name] = arm.simulate(q, qd, x, steps=2)
            continue
        if programs.ALGORITHMS[PROGRAMS[name]].at_frame:
            continue
        method = getattr(arm, name)
        parameters = inspect.signature(method).parameters
        choices = ('out', 'friction', 'time_step', 'integrator')
        inputs = [key for key in parameters if key not in choices]
        results[name] = method(*(qd if key == 'qd' else q if key == 'q' else x for key in inputs))
    results['forward_kinematics'] = arm.forward_kinematics(q, tip)
    results['jacobian_dot'] = arm.jacobian_dot(q, qd, tip)
    return results


def assert_same(ours, expected, tolerance=1e-9):
    assert ours.keys() == expected.keys()
    for name in expected:
        fields = (ours[name], expected[name])
        pairs = zip(*fields, strict=True) if isinstance(ours[name], tuple) else [fields]
        for a, b in pairs:
            scale = max(1.0, np.abs(b).max())
            np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * scale, err_msg=name)


# -- run-time gravity and loads ---------------------------------------------------------------


@pytest.mark.parametrize('backend', ['auto', 'python'])
@pytest.mark.parametrize('leading', [(), (3,)])
def test_gravity_and_payloads_at_run_time_equal_those_of_the_model(arm, load, backend, leading):
    first, last = arm.model.body_names[0], arm.model.frame_names[-1]
    base = Dynamics(arm.model, backend=backend)
    varied = base.with_gravity(GRAVITY).with_payload(last, *load).with_payload(first, 1.5)
    model = arm.model.with_gravity(GRAVITY).with_payload(last, *load).with_payload(first, 1.5)
    np.testing.assert_allclose(varied.model.mass, model.mass)
    assert_same(results_of(varied, leading), results_of(Dynamics(model), leading))
    # The original arm is unchanged.
    assert_same(results_of(base, leading), results_of(arm, leading), 1e-12)


def test_two_payloads_on_a_link_add_up_and_remain_with_another_gravity(arm, load):
    link = arm.model.body_names[-1]
    twice = arm.with_payload(link, *load).with_payload(link, 0.7, [0.0, 0.1, 0.0])
    turned = twice.with_gravity(GRAVITY)
    model = arm.model.with_payload(link, *load).with_payload(link, 0.7, [0.0, 0.1, 0.0])
    assert_same(results_of(twice), results_of(Dynamics(model)))
    assert_same(results_of(turned), results_of(Dynamics(model.with_gravity(GRAVITY))))


def test_payloads_at_frames_of_one_body_share_its_variation():
    arm = Dynamics(planar_2r()).with_payload('tip', 1.0, [0.1, 0.0, 0.0])
    arm = arm.with_payload('link2', 2.0)
    assert arm.programs.variation.bodies == [1]
    expected = Dynamics(arm.model).gravity_torque([0.3, 0.2])
    np.testing.assert_allclose(arm.gravity_torque([0.3, 0.2]), expected, rtol=1e-12)


def test_another_value_compiles_nothing(arm, load, monkeypatch):
    link = arm.model.body_names[-1]
    results_of(arm.with_payload(link, 0.0))
    results_of(arm.with_gravity(GRAVITY))
    forbidden = pytest.fail
    monkeypatch.setattr(programs, 'compile_program', lambda *_, **__: forbidden('compiles'))
    rng = np.random.default_rng(0)
    for mass in (0.5, 2.0):
        gravity = rng.normal(size=3)
        varied = arm.with_payload(link, mass, rng.normal(size=3)).with_gravity(gravity)
        results_of(varied)
        results_of(arm.with_gravity(gravity))


def test_a_control_loop_continues_while_another_thread_changes_the_payload(arm):
    link = arm.model.body_names[-1]
    q, qd, qdd = np.random.default_rng(2).normal(size=(3, N))
    # tau is linear in the mass.
    empty = arm.with_payload(link, 0.0).inverse_dynamics(q, qd, qdd)
    slope = arm.with_payload(link, 1.0).inverse_dynamics(q, qd, qdd) - empty
    current = [(0.0, arm.with_payload(link, 0.0))]

    def change():
        for mass in np.linspace(0.0, 5.0, 200):
            current[0] = mass, arm.with_payload(link, mass)

    changing = threading.Thread(target=change)
    changing.start()
    while changing.is_alive():
        mass, held = current[0]
        tau = held.inverse_dynamics(q, qd, qdd)
        np.testing.assert_allclose(tau, empty + mass * slope, atol=1e-12 * np.abs(tau).max())
    changing.join()
    assert current[0][0] == 5.0


def test_frictionless_is_the_same_arm_without_friction(arm, load):
    link = arm.model.body_names[-1]
    for ours in (arm.without_friction(), arm.with_payload(link, *load).without_friction()):
        assert not ours.friction_torque(np.ones(N)).any()
        model = ours.model.with_actuation(viscous=0.0, coulomb=0.0)
        assert_same(results_of(ours), results_of(Dynamics(model)))


def test_copies_and_pickles_of_a_variation_compute_the_same(arm, load):
    varied = arm.with_payload(arm.model.body_names[-1], *load).with_gravity(GRAVITY)
    expected = results_of(varied)
    for twin in (pickle.loads(pickle.dumps(varied)), copy.deepcopy(varied)):
        assert_same(results_of(twin), expected, 0.0)


METHODS = 'gravity_torque', 'terms', 'forward_dynamics', 'jacobian'


@pytest.mark.parametrize('backend', ['auto', 'python'])
def test_methods_can_be_copied_and_pickled_without_their_arm(arm, load, backend):
    tip, q = arm.model.frame_names[-1], np.array([0.3, -0.2, 0.7, 1.1])
    given = {'gravity_torque': [q], 'terms': [q, q], 'forward_dynamics': [q, q, q]}
    base = Dynamics(arm.model, backend=backend)
    for ours in (base, base.with_payload(tip, *load).with_gravity(GRAVITY)):
        for name in METHODS:
            method, arguments = getattr(ours, name), given.get(name, [q, tip])
            expected = method(*arguments)
            pickled = pickle.dumps(method)
            for twin in (pickle.loads(pickled), copy.copy(method), copy.deepcopy(method)):
                assert_same({name: twin(*arguments)}, {name: expected}, 0.0)
        assert_same(results_of(copy.deepcopy(ours)), results_of(ours), 0.0)
    # A pickle holds the robot, neither its machine code nor that of other methods.
    assert len(pickled) < 11_000


@pytest.mark.parametrize('backend', ['auto', 'python'])
def test_programs_can_be_copied_and_pickled_with_their_calls(arm, load, backend):
    tip, q = arm.model.frame_names[-1], np.array([0.3, -0.2, 0.7, 1.1])
    base = Dynamics(arm.model, backend=backend)
    for ours in (base, base.with_payload(tip, *load).with_gravity(GRAVITY)):
        for program, arguments in (
            (ours.program('terms'), [q, q]),
            (ours.program('forward_dynamics'), [q, q, q]),
            (ours.simulation_step('rk4', 'none'), [q, q, q, [0.01]]),
            (ours.frame_program('jacobian', tip), [q]),
        ):
            expected = {'result': program(*arguments)}
            for one in (program, program.call):
                pickled = pickle.dumps(one)
                for twin in (pickle.loads(pickled), copy.copy(one), copy.deepcopy(one)):
                    assert_same({'result': twin(*arguments)}, expected, 0.0)
            again = pickle.loads(pickle.dumps(program))
            assert (again.name, again.signature) == (program.name, program.signature)
            assert again.call.__doc__ == program.call.__doc__
    again = pickle.loads(pickle.dumps(base.program('forward_dynamics')))
    assert_same(
        {'result': again(q, q, q, friction='model')},
        {'result': base.forward_dynamics(q, q, q, friction='model')},
        0.0,
    )


@pytest.mark.parametrize('kind', multiprocessing.get_all_start_methods())
def test_methods_run_in_other_processes(arm, load, kind):
    held = arm.with_payload(arm.model.frame_names[-1], *load)
    q = np.array([0.3, -0.2, 0.7, 1.1])
    with multiprocessing.get_context(kind).Pool(1) as pool:
        (result,) = pool.map_async(held.gravity_torque, [q]).get(timeout=120)
    assert np.array_equal(result, held.gravity_torque(q))


def test_values_are_copied(arm):
    gravity = np.array(GRAVITY)
    varied = arm.with_gravity(gravity)
    before = varied.gravity_torque(np.zeros(N))
    gravity[:] = 0.0
    np.testing.assert_array_equal(varied.gravity_torque(np.zeros(N)), before)
    np.testing.assert_array_equal(varied.coriolis_torque(np.zeros(N), np.zeros(N)), np.zeros(N))


def test_invalid_payloads_and_gravity_are_rejected_by_name(arm):
    link = arm.model.body_names[-1]
    with pytest.raises(FrameNotFound, match="no frame 'tool'"):
        arm.with_payload('tool', 1.0)
    with pytest.raises(ModelError, match='fixed to the base'):
        arm.with_payload(arm.model.frame_names[0], 1.0)
    for mass, com in (
        (-1.0, [0, 0, 0]),
        (np.nan, [0, 0, 0]),
        (1.0, [0, 0]),
        (1.0, [np.inf, 0, 0]),
    ):
        with pytest.raises(ModelError):
            arm.with_payload(link, mass, com)
    for gravity in ([0.0, 0.0], 9.81, [0.0, 0.0, np.nan]):
        with pytest.raises(ModelError, match='gravity'):
            arm.with_gravity(gravity)


def test_a_payload_can_give_a_massless_tip_its_inertia():
    arm = Dynamics(planar_2r(masses=(1.0, 0.0), inertias=(0.1, 0.0)))
    assert 'simulate' not in arm.precompilable()
    held = arm.with_payload('link2', 1.0, [1.0, 0.0, 0.0])
    q = np.zeros(2)
    expected = Dynamics(held.model).forward_dynamics(q, q, q)
    np.testing.assert_allclose(held.forward_dynamics(q, q, q), expected, rtol=1e-13)


# -- time of compilation ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(machine_code.why_not() is not None, reason='no machine code here')
def test_after_precompile_nothing_is_compiled(arm, tmp_path, monkeypatch):
    monkeypatch.setenv('ROBOT_DYNAMICS_CACHE_DIR', str(tmp_path))
    tip = arm.model.frame_names[-1]
    held = Dynamics(arm.model).with_payload(tip, 0.0)
    held.precompile(frames=[tip])
    Dynamics(arm.model).precompile('inverse_dynamics')
    monkeypatch.setattr(
        machine_code, 'compile_module', lambda *_: pytest.fail('something was not precompiled')
    )
    # Another process would find all of it on disk.
    later = Dynamics(arm.model).with_payload(tip, 1.0)
    for leading in ((), (200,)):
        results_of(later, leading)
        q = np.zeros((*leading, N))
        later.wrench_torque(q, np.zeros((*leading, 6)), tip)
    for name in ('explicit_euler', 'rk4'):
        later.simulate(*np.zeros((3, 200, N)), steps=1, integrator=name)
        later.rollout(*np.zeros((2, N)), np.zeros((3, N)), integrator=name)
    Dynamics(arm.model).inverse_dynamics(*np.zeros((3, 2, N)))


def test_only_compiled_methods_are_precompiled(arm):
    at_frames = {name for name, algorithm in programs.ALGORITHMS.items() if algorithm.at_frame}
    assert set(arm.precompilable()) == set(PROGRAMS) - at_frames
    assert set(arm.precompilable(['link1'])) == set(PROGRAMS)
    with pytest.raises(ValueError, match="'torque' is no compiled method; these are: inverse_dyn"):
        arm.precompile('torque')
    with pytest.raises(ValueError, match=r'name it, frames=\[...\], of link'):
        arm.precompile('jacobian')
    with pytest.raises(FrameNotFound, match="no frame 'tool'"):
        arm.precompile('jacobian', frames=['tool'])
    massless_tip = Dynamics(planar_2r(masses=(1.0, 0.0), inertias=(0.1, 0.0)))
    with pytest.raises(ModelError, match='moves no inertia'):
        massless_tip.precompile('simulate')


def test_native_callables_have_names_docstrings_and_signatures(arm):
    for name in ('inverse_dynamics', 'forward_dynamics', 'gravity_torque'):
        call = getattr(arm, name)
        assert call.__name__ == name
        assert '(..., n)' in inspect.getdoc(call)
        assert next(iter(inspect.signature(call).parameters)) == 'q'


def test_other_source_has_another_version(tmp_path, monkeypatch):
    """An upgrade must not reuse machine code of the previous version."""
    versions = {programs.version_of(programs.__name__)}
    for name in ('elsewhere', 'upgraded'):
        module, file = types.ModuleType(name), tmp_path / 'module.py'
        file.write_text(f'# {name}')
        module.__file__ = str(file)
        monkeypatch.setitem(sys.modules, name, module)
        versions.add(programs.version_of(name))
    assert len(versions) == 3
