# SPDX-License-Identifier: Apache-2.0
"""Every fast path of the compiler, with a check that it was taken, against formulations in NumPy.

The robots have no simplifying values: asymmetric links of 0.1 m, negative axes, an offset of every
joint, and gravity along no axis. Results go to memory filled with NaN.
"""

import functools
import inspect

import numpy as np
import pytest
from compiling import *  # noqa: F403  (fixtures)
from tiers import soak

from robot_dynamics import Dynamics
from robot_dynamics.codegen.backends import machine_code, python
from robot_dynamics.codegen.backends.llvm_arithmetic import shifted_input
from robot_dynamics.codegen.calls import function, kernels, native_wrapper, recipe, threads
from robot_dynamics.codegen.calls.kernels import PythonKernels
from robot_dynamics.codegen.loops import branch_vectorization as limbs
from robot_dynamics.codegen.loops.loop_program import LoopProgram
from robot_dynamics.common.spatial import axis_rotation, pose
from robot_dynamics.core.model.builder import build_tree
from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.formulations import forward_dynamics
from robot_dynamics.formulations.newton_euler_link_frame import inverse_dynamics

X, Y, Z = np.eye(3)
AXES = X, -Y, -Z, Y, -X, Z

# Relative to the largest entry; forward dynamics: times the condition number of M.
TOLERANCE = 1e-12


def short_links(parents, sliding=()):
    """Return a robot of short links; the bodies `sliding` have prismatic joints."""
    rng = np.random.default_rng(len(parents))

    def body():
        mass, half_axes = rng.uniform(0.2, 2.0), rng.uniform(0.01, 0.06, 3)
        R, sigma = axis_rotation(rng.permutation([0.6, 0.0, 0.8]), 0.7), mass / 5 * half_axes**2
        tensor = R @ np.diag(sigma.sum() - sigma) @ R.T
        return Inertial(mass, rng.uniform(-0.04, 0.06, 3), (tensor + tensor.T) / 2)

    n = len(parents)
    axes = [AXES[i % len(AXES)] for i in range(n)]
    arms = np.array([0.1, -0.03, 0.07])
    return build_tree(
        f'short_links_{n}',
        parents,
        [i not in sliding for i in range(n)],
        axes,
        [pose(axis_rotation(axes[i], 0.3 + 0.2 * i), (-1) ** i * arms) for i in range(n)],
        [body() for _ in parents],
        gravity=np.array([1.0, -3.0, -9.0]),
    )


def expected(model, method, q, qd, x):
    """Return the result of a method by Newton and Euler's equations, in NumPy."""
    at_rest = np.zeros(model.n)
    if method == 'inverse_dynamics':
        return inverse_dynamics(model, q, qd, x)
    if method == 'gravity_torque':
        return inverse_dynamics(model, q, at_rest, at_rest)
    if method == 'mass_matrix':
        return forward_dynamics.mass_matrix(model, q, inverse_dynamics=inverse_dynamics)
    if method == 'forward_dynamics':
        return forward_dynamics.joint_acceleration(
            model, q, qd, x, inverse_dynamics=inverse_dynamics
        )
    raise ValueError(method)


INPUTS = {
    'inverse_dynamics': 3,
    'gravity_torque': 1,
    'mass_matrix': 1,
    'forward_dynamics': 3,
}

# The robot, the method, and the form of the program that is expected.
FORMS = {
    'straight': (short_links(range(-1, 6), sliding=[4]), 'inverse_dynamics', 'straight'),
    'straight, one result': (short_links(range(-1, 6)), 'gravity_torque', 'straight'),
    'straight, solved': (short_links(range(-1, 6)), 'forward_dynamics', 'straight'),
    'vectors of columns': (short_links(range(-1, 6), sliding=[2]), 'mass_matrix', 'vectors'),
    'limbs': (short_links([-1, 0, 1, 2, 0, 4, 5, 0, 7, 8]), 'inverse_dynamics', 'limbs'),
    'limbs, solved': (short_links([-1, 0, 1, 0, 3, 0, 5, 0, 7]), 'forward_dynamics', 'limbs'),
    'loops': (
        short_links([-1, *range(11), 4, *range(12, 20)], sliding=[3]),
        'mass_matrix',
        'loops',
    ),
    'loops, unrelated neighbours': (
        short_links([-1, *np.repeat(range(0, 20, 2), 2)]),
        'mass_matrix',
        'loops',
    ),
}


