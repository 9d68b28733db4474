# SPDX-License-Identifier: Apache-2.0
"""Compiled simulation against MuJoCo, SciPy's integrator, and single states against batches."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from xml.etree import ElementTree

import numpy as np
import pytest
import robots
from scipy.integrate import solve_ivp

from robot_dynamics.codegen.calls import iteration
from robot_dynamics.common.errors import ModelError, ShapeError
from robot_dynamics.core.algorithms.integrators import INTEGRATORS
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import planar_2r, random_tree
from robot_dynamics.simulation import Simulator
from robot_dynamics.urdf.physics_only import bare_urdf

N = 4


@pytest.fixture(scope='module')
def arm():
    model = random_tree(N, np.random.default_rng(3))
    return Dynamics(model.with_actuation(viscous=0.3, coulomb=[0.1, 0.2, 0.0, 0.4]))


def states(*leading):
    return np.random.default_rng(0).uniform(-1.0, 1.0, (3, *leading, N))


# -- independent integrators ------------------------------------------------------------------


@pytest.mark.parametrize('viscous', [0.0, 0.7])
@pytest.mark.parametrize('name', ['ur5', 'kuka_iiwa'])
def test_half_a_second_equals_mujoco(name, viscous):
    mujoco = pytest.importorskip('mujoco')
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        model = robots.load(name).with_actuation(viscous=viscous, coulomb=0.0)
    root = ElementTree.fromstring(bare_urdf(robots.path(name).read_text()))
    options = {'balanceinertia': 'false', 'fusestatic': 'false'}
    ElementTree.SubElement(ElementTree.SubElement(root, 'mujoco'), 'compiler', options)
    other = mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding='unicode'))
    off = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    other.opt.disableflags |= off
    other.opt.timestep = 1e-3
    # MuJoCo, too, takes damping at the end of its semi-implicit step.
    other.dof_damping[:] = viscous
    data = mujoco.MjData(other)
    rng = np.random.default_rng(1)
    q, qd, tau = rng.uniform(-0.5, 0.5, (3, model.n))
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, qd, tau
    mujoco.mj_step(other, data, nstep=500)
    ours = Dynamics(model).simulate(q, qd, tau, steps=500)
    # Rounding grows along the motion, a thousandfold or so.
    np.testing.assert_allclose(ours.q, data.qpos, rtol=0, atol=1e-11)
    np.testing.assert_allclose(ours.qd, data.qvel, rtol=0, atol=1e-10)


@pytest.mark.parametrize('dry', [True, False])
def test_integrators_agree_with_scipy_at_small_tolerance(arm, dry):
    q, qd, tau = states()
    arm = arm if dry else arm.without_dry_friction()

    def rate(_, y):
        lost = arm.friction_torque(y[N:])
        return np.concatenate([y[N:], arm.forward_dynamics(y[:N], y[N:], tau - lost)])

    end = solve_ivp(rate, (0, 0.2), np.concatenate([q, qd]), 'DOP853', rtol=1e-12, atol=1e-12)
    exact = end.y[:, -1]
    errors = {}
    for steps in (1000, 2000, 20_000):
        for name in INTEGRATORS:
            motion = arm.simulate(q, qd, tau, steps=steps, time_step=0.2 / steps, integrator=name)
            errors[name, steps] = np.abs(np.concatenate(motion) - exact).max()
    # Dry friction is held over the step, which leaves an error of first order where it bends.
    assert errors['rk4', 20_000] < (1e-6 if dry else 1e-12)
    for name in ('semi_implicit_euler', 'explicit_euler'):
        # First order, friction included.
        assert errors[name, 1000] / errors[name, 2000] == pytest.approx(2.0, rel=0.15)
        assert errors[name, 20_000] < 1e-2


@pytest.mark.parametrize('name', INTEGRATORS)
def test_the_simulator_takes_the_same_steps(name):
    model = planar_2r().with_actuation(viscous=0.2)
    q, qd, tau = np.random.default_rng(5).normal(size=(3, 2))
    simulator = Simulator(Dynamics(model), q=q, qd=qd, integrator=name)
    for _ in range(100):
        simulator.step(tau)
    motion = Dynamics(model).simulate(q, qd, tau, steps=100, integrator=name)
    np.testing.assert_array_equal(simulator.q, motion.q)
    np.testing.assert_array_equal(simulator.qd, motion.qd)


# -- batches and single runs --------------------------------------------------------------------


@pytest.mark.parametrize('backend', ['auto', 'python'])
@pytest.mark.parametrize('leading', [(), (1,), (3,), (2, 5), (0,), (0, 2)])
def test_a_batch_equals_single_states(arm, backend, leading):
    arm = Dynamics(arm.model, backend=backend)
    q, qd, tau = states(*leading)
    alone = [arm.simulate(q[i], qd[i], tau[i], steps=7) for i in np.ndindex(*leading)]
    motion = arm.simulate(q, qd, tau, steps=7)
    step = arm.simulation_step('semi_implicit_euler')
    for name in ('q', 'qd'):
        result = getattr(motion, name)
        expected = [getattr(one, name) for one in alone]
        assert result.shape == (*leading, N)
        # In machine code the same bits; the math module and NumPy may differ in the last.
        tolerance = 0.0 if step.backend == 'llvm' else 1e-14
        np.testing.assert_allclose(
            result, np.reshape(expected, (*leading, N)), rtol=tolerance, atol=tolerance
        )


def test_a_batch_of_long_arms_equals_single_states():
    long = Dynamics(random_tree(30, np.random.default_rng(8)))
    q, qd, tau = np.random.default_rng(9).uniform(-0.1, 0.1, (3, 9, 30))
    motion = long.simulate(q, qd, tau, steps=3)
    machine = long.simulation_step('semi_implicit_euler').backend == 'llvm'
    tolerance = 0.0 if machine else 1e-14
    for i in (0, 7, 8):
        alone = long.simulate(q[i], qd[i], tau[i], steps=3)
        np.testing.assert_allclose(motion.qd[i], alone.qd, rtol=tolerance, atol=tolerance)


def test_leading_axes_broadcast_and_arguments_are_unchanged(arm):
    q, qd, tau = states(2, 3)
    given = [q[:, :1], qd[0], tau[0, 0].tolist()]
    before = [np.array(value) for value in given]
    motion = arm.simulate(*given, steps=5)
    full = [np.broadcast_to(value, (2, 3, N)) for value in given]
    np.testing.assert_array_equal(motion.q, arm.simulate(*full, steps=5).q)
    for value, copy in zip(given, before, strict=True):
        np.testing.assert_array_equal(value, copy)


def test_a_long_run_in_stretches_equals_one_run(arm, monkeypatch):
    q, qd, tau = states()
    whole = arm.simulate(q, qd, tau, steps=20)
    monkeypatch.setattr(iteration, 'AT_ONCE_ALONE', 3)
    np.testing.assert_array_equal(arm.simulate(q, qd, tau, steps=20).qd, whole.qd)


def test_motions_in_threads_do_not_share_memory(arm):
    q, qd, tau = states(4)
    expected = [arm.simulate(*each, steps=700).q for each in zip(q, qd, tau, strict=True)]

    def repeated(k):
        return [arm.simulate(q[k], qd[k], tau[k], steps=700).q for _ in range(20)]

    with ThreadPoolExecutor(4) as threads:
        for found, end in zip(threads.map(repeated, range(4)), expected, strict=True):
            np.testing.assert_array_equal(found, np.broadcast_to(end, (20, N)))


def test_no_step_returns_copies(arm):
    q, qd, tau = states()
    motion = arm.simulate(q, qd, tau, steps=0)
    np.testing.assert_array_equal(motion.q, q)
    assert not np.shares_memory(motion.q, q)


def test_a_rollout_holds_each_torque_for_its_step(arm):
    q, qd, _ = states()
    tau = states(6)[2]
    path = arm.rollout(q, qd, tau, time_step=2e-3, integrator='rk4')
    assert path.q.shape == path.qd.shape == (7, N)
    np.testing.assert_array_equal(path.q[0], q)
    for k in range(6):
        q, qd = arm.simulate(q, qd, tau[k], steps=1, time_step=2e-3, integrator='rk4')
        np.testing.assert_array_equal(path.q[k + 1], q)
        np.testing.assert_array_equal(path.qd[k + 1], qd)


def test_a_payload_at_run_time_moves_like_one_in_the_model(arm):
    q, qd, tau = states()
    link, com = arm.model.body_names[-1], [0.1, 0.0, 0.2]
    held = arm.with_payload(link, 2.0, com).simulate(q, qd, tau, steps=50)
    model = Dynamics(arm.model.with_payload(link, 2.0, com)).simulate(q, qd, tau, steps=50)
    np.testing.assert_allclose(held.q, model.q, rtol=1e-9, atol=1e-9)


# -- rejected input -----------------------------------------------------------------------------


@pytest.mark.parametrize('steps', [-1, 1.5, 2.0, True, None, 'ten'])
def test_an_invalid_number_of_steps_is_rejected(arm, steps):
    with pytest.raises(ValueError, match=r'steps is .* it must be an integer, 0 or more'):
        arm.simulate(*states(), steps=steps)


@pytest.mark.parametrize('h', [0.0, -1e-3, np.nan, np.inf, None, '1', [1e-3]])
def test_an_invalid_time_step_is_rejected(arm, h):
    for call in (
        lambda: arm.simulate(*states(), steps=1, time_step=h),
        lambda: arm.rollout(*states()[:2], np.zeros((3, N)), time_step=h),
    ):
        with pytest.raises(ValueError, match=r'time_step is .* it must be positive and finite'):
            call()


def test_an_unknown_integrator_is_rejected(arm):
    for call in (
        lambda: arm.simulate(*states(), steps=1, integrator='rk5'),
        lambda: arm.rollout(*states(), integrator='rk5'),
        lambda: arm.simulation_step('rk5'),
    ):
        with pytest.raises(ValueError, match=r"integrator is 'rk5'; it must be one of .*rk4"):
            call()


@pytest.mark.parametrize('wrong', [np.zeros(N + 1), np.zeros(()), 'abcd', None])
def test_a_wrong_array_is_named(arm, wrong):
    good = np.zeros(N)
    for k, name in enumerate(('q', 'qd', 'tau')):
        arguments = [wrong if j == k else good for j in range(3)]
        with pytest.raises(ShapeError, match=rf'simulate: {name} '):
            arm.simulate(*arguments, steps=1)
    with pytest.raises(ShapeError, match='do not broadcast'):
        arm.simulate(np.zeros((2, N)), np.zeros((3, N)), good, steps=1)
    with pytest.raises(ShapeError, match=r'rollout: tau has shape \(4,\), expected \(steps, 4\)'):
        arm.rollout(good, good, good)


def test_a_joint_without_inertia_is_rejected_by_name():
    massless_tip = Dynamics(planar_2r(masses=(1.0, 0.0), inertias=(0.1, 0.0)))
    with pytest.raises(ModelError, match="joint 'joint2' moves no inertia"):
        massless_tip.simulate([0.0, 0.0], [0.0, 0.0], [0.0, 0.0], steps=1)
