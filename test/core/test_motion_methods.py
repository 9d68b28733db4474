# SPDX-License-Identifier: Apache-2.0
"""The choice of friction in forward dynamics and simulation."""

import gc
import inspect
import pickle
import re
import weakref

import numpy as np
import pytest

from robot_dynamics.common.errors import ModelError
from robot_dynamics.core import rollout as stepping
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import planar_2r, puma560, random_tree
from robot_dynamics.core.model.states import random_postures
from robot_dynamics.simulation import PerStep, Perturbations, Simulator, simulate_batch
from robot_dynamics.urdf.loading import parse_urdf

N = 4


def with_friction(n=N, seed=3):
    model = random_tree(n, np.random.default_rng(seed))
    return model.with_actuation(viscous=np.linspace(0.1, 0.7, n), coulomb=np.linspace(2.0, 0.5, n))


@pytest.fixture(scope='module')
def arm():
    return Dynamics(with_friction())


def states(*leading, n=N):
    return np.random.default_rng(0).normal(size=(3, *leading, n))


# -- forward dynamics -----------------------------------------------------------------------------


@pytest.mark.parametrize('backend', ['auto', 'python'])
@pytest.mark.parametrize('leading', [(), (1,), (3, 40)])
def test_forward_dynamics_inverts_inverse_dynamics_and_friction(backend, leading):
    arm = Dynamics(with_friction(), backend=backend)
    q, qd, qdd = states(*leading)
    tau = arm.inverse_dynamics(q, qd, qdd)
    lost = arm.friction_torque(qd)
    assert np.abs(lost).min() > 0.01
    for given, choice in ((tau, {}), (tau, {'friction': 'none'})):
        np.testing.assert_allclose(arm.forward_dynamics(q, qd, given, **choice), qdd, atol=1e-9)
    found = arm.forward_dynamics(q, qd, tau + lost, friction='model')
    np.testing.assert_allclose(found, qdd, atol=1e-9)
    filled = np.full((*leading, N), np.nan)
    assert arm.forward_dynamics(q, qd, tau + lost, friction='model', out=filled) is filled
    np.testing.assert_array_equal(filled, found)
    # By name, too.
    named = arm.forward_dynamics(q=q, qd=qd, tau=tau + lost, friction='model')
    np.testing.assert_array_equal(named, found)


def test_a_long_arm_and_a_loaded_one_have_friction_in_forward_dynamics():
    long = Dynamics(with_friction(30))
    loaded = Dynamics(with_friction()).with_payload('link4', 1.5, [0.1, 0.0, 0.2])
    for arm, n in ((long, 30), (loaded, N)):
        q, qd, qdd = 0.1 * states(n=n)
        tau = arm.inverse_dynamics(q, qd, qdd) + arm.friction_torque(qd)
        scale = np.linalg.cond(arm.mass_matrix(q))
        found = arm.forward_dynamics(q, qd, tau, friction='model')
        np.testing.assert_allclose(found, qdd, atol=1e-13 * scale)


def test_at_standstill_friction_is_zero_and_continuous(arm):
    q, _, tau = states()
    still = arm.forward_dynamics(q, np.zeros(N), tau)
    at_rest = arm.forward_dynamics(q, np.zeros(N), tau, friction='model')
    np.testing.assert_allclose(at_rest, still, rtol=1e-13)
    for sign in (-1.0, 1.0):
        slow = arm.forward_dynamics(q, np.full(N, sign * 1e-12), tau, friction='model')
        np.testing.assert_allclose(slow, still, rtol=1e-6)


def test_the_default_takes_the_fast_path(arm):
    program = arm.program('forward_dynamics')
    # A call that passes through Python code is not a built-in function.
    assert inspect.isbuiltin(arm.forward_dynamics) == (program.wrapper == 'native')
    signature = inspect.signature(arm.forward_dynamics)
    assert str(signature) == "(q, qd, tau, *, out=None, friction='none')"


@pytest.mark.parametrize('wrong', ['smooth', '', None, 1, ['model'], True])
def test_an_invalid_choice_is_rejected_everywhere(arm, wrong):
    message = re.escape(f'friction is {wrong!r}; it must be one of none, model')
    q, qd, tau = states()
    for call in (
        lambda: arm.forward_dynamics(q, qd, tau, friction=wrong),
        lambda: arm.simulate(q, qd, tau, steps=1, friction=wrong),
        lambda: arm.rollout(q, qd, [tau], friction=wrong),
        lambda: arm.simulation_step('rk4', wrong),
        lambda: Simulator(arm, friction=wrong),
    ):
        with pytest.raises(ValueError, match=message):
            call()


