# SPDX-License-Identifier: Apache-2.0
"""Contact of an arm with planes and spheres: laws of springs, impacts, friction and momentum."""

import numpy as np
import pytest
from walled_arm import ARM

from robot_dynamics.common.errors import FrameNotFound, ModelError, ShapeError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.friction_settings import FrictionSettings
from robot_dynamics.simulation import (
    INTEGRATORS,
    Adaptive,
    Elasticity,
    Environment,
    JointModels,
    Material,
    Plane,
    SimulationDiverged,
    Simulator,
    Sphere,
    TouchPoint,
    load_environment,
    simulate,
)
from robot_dynamics.simulation.joint_models.stops import InelasticStop
from robot_dynamics.urdf.loading import parse_urdf

MASS, G = 2.0, 9.81
SLIDER_URDF = f"""<robot name="slider"><link name="base"/>
<link name="rail"><inertial><mass value="0"/>
<inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="block"><inertial><mass value="{MASS}"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="x" type="prismatic"><parent link="base"/><child link="rail"/><axis xyz="1 0 0"/>
<limit lower="-9" upper="9" effort="900" velocity="9"/></joint>
<joint name="z" type="prismatic"><parent link="rail"/><child link="block"/><axis xyz="0 0 1"/>
<limit lower="-9" upper="9" effort="900" velocity="9"/></joint></robot>"""
SLIDER = Dynamics(parse_urdf(SLIDER_URDF))
FOOT = {'foot': TouchPoint('block', (0.0, 0.0, -0.1))}


def floor(**material):
    return Environment({'floor': Plane((0, 0, -0.1), (0, 0, 2), Material(**material))}, FOOT)


def energy(simulator):
    return simulator.kinetic_energy() + simulator.potential_energy()


@pytest.mark.parametrize('integrator', INTEGRATORS)
def test_a_block_rests_where_the_spring_carries_it(integrator):
    simulator = Simulator(
        SLIDER, q=[0, 1e-3], environment=floor(stiffness=1e5, damping=500.0), integrator=integrator
    )
    for _ in range(300):
        simulator.step([0.0, 0.0])
    np.testing.assert_allclose(simulator.contact_forces, [[0, 0, MASS * G]], rtol=1e-6, atol=1e-9)
    assert simulator.q[1] == pytest.approx(-MASS * G / 1e5, rel=1e-6)


def bounced(h, d=0.0, v=0.3, k=1e5):
    """Return velocity and lost energy of a block without gravity that has met the floor."""
    simulator = Simulator(
        SLIDER.with_gravity([0, 0, 0]),
        q=[0, 0.31e-3],
        qd=[0, -v],
        environment=floor(stiffness=k, damping=d),
        time_step=h,
    )
    before = energy(simulator)
    for _ in range(round(0.05 / h)):
        simulator.step([0.0, 0.0])
        assert energy(simulator) <= before * (1 + 1e-7)
        assert simulator.contact_forces[0, 2] >= 0
    return simulator.q[1], simulator.qd[1]


def test_a_bounce_takes_half_a_period_and_keeps_the_energy():
    k, v = 1e5, 0.3
    # way before, half a period of sqrt(k / m), way after
    omega = np.sqrt(k / MASS)
    z = v * (0.05 - 0.31e-3 / v - np.pi / omega)
    errors = []
    for h in (1e-3, 5e-4, 2.5e-4, 1.25e-4):
        q, qd = bounced(h)
        assert qd == pytest.approx(v, rel=1e-8)
        errors.append(abs(q - z))
    # The instants of contact are within a step: of second order over all.
    assert errors[0] < 1e-2 * z
    assert errors[-1] < errors[0] / 30


def test_a_damper_loses_what_the_oscillator_loses():
    """Reference: m xdd + c xd + k x = 0 until the force is zero."""
    k, d, v = 1e5, 150.0, 0.3
    dt = 1e-7
    x, xd = 0.0, v
    while k * x + d * xd > 0:
        xd -= dt * (k * x + d * xd) / MASS
        x += dt * xd
    assert bounced(2e-4, d)[1] == pytest.approx(-xd, rel=1e-3)
    assert bounced(1e-3, d)[1] == pytest.approx(-xd, rel=2e-2)