def form_of(program):
    """Return how a program is recorded."""
    if isinstance(program, LoopProgram):
        return 'loops'
    return 'vectors' if any(op == 'pack' for op, *_ in program.nodes) else 'straight'


@pytest.fixture
def made(request, monkeypatch, tmp_path):
    """Return what compiles a form."""
    monkeypatch.setenv('ROBOT_DYNAMICS_CACHE_DIR', str(tmp_path))

    def make(name, *, backend='llvm'):
        model, method, form = FORMS[name]
        by_limbs, trace_branches = [], limbs.trace_branches
        monkeypatch.setattr(
            limbs,
            'trace_branches',
            lambda *a, **k: by_limbs.append(trace_branches(*a, **k)) or by_limbs[-1],
        )
        if form == 'loops':
            monkeypatch.setattr(recipe, 'LONGEST_UNROLLED', 10)
        arm = Dynamics(model, backend=backend)
        compiled = arm.program(method)
        if backend == 'llvm':
            program = compiled.kernels.recipe.program
            assert form_of(program) == ('vectors' if form == 'limbs' else form)
            assert any(program == found for found in by_limbs) == (form == 'limbs')
        return compiled

    return make


def states(model):
    """Return q, qd and qdd or tau (3, 32, n); all paths take some of them."""
    return np.random.default_rng(0).uniform(-2, 2, (3, 32, model.n))


@functools.cache
def reference(form, k):
    """Return the result of NumPy in state k, and how far rounding may take another from it."""
    model, method, _ = FORMS[form]
    state = states(model)[:, k]
    wanted = expected(model, method, *state)
    scale = np.abs(wanted).max()
    if method == 'forward_dynamics':
        scale *= np.linalg.cond(expected(model, 'mass_matrix', *state))
    return wanted, TOLERANCE * scale


def check(form, compiled, samples):
    """Compare results in given memory with those of NumPy."""
    model, method, _ = FORMS[form]
    leading = (samples,) if samples else ()
    given = states(model)[:, :samples] if samples else states(model)[:, -1]
    ((_, shape),) = compiled.signature.outputs
    out = np.full((*leading, *shape), np.nan)
    assert compiled.call(*given[: INPUTS[method]], out=out) is out
    numbers = range(samples) if samples else [31]
    for result, k in zip(out.reshape(-1, *shape), numbers, strict=True):
        wanted, error = reference(form, k)
        np.testing.assert_allclose(result, wanted, rtol=0, atol=error)


@pytest.fixture
def only_native(monkeypatch):
    """Let calls that reach Python fail."""
    if native_wrapper.why_not():
        pytest.skip(native_wrapper.why_not())

    def portable_call(name, *_):
        def call(*_, **__):
            pytest.fail('the call fell back to Python')

        call.__name__, call.__signature__ = name, inspect.Signature()
        return call

    monkeypatch.setenv('ROBOT_DYNAMICS_WRAPPER', 'native')
    monkeypatch.setattr(function, 'portable_call', portable_call)


@pytest.mark.usefixtures('machine', 'only_native')
@pytest.mark.parametrize('form', FORMS)
def test_single_states_and_small_batches(made, form):
    compiled = made(form)
    check(form, compiled, None)
    check(form, compiled, 3)


@pytest.mark.usefixtures('machine', 'only_native')
@pytest.mark.parametrize('form', FORMS)
def test_recycled_results(made, form):
    compiled, seen = made(form), []
    model, method, _ = FORMS[form]
    for k in range(6):
        result = compiled.call(*states(model)[: INPUTS[method], k])
        wanted, error = reference(form, k)
        np.testing.assert_allclose(result, wanted, rtol=0, atol=error)
        seen.append(id(result))
        result[...] = np.nan
        del result
    assert len(set(seen)) == 2


@pytest.mark.usefixtures('machine', 'only_native')
@pytest.mark.parametrize('form', [name for name in FORMS if 'loops' not in name])
def test_batches_in_lanes(made, form):
    compiled = made(form)
    compiled.precompile()
    check(form, compiled, 2 * machine_code.lanes() + 3)