# -- simulation -----------------------------------------------------------------------------------


@pytest.mark.parametrize('integrator', ['semi_implicit_euler', 'rk4', 'explicit_euler'])
def test_simulation_without_friction_equals_a_model_without_friction(arm, integrator):
    q, qd, tau = states()
    h = 1e-4
    ideal = Dynamics(arm.model.with_actuation(viscous=0.0, coulomb=0.0))
    expected = ideal.simulate(q, qd, tau, steps=50, time_step=h, integrator=integrator)
    options = {'time_step': h, 'integrator': integrator, 'friction': 'none'}
    motion = arm.simulate(q, qd, tau, steps=50, **options)
    path = arm.rollout(q, qd, np.tile(tau, (50, 1)), **options)
    simulator = Simulator(arm, q=q, qd=qd, **options)
    for _ in range(50):
        simulator.step(tau)
    for found in (motion.q, path.q[-1], simulator.q):
        np.testing.assert_allclose(found, expected.q, rtol=0, atol=1e-13)
    braked = arm.simulate(q, qd, tau, steps=50, time_step=h)
    assert np.abs(braked.q - expected.q).max() > 1e-6


def follow(arm, law, simulate_step, h=1e-3):
    """Return the largest error of a computed-torque loop along a second of a smooth motion."""
    n = arm.model.n
    phase = np.arange(1.0, n + 1)
    q, qd, worst = 0.5 * np.sin(phase), 1.5 * np.cos(phase), 0.0
    for k in range(round(1.0 / h)):
        w = 3.0 * k * h + phase
        desired = 0.5 * np.sin(w), 1.5 * np.cos(w), -4.5 * np.sin(w)
        worst = max(worst, np.abs(desired[0] - q).max())
        # qdd = qdd_d + kp e + kd ed
        qdd = desired[2] + 100.0 * (desired[0] - q) + 20.0 * (desired[1] - qd)
        q, qd = simulate_step(q, qd, law(q, qd, qdd), h)
    return worst


@pytest.mark.slow
def test_computed_torque_with_the_same_model_errs_by_the_step_alone():
    model = planar_2r().with_actuation(viscous=0.5, coulomb=[5.0, 2.0])
    arm = Dynamics(model)

    def frictionless(q, qd, qdd):
        return arm.inverse_dynamics(q, qd, qdd)

    def whole(q, qd, qdd):
        return frictionless(q, qd, qdd) + arm.friction_torque(qd)

    def steps(friction):
        return lambda q, qd, tau, h: arm.simulate(
            q, qd, tau, steps=1, time_step=h, friction=friction
        )

    def simulated(q, qd, tau, h):
        simulator = Simulator(arm, q=q, qd=qd, time_step=h, friction='none')
        simulator.step(tau)
        return simulator.q, simulator.qd

    # Friction on one side only.
    assert follow(arm, frictionless, steps('model')) > 0.1
    for law, choice in ((frictionless, 'none'), (whole, 'model')):
        coarse, fine = (follow(arm, law, steps(choice), h) for h in (1e-3, 2.5e-4))
        assert coarse < {'none': 5e-4, 'model': 7e-3}[choice]
        # All of it is the integrator's and the sampling's, of first order.
        assert fine < 0.3 * coarse
    assert follow(arm, frictionless, simulated, 5e-3) < 3e-3


# -- friction that an explicit integrator does not resolve ----------------------------------------


def one_joint(coulomb, viscous=0.0):
    """Return an arm of inertia 1 kg m^2 per joint, whose joints are decoupled."""
    model = planar_2r(masses=(0.0, 0.0), inertias=(0.0, 0.0))
    return Dynamics(
        model.with_actuation(viscous=[viscous, 0.0], coulomb=[coulomb, 0.0], rotor_inertia=1.0)
    )