@pytest.mark.parametrize('k', [1e7, 1e9])
def test_a_contact_faster_than_the_step_gains_no_energy(k):
    assert abs(bounced(1e-3, k=k)[1]) <= 0.3 * (1 + 1e-7)


@pytest.mark.parametrize('side', [1, -1])
def test_a_block_slides_under_more_than_the_friction_and_creeps_under_less(side):
    mu, slip = 0.4, 1e-3
    environment = floor(stiffness=1e5, damping=500.0, friction=mu, slip_speed=slip)
    level = mu * MASS * G
    start = [0, -MASS * G / 1e5]
    for share, speed in ((0.5, 0.5 * slip), (1.5, 0.5 * level / MASS * 0.4)):
        simulator = Simulator(SLIDER, q=start, environment=environment)
        for _ in range(400):
            simulator.step([side * share * level, 0.0])
            across, _, up = simulator.contact_forces[0]
            assert abs(across) <= mu * up * (1 + 1e-12)
        assert side * simulator.qd[0] == pytest.approx(speed, rel=0.02)


# -- an arm --------------------------------------------------------------------------------------

TIPS = {
    'tip': TouchPoint('tip'),
    'side': TouchPoint('tip', (0.02, 0.01, 0.05)),
    'elbow': TouchPoint('l2'),
}


def around(side=1, **material):
    stuff = Material(**material)
    wall = Plane((side * 0.37, 0, -0.9), (-side, 0, 0.2), stuff)
    ball = Sphere((-side * 0.2, 0, -0.95), 0.15, stuff)
    points = {
        name: TouchPoint(one.link, np.asarray(one.point) * [side, 1, 1])
        for name, one in TIPS.items()
    }
    return Environment({'wall': wall, 'ball': ball}, points)


def swung(side=1, h=1e-3, **material):
    return Simulator(
        ARM,
        q=side * np.array([0.2, 0.3, -0.1]),
        qd=side * np.array([0.6, 0.3, -0.3]),
        time_step=h,
        environment=around(side, **material),
    )


def energy_in_contact(mu, h):
    """Return the energy at the end and the largest one [J], less that at the start."""
    simulator = swung(stiffness=3e4, friction=mu, h=h)
    energies, touched = [energy(simulator)], 0.0
    for _ in range(round(0.65 / h)):
        simulator.step([0.0, 0.0, 0.0])
        energies.append(energy(simulator))
        touched += h * simulator.contact_forces.any()
    assert touched > 0.02
    return energies[-1] - energies[0], max(energies) - energies[0]


def test_contact_without_friction_keeps_the_energy_to_second_order():
    coarse, fine = (energy_in_contact(0.0, h)[1] for h in (1e-3, 2.5e-4))
    assert 0 <= coarse < 1e-3
    assert fine < coarse / 8


def test_friction_loses_energy():
    end, largest = energy_in_contact(0.5, 1e-3)
    assert largest < 1e-6
    assert end < -0.1


def test_mirrored_motion_is_the_mirrored_motion():
    ends = []
    for side in (1, -1):
        simulator = swung(side, stiffness=3e4, damping=30.0, friction=0.5)
        for _ in range(250):
            simulator.step([0.0, 0.0, 0.0])
        ends.append(side * simulator.q)
    np.testing.assert_allclose(*ends, rtol=1e-7)


def momentum_error(h):
    """Return the largest |p(t) - p(0) - integral of (C^T qd - g + J^T f)| of a motion."""
    simulator = swung(stiffness=3e4, damping=100.0, friction=0.3, h=h)
    error = np.zeros(3)
    largest = impulse = 0.0
    for _ in range(round(0.08 / h)):
        q, (p, rate) = simulator.q, ARM.momentum(simulator.q, simulator.qd)
        simulator.step([0.0, 0.0, 0.0])
        after, end_rate = ARM.momentum(simulator.q, simulator.qd)
        torque = np.zeros(3)
        for one, f in zip(TIPS.values(), simulator.contact_forces, strict=True):
            T = ARM.forward_kinematics((q + simulator.q) / 2, one.link)
            wrench = np.concatenate([np.cross(T[:3, :3] @ one.point, f), f])
            torque += ARM.wrench_torque((q + simulator.q) / 2, wrench, one.link)
        error += after - p - h / 2 * (rate + end_rate) - h * torque
        impulse += h * np.abs(torque).max()
        largest = max(largest, np.abs(error).max())
    assert impulse > 0.3
    return largest / impulse