@pytest.mark.usefixtures('machine')
@pytest.mark.parametrize(
    'form',
    [name if 'solved' in name else pytest.param(name, marks=pytest.mark.soak) for name in FORMS],
)
@pytest.mark.parametrize('largest', [0, *soak([10**6])])
def test_batches_in_parts_for_threads(made, monkeypatch, form, largest):
    """Loops take rows one by one where results are large, else side by side."""
    monkeypatch.setenv('ROBOT_DYNAMICS_WRAPPER', 'portable')
    monkeypatch.setenv('ROBOT_DYNAMICS_THREADS', '3')
    monkeypatch.setattr(threads, 'SMALLEST_PART', 1)
    monkeypatch.setattr(kernels, 'LARGEST_BATCHED', largest)
    compiled = made(form)
    submitted, pool = [], threads._pool
    monkeypatch.setattr(threads, '_pool', lambda pid: submitted.append(pid) or pool(pid))
    check(form, compiled, 29)
    assert len(submitted) == 2
    kind = 'scan' if 'loops' in form and not largest else 'batch'
    assert list(compiled.kernels.loaded) == [kind]


@pytest.mark.usefixtures('machine')
@pytest.mark.parametrize('form', FORMS)
def test_without_optimisation(made, monkeypatch, form):
    monkeypatch.setattr(machine_code, 'MANY_INSTRUCTIONS', 0)
    levels, target = [], machine_code._target_machine

    def recorded(*level):
        levels.extend(level)
        return target(*level)

    monkeypatch.setattr(machine_code, '_target_machine', recorded)
    compiled = made(form)
    check(form, compiled, None)
    check(form, compiled, 19)
    assert set(levels) == {0}


@pytest.mark.parametrize('form', FORMS)
@pytest.mark.parametrize('largest', [python.LARGEST, 10])
def test_without_machine_code(made, monkeypatch, form, largest):
    """As Python source, or node by node where programs are very large."""
    monkeypatch.setattr(python, 'LARGEST', largest)
    compiled = made(form, backend='python')
    assert isinstance(compiled.kernels, PythonKernels)
    check(form, compiled, None)
    check(form, compiled, 7)


@pytest.mark.usefixtures('machine')
@pytest.mark.parametrize('form', ['straight', 'limbs, solved', *soak(['loops'])])
def test_steps_of_single_arms_and_batches(monkeypatch, tmp_path, form):
    """The kernels `scan` and `rollout`, or `batch`, against the same steps in NumPy."""
    monkeypatch.setenv('ROBOT_DYNAMICS_CACHE_DIR', str(tmp_path))
    model, _, kind = FORMS[form]
    if kind == 'loops':
        monkeypatch.setattr(recipe, 'LONGEST_UNROLLED', 10)
    step = Dynamics(model).simulation_step('semi_implicit_euler')
    assert (form_of(step.kernels.recipe.program) == 'loops') == (kind == 'loops')
    h, steps, samples = 1e-3, 4, 2 * machine_code.lanes() + 1
    rng = np.random.default_rng(3)
    q, qd, tau = rng.uniform(-1, 1, (3, samples, model.n))
    ends = []
    for row in range(samples):
        u, v = q[row], qd[row]
        for _ in range(steps):
            v = v + h * expected(model, 'forward_dynamics', u, v, tau[row])
            u = u + h * v
        ends.append((u, v))
    alone = step.iterate(steps, q=q[0], qd=qd[0], tau=tau[0], time_step=[h])
    together = step.advance(steps, q=q, qd=qd, tau=tau, time_step=[h])
    of_batches = 'batch' if kind == 'loops' else 'rollout'
    assert {'scan', of_batches} <= set(step.kernels.loaded)
    for k in range(2):
        wanted = np.stack([end[k] for end in ends])
        scale = 1e-9 * np.abs(wanted).max()
        np.testing.assert_allclose(alone[k][-1], wanted[0], rtol=0, atol=scale)
        np.testing.assert_allclose(together[k], wanted, rtol=0, atol=scale)


def test_the_joints_have_offsets(machine):
    """Which the code for single samples adds to several angles at once."""
    model = FORMS['straight, one result'][0]
    compiled = Dynamics(model).program('inverse_dynamics')
    nodes = compiled.kernels.recipe.program.nodes
    angles = [shifted_input(nodes, of[0]) for op, *of in nodes if op in ('sin', 'cos')]
    assert {place for _, place, _ in angles} == set(range(model.n))
    assert all(abs(shift) > 0.01 for *_, shift in angles)