@pytest.mark.parametrize(('integrator', 'limit'), [('rk4', 2.78), ('explicit_euler', 2.0)])
def test_friction_that_would_reverse_a_joint_within_a_step_is_rejected(integrator, limit):
    # It brakes at 2040 / 1 per second, of which the check keeps a margin.
    arm, rate = one_joint(0.0, 2040.0), 3060.0
    z, tau = np.zeros(2), [5.0, 0.0]
    most = limit / rate
    message = (
        rf"viscous friction brakes joint 'joint1' at up to 3060 per second; {integrator} needs "
        rf'a step of at most {most:.2g} s\. semi_implicit_euler takes any step'
    )
    for h in (1.01 * most, 1e-2):
        options = {'time_step': h, 'integrator': integrator}
        for call in (
            lambda options=options: arm.simulate(z, z, tau, steps=3, **options),
            lambda options=options: arm.rollout(z, z, [tau], **options),
            lambda options=options: simulate_batch(arm, z, z, tau, steps=3, **options),
            lambda options=options: simulate_batch(
                arm, z, z, PerStep([tau] * 3), steps=3, **options
            ),
        ):
            with pytest.raises(ValueError, match=message):
                call()
        free = arm.simulate(z, z, tau, steps=3, friction='none', **options)
        assert free.qd[0] == pytest.approx(3 * h * 5.0)
        assert np.isfinite(arm.simulate(z, z, tau, steps=3, time_step=h).qd).all()
    # Where it is accepted, the joint creeps at the speed that balances the torque.
    steps = round(0.05 / (0.99 * most))
    end = arm.simulate(z, z, tau, steps=steps, time_step=0.99 * most, integrator=integrator)
    assert arm.friction_torque(end.qd)[0] == pytest.approx(5.0, rel=1e-3)


def test_perturbed_friction_counts_where_it_is_checked():
    arm, z = one_joint(0.0), np.zeros(2)
    options = {'steps': 2, 'integrator': 'rk4'}
    simulate_batch(arm, z, z, z, **options)
    stiff = Perturbations(viscous=[[0.1, 0.1], [0.1, 5000.0], [0.1, 0.1]])
    with pytest.raises(
        ValueError, match="friction brakes joint 'joint2' at up to 7500 per second"
    ):
        simulate_batch(arm, z, z, z, perturbations=stiff, **options)
    soft = Perturbations(viscous=[[0.1, 0.1], [0.1, 500.0], [0.1, 0.1]])
    simulate_batch(arm, z, z, z, perturbations=soft, **options)


SLIDER = """<robot name="table"><link name="base"/>
<link name="turn"><inertial><mass value="0.01"/>
<inertia ixx="1e-4" iyy="1e-4" izz="2e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="slide"><inertial><mass value="2.0"/>
<inertia ixx="1e-4" iyy="1e-4" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="turn" type="revolute"><parent link="base"/><child link="turn"/>
<axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="10" velocity="3"/></joint>
<joint name="slide" type="prismatic"><parent link="turn"/><child link="slide"/>
<axis xyz="1 0 0"/><limit lower="-2" upper="2" effort="10" velocity="3"/></joint></robot>"""


def test_the_fastest_friction_is_that_of_the_lightest_posture():
    # A slide that passes the axis of a table: seldom close to it in random postures.
    model = parse_urdf(SLIDER).with_actuation(viscous=1.0)
    joint, rate = stepping.fastest_friction(model, Dynamics(model).tree, model.viscous)
    exact = 1.0 / (2e-4 + 1e-5)
    assert joint == 'turn'
    assert exact <= rate <= 1.5 * exact * (1 + 1e-9)
    for model in (puma560(), planar_2r(), random_tree(5, np.random.default_rng(0))):
        arm = Dynamics(model.with_actuation(viscous=1.0))
        rate = stepping.fastest_friction(model, arm.tree, np.ones(model.n))[1]
        M = arm.mass_matrix(random_postures(model, 5000, seed=1))
        assert np.linalg.eigvalsh(np.linalg.inv(M)).max() <= rate


def test_a_joint_without_inertia_is_named_before_its_friction():
    arm = Dynamics(
        planar_2r(masses=(1.0, 0.0), inertias=(0.1, 0.0)).with_actuation(viscous=1.0, coulomb=1.0)
    )
    z = np.zeros(2)
    for call in (
        lambda: arm.simulate(z, z, z, steps=1, integrator='rk4'),
        lambda: arm.forward_dynamics(z, z, z, friction='model'),
        lambda: simulate_batch(arm, z, z, z, steps=1, integrator='rk4'),
    ):
        with pytest.raises(ModelError, match="joint 'joint2' moves no inertia"):
            call()


def test_the_method_pickles_with_its_option_and_is_freed_with_its_arm():
    model = with_friction()
    arm = Dynamics(model)
    q, qd, tau = states()
    expected = arm.forward_dynamics(q, qd, tau, friction='model')
    again = pickle.loads(pickle.dumps(arm.forward_dynamics))
    np.testing.assert_array_equal(again(q, qd, tau, friction='model'), expected)
    gone = weakref.ref(arm)
    gc.collect()
    gc.disable()
    try:
        del arm
        # There is no reference cycle, so the garbage collector is not needed.
        assert gone() is None
    finally:
        gc.enable()