def test_published_forces_are_those_that_change_the_momentum():
    coarse, fine = momentum_error(1e-3), momentum_error(2.5e-4)
    assert coarse < 2e-3
    assert fine < coarse / 8


def test_a_resting_tip_is_pushed_away_from_the_centre_of_a_sphere():
    simulator = swung(stiffness=1e4, damping=300.0)
    ball = around().bodies['ball']
    goal = np.array([-0.15, -0.1, 0.0])  # within the sphere
    for _ in range(1000):
        q, qd = simulator.q, simulator.qd
        tau = np.array([300, 150, 30]) * (goal - q) - np.array([30, 15, 2]) * qd
        simulator.step(tau + ARM.gravity_torque(q))
    p = ARM.forward_kinematics(simulator.q, 'tip')[:3, 3]
    r = p - ball.centre
    depth = ball.radius - np.linalg.norm(r)
    assert depth > 1e-4
    force = 1e4 * depth * r / np.linalg.norm(r)
    np.testing.assert_allclose(simulator.contact_forces[0], force, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    'joint_models',
    [
        JointModels('stick_slip', stops=InelasticStop()),
        JointModels(FrictionSettings('coulomb_memory', coulomb=1.0, viscous=0.2)),
        JointModels(elasticity=Elasticity(stiffness=3e3)),
    ],
    ids=['stick_slip', 'memory', 'elastic'],
)
def test_forces_fit_the_step_of_every_joint_model(joint_models):
    arm = Dynamics(ARM.model.with_actuation(coulomb=1.0, viscous=0.2, rotor_inertia=0.05))
    simulator = Simulator(
        arm,
        q=[0.2, 0.3, -0.1],
        qd=[0.6, 0.3, -0.3],
        environment=around(stiffness=3e4, friction=0.5),
        joint_models=joint_models,
    )
    before = energy(simulator)
    touched = False
    for _ in range(300):
        simulator.step([0.0, 0.0, 0.0])
        touched |= simulator.contact_forces.any()
    assert touched
    assert energy(simulator) < before
    # What was stored in the contact is in the potential energy.
    stored = simulator.snapshot()
    simulator.step([0.0, 0.0, 0.0])
    once = simulator.q
    simulator.restore(stored)
    simulator.step([0.0, 0.0, 0.0])
    np.testing.assert_array_equal(simulator.q, once)


def test_springs_of_the_environment_are_potential_energy():
    depth = 0.01
    inside = Simulator(SLIDER, q=[0, -depth], environment=floor(stiffness=4e4))
    free = Simulator(SLIDER, q=[0, -depth])
    stored = inside.potential_energy() - free.potential_energy()
    assert stored == pytest.approx(0.5 * 4e4 * depth**2, rel=1e-12)


def test_an_arm_that_touches_nothing_moves_as_one_without_environment():
    runs = [
        simulate(Simulator(ARM, qd=[1.0, 0, 0], environment=environment), None, 0.05)
        for environment in (None, Environment({'far': Plane((9, 0, 0), (-1, 0, 0))}, TIPS))
    ]
    np.testing.assert_array_equal(*(run.q for run in runs))


def test_reset_ends_the_contact():
    simulator = Simulator(SLIDER, q=[0, -1e-3], environment=floor(stiffness=1e5))
    simulator.step([0, 0])
    # F = k times the depth in the middle of the step
    depth = (1e-3 - simulator.q[1]) / 2
    np.testing.assert_allclose(simulator.contact_forces, [[0, 0, 1e5 * depth]], rtol=1e-9)
    simulator.reset([0, 1.0])
    assert not simulator.contact_forces.any()
    with pytest.raises(ShapeError, match='0 touch points, this simulator 1'):
        simulator.restore(Simulator(SLIDER).snapshot())


def test_adaptive_solvers_reject_an_environment():
    with pytest.raises(ValueError, match='an environment'):
        simulate(Simulator(SLIDER, environment=floor()), None, 0.1, solver=Adaptive())


def test_forces_that_are_not_found_are_an_error_that_names_the_ways_out(monkeypatch):
    monkeypatch.setattr('robot_dynamics.simulation.environment.ROUNDS', 1)
    simulator = Simulator(SLIDER, q=[0, -0.01], environment=floor())
    with pytest.raises(SimulationDiverged, match=r'differ by .* N .* shorter step'):
        simulator.step([0, 0])
    assert simulator.q[1] == -0.01


# -- file ----------------------------------------------------------------------------------------

FILE = """
planes:
  table: {point: [0, 0, -0.1], normal: [0, 0, 1], stiffness: 4.0e4, damping: 20, friction: 0.3}
spheres:
  ball: {centre: [1, 0, 0], radius: 0.2}
touch_points:
  foot: {link: block, point: [0, 0, -0.1]}
  middle: {link: rail}
"""


def test_vectors_are_any_three_numbers():
    for normal in ((0, 0, 1), [0.0, 0.0, 1.0], np.array([0, 0, 1]), np.float32([0, 0, 1])):
        assert Plane((0, 0, 0), normal).depth(np.array([[1.0, 2.0, -0.5]])) == [0.5]
    with pytest.raises(ModelError, match='normal is'):
        Plane((0, 0, 0), np.eye(3))


def test_a_file_is_read(tmp_path):
    file = tmp_path / 'world.yaml'
    file.write_text(FILE)
    found = load_environment(file)
    assert list(found.bodies) == ['table', 'ball']
    assert found.bodies['table'].material == Material(4e4, 20, 0.3)
    assert found.bodies['ball'] == Sphere([1, 0, 0], 0.2)
    assert found.touch_points == {
        'foot': TouchPoint('block', [0, 0, -0.1]),
        'middle': TouchPoint('rail'),
    }
    simulator = Simulator(SLIDER, q=[0, -1e-3], environment=found)
    simulator.step([0, 0])
    assert simulator.contact_forces.shape == (2, 3)


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (('normal: [0, 0, 1]', 'normal: [0, 0, 0]'), 'planes: table: normal is 0 0 0'),
        (
            ('normal: [0, 0, 1]', 'normal: [0, 0]'),
            r'planes: table: normal is \[0, 0\]; expected 3',
        ),
        (('normal: [0, 0, 1], ', ''), 'planes: table has no normal'),
        (('damping: 20', 'damping: -20'), 'planes: table: damping is -20.*must'),
        (('damping: 20', 'damping: yes'), "planes: table: damping is 'yes'; expected a number"),
        (
            ('damping: 20', 'damper: 20'),
            "planes: table has no entry 'damper', the nearest is damping",
        ),
        (('stiffness: 4.0e4', 'stiffness: 0'), 'planes: table: stiffness is 0.*positive'),
        (('radius: 0.2', 'radius: .nan'), 'spheres: ball: radius is nan'),
        (('ball:', 'table:'), "'table' is a plane and a sphere"),
        (('{link: rail}', '{link: 3}'), 'touch_points: middle: link is 3'),
        (('{link: rail}', '{point: [0, 0, 0]}'), 'touch_points: middle has no link'),
        (('{link: rail}', 'rail'), "touch_points: middle is 'rail'; expected entries link, point"),
        (
            ('planes:', 'boxes:'),
            "the file has no entry 'boxes', the nearest is planes",
        ),
        ((FILE, 'planes: [1]'), r'planes is \[1\]; expected entries by name'),
        ((FILE, 'touch_points: {a: {link: rail}}'), 'expected at least one of touch_points'),
        ((FILE, '{'), 'is not YAML'),
    ],
)
def test_errors_of_a_file_name_the_file_and_the_entry(tmp_path, change, message):
    file = tmp_path / 'world.yaml'
    file.write_text(FILE.replace(*change))
    with pytest.raises(ModelError, match=f'world.yaml: {message}'):
        load_environment(file)


def test_a_file_or_link_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(ModelError, match=r'none\.yaml: No such file'):
        load_environment(tmp_path / 'none.yaml')
    with pytest.raises(FrameNotFound, match='hand'):
        Simulator(
            SLIDER,
            environment=Environment({'w': Plane((0, 0, 0), (0, 0, 1))}, {'a': TouchPoint('hand')}),
        )
