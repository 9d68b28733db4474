# SPDX-License-Identifier: Apache-2.0
"""Objects outside `control` keep no array of their caller, and no later call changes a result.

`control` is in test/control/test_kept_arrays.py.
"""

from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pytest
from kept_arrays import check_reuse, objects_of

import robot_dynamics as rd
from robot_dynamics import simulation
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.core import model
from robot_dynamics.core.friction.friction_settings import FrictionSettings
from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.export.interop import differentiable
from robot_dynamics.export.interop.differentiable_function import Differentiable
from robot_dynamics.recordings import Recording
from robot_dynamics.recordings.gravity_setting import Postures
from robot_dynamics.simulation import (
    Actuators,
    ClosedLoopSimulator,
    Elasticity,
    Environment,
    InertialSensing,
    InertialSensor,
    JointModels,
    Material,
    PerStep,
    Perturbations,
    Plane,
    PrescribedBaseMotion,
    Sensors,
    Servo,
    ServoCommand,
    Simulator,
    Sphere,
    SpringDamperStop,
    TouchPoint,
    closed_chains,
    simulate_batch,
)
from robot_dynamics.simulation.closed_chains import ClosedChain
from robot_dynamics.simulation.closed_chains.linkages import slider_crank
from robot_dynamics.simulation.plant import (
    EffortCommand,
    ExternalWrench,
    Plant,
    SetPayload,
    SetState,
)
from robot_dynamics.simulation.scheduling import LoopOptions, ReceivedCommand, SimulationLoop
from robot_dynamics.simulation.sensors import Sensing
from robot_dynamics.simulation.steps.held_base import HeldBase
from robot_dynamics.validation.observation import LiveDiagnosis, ObservedState
from robot_dynamics.view.state import ViewState
from robot_dynamics.view.viewed_motion import Follow, Playback, Reach

MODEL = planar_2r()
ARM = rd.Dynamics(MODEL)
TIP = MODEL.link_names[-1]
START = np.array([0.3, -0.4])
TENSOR = np.diag([2e-3, 3e-3, 4e-3])
MOVES = [[np.sin(0.3 * k + j) for j in range(2)] for k in range(4)]  # rad, rad/s or N m


def robot(given):
    arrays = [item.name for item in fields(RobotModel) if item.type == 'Array']
    own = {name: given(getattr(MODEL, name)) for name in arrays}
    made = replace(MODEL, **own, base=Inertial(1.0, given([0.1, 0.0, 0.2]), given(TENSOR)))
    given.reuse()
    given.results += [getattr(made, name) for name in arrays]
    given.results += [made.base.com, made.base.inertia_com]
    arm = rd.Dynamics(made).with_gravity(given([0.5, -9.0, 0.0]))
    given.reuse()
    arm = arm.with_payload(TIP, 1.0, given([0.1, 0.0, 0.0]), given(TENSOR))
    given.reuse()
    for row in MOVES:
        given.reuse(arm.inverse_dynamics(given(row), given(row), given(row)))
        given.reuse(arm.terms(given(row), given(row)))
    given.results += [arm.model.gravity, arm.model.mass, arm.model.com, arm.model.inertia_com]
    driven = made.with_actuation(viscous=given([0.1, 0.2]), rotor_inertia=given([0.3, 0.4]))
    given.reuse()
    given.results += [driven.viscous, driven.reflected_inertia]


def program(given):
    step = ARM.simulation_step('semi_implicit_euler').bind(time_step=given([1e-3]))
    given.reuse()
    for row in MOVES:
        values = {name: given(row) for name in ('q', 'qd', 'tau')}
        given.reuse(step(**values))
        values = {name: given(row) for name in ('q', 'qd', 'tau')}
        given.reuse(step.end(3, **values))
        values = {name: given([row, row]) for name in ('q', 'qd', 'tau')}
        given.reuse(step.advance(3, **values))
        values = {name: given(row) for name in ('q', 'qd', 'tau')}
        given.reuse(step.iterate(3, **values))


def differentiated(given):
    for of in (
        differentiable.inverse_dynamics(ARM, payload=TIP),
        differentiable.simulation_step(ARM, time_step=1e-3),
        differentiable.forward_kinematics(ARM, TIP),
        differentiable.terms(ARM),
        differentiable.kinetic_energy(ARM).derivative,
    ):
        for row in MOVES:
            values = [given((row * 5)[:size]) for size in of.inputs.values()]
            result = of.value(*values)
            given.reuse(of.jacobian(result.copy(), *values), result)


def joint_models(given):
    drives = Actuators(gain=given([1.1, 0.9]), offset=given([0.2, 0.1]), delay=2e-3)
    friction = FrictionSettings('coulomb', given([0.1, 0.2]), given([0.3, 0.1]))
    return JointModels(friction, drives, SpringDamperStop(given([1e3, 2e3]), given([1.0, 2.0])))


def environment(given):
    tip = ARM.forward_kinematics(START, TIP)[:3, 3]
    soft = Material(1e3, 20.0, 0.3)
    bodies = {
        'wall': Plane(given(tip), given([0.0, 1.0, 0.0]), soft),
        'ball': Sphere(given(tip + 0.1), 0.2, soft),
    }
    return Environment(bodies, {'tip': TouchPoint(TIP, given([0.01, 0.0, 0.0]))})


def simulated(given):
    elastic = JointModels(elasticity=Elasticity(given([1e3, 2e3]), given([1.0, 2.0])))
    rotors = rd.Dynamics(MODEL.with_actuation(rotor_inertia=0.1))
    servo = Servo(given([90.0, 80.0]), given([1.0, 2.0]), given([2e-3, 5e-4]), given([9.0, 8.0]))
    for one in (
        Simulator(
            ARM,
            q=given(START),
            qd=given([0.1, 0.2]),
            joint_models=joint_models(given),
            environment=environment(given),
        ),
        Simulator(rotors, q=given(START), joint_models=elastic),
        Simulator(ARM, q=given(START), joint_models=JointModels(servo=servo)),
    ):
        servos = one.joint_models.servo is not None
        given.reuse()
        for k, row in enumerate(MOVES):
            wrench = {TIP: given(np.arange(6.0))}
            command = ServoCommand(*map(given, (row, row, row))) if servos else given(row)
            one.step(command, external=given(row), wrenches=wrench)
            given.reuse(one.q, one.qd, one.motor_q, one.effort, one.contact_forces)
            given.results += [one.kinetic_energy(), one.potential_energy()]
            if k == 1:
                before = one.snapshot()
                one.attach(TIP, 1.0, given([0.1, 0.0, 0.0]), given(TENSOR))
                given.reuse()
                given.results += [one.payloads[TIP].com, one.payloads[TIP].inertia_com]
        one.restore(before)
        given.reuse(one.q, one.qd)
        one.reset(given(START), given([0.2, 0.1]))
        given.reuse(one.q, one.qd)


def on_moving_base(given):
    def motion(t, gravity):
        return rd.BaseMotion(given([t, 0.2, 0.3]), given([1.0, 2.0, 3.0]), given(-gravity))

    one = Simulator(ARM, q=given(START), base_motion=SimpleNamespace(motion=motion))
    for row in MOVES:
        given.reuse()
        one.step(given(row))
        given.reuse(one.q, one.qd, one.base.now)
    still = PrescribedBaseMotion()
    places = {'orientation': given(np.eye(3)), 'position': given([1.0, 2.0, 3.0])}
    sensing = InertialSensing(InertialSensor(), still, gravity=given([0, 0, -9.0]), **places)
    given.reuse()
    given.reuse(*sensing.read(0.1))


def plant(given):
    one = Plant(Simulator(ARM))
    one.apply(SetState(given(START), given([0.1, 0.2])))
    one.apply(SetPayload(TIP, Inertial(1.0, given([0.1, 0.0, 0.0]), given(TENSOR))))
    one.apply(ExternalWrench(TIP, given(np.arange(6.0))))
    one.apply(EffortCommand(given([1.0, 2.0])))
    given.reuse()
    for _ in range(3):
        one.step()
        given.reuse(one.q, one.qd, one.effort)
    given.results.append(one.wrenches[TIP])
    servos = Plant(Simulator(ARM, joint_models=JointModels(servo=Servo(50.0, 1.0, 2e-3))))
    servos.apply(ServoCommand(*(given([1.0, 2.0]) for _ in range(3))))
    given.reuse()
    for _ in range(3):
        servos.step()
        given.reuse(servos.q, servos.effort)


def stepped(given):
    start = SetState(given(START), given([0.1, 0.2]))
    one = SimulationLoop(Plant(Simulator(ARM)), start, LoopOptions())
    one.command(ReceivedCommand(given([1.0, 2.0]), None, 0.0))
    one.apply_wrench(ExternalWrench(TIP, given(np.arange(6.0))))
    given.reuse()
    for _ in range(3):
        one.step(0.0)
        given.reuse(*one.measured)


def sense(given, sensors):
    one = Sensing(MODEL, sensors, 1e-3)
    given.reuse()
    for k in range(3):
        given.reuse(one.read(*(given([MOVES[(k + j) % 4]]) for j in range(3))))


def sensed(given):
    sense(given, Sensors(velocity='differentiated'))
    noise = {'position_noise': given([1e-3, 2e-3]), 'effort_noise': given([0.1, 0.2])}
    lag = {'effort_bandwidth': given([30.0, 40.0]), 'velocity_cutoff': given([90.0, 80.0])}
    resolution = given([1e-4, 2e-4])
    offset = given([0.3, 0.1])
    sense(given, Sensors(resolution, latency=2e-3, effort_offset=offset, **noise, **lag))


def batch(given):
    def law(t, q, qd):
        states.extend((q.copy(), qd.copy()))
        buffer[...] = np.sin(1e3 * t) - q
        return buffer

    states, buffer = [], np.zeros((3, 2))
    q = np.array(MOVES[:3])
    rows = {'viscous': given([[0.1, 0.2]] * 3), 'coulomb': given([0.2, 0.1])}
    for torques in (law, PerStep(given(np.ones((6, 2)))), given([1.0, 2.0])):
        options = {'steps': 6, 'record_every': 2, 'perturbations': Perturbations(**rows)}
        given.results += simulate_batch(ARM, given(q), given(0 * q), torques, **options)
    given.reuse()
    given.results += states


def loop(given):
    linkage = slider_crank()
    chain = ClosedChain(rd.Dynamics(linkage.tree), linkage.closures, near=given(linkage.near))
    given.reuse(chain.q0)
    closed = chain.posture(given(chain.q0))  # closed already
    given.reuse(closed)
    qd = chain.velocity(chain.q0, given([1.0, 0.0, 0.0]))
    one = ClosedLoopSimulator(chain, q=given(chain.q0), qd=given(qd))
    given.reuse(qd)
    for row in MOVES:
        one.step(given([row[0], 0.0, 0.0]), external=given([0.0, row[1], 0.0]))
        given.reuse(one.q, one.qd, one.effort, one.wrenches())
    given.reuse(chain.forward_dynamics(given(chain.q0), given(0 * chain.q0), given([1.0, 0, 0])))


def rests(given):
    one = Postures()
    for k in range(3):
        for j in range(300):
            qd = [0.5, 0.5] if j < 50 else [0.0, 0.0]
            q = 0.3 * k + 0.01 * min(j, 50)
            one.add(2.0 * k + 5e-3 * j, given([q, -q]), given(qd), given([1.0 + k, 2.0 + j]))
            given.reuse()
    given.results += [array for posture in one.found for array in posture]


def played(given):
    t = np.arange(0.0, 4.0, 0.01)
    q = np.sin(np.outer(t, [2.0, 3.0]))
    qd = np.cos(np.outer(t, [2.0, 3.0])) * [2.0, 3.0]
    one = Playback(Recording(MODEL.joint_names, given(t), given(q), given(qd), given(q)), 5.0)
    given.reuse()
    for k in (3, 3, np.array([3, 4])):
        given.reuse(one.motion(k), one.efforts(ARM, k))


def reached(given):
    one = Reach(given(ARM.forward_kinematics(START, TIP)))
    given.reuse()
    state = one.advance(ARM, ViewState.initial(MODEL), 0.1)
    given.results += [state.q]


def followed(given):
    source = SimpleNamespace(payload=lambda: None, external=lambda: (None, None))
    one, state = Follow(source, given([2.0, 3.0])), ViewState.initial(MODEL)
    given.reuse()
    for k, row in enumerate(MOVES):
        reading = JointReading(k * 10_000_000, *(np.array(row) for _ in range(3)))
        source.newest = lambda reading=reading: reading
        state = one.advance(ARM, state, 0.1)
        given.reuse(state.qdd, state.measured)


def diagnosed(given):
    found = []
    one = LiveDiagnosis(lambda states, reported: found.extend((*states, reported)))
    for k in range(60):
        row = np.array(MOVES[k % 4]) + 0.1 * k
        one.add(ObservedState(*(given(j * row) for j in range(1, 5))))
        given.reuse()
    given.results += found


CASES = {
    (RobotModel, rd.Dynamics, Inertial): robot,
    (type(ARM.simulation_step('semi_implicit_euler')),): program,
    (Differentiable,): differentiated,
    (Simulator, Plane, Sphere, TouchPoint, Elasticity, Actuators, SpringDamperStop, Servo): (
        simulated
    ),
    (HeldBase, InertialSensing): on_moving_base,
    (Plant,): plant,
    (SimulationLoop,): stepped,
    (Sensing, Sensors): sensed,
    (PerStep, Perturbations): batch,
    (ClosedChain, ClosedLoopSimulator): loop,
    (Postures,): rests,
    (Playback,): played,
    (Reach,): reached,
    (Follow,): followed,
    (LiveDiagnosis,): diagnosed,
}
# Records of values, which the objects above copy; their parts; and objects without arrays.
RECORDS = {
    *('Environment', 'JointModels', 'HardwareProfile', 'Batch', 'Tracking', 'Snapshot'),
    *('PointContacts', 'Drives', 'Servos', 'Contacts', 'ElasticArm', 'RigidArm', 'BodyMotion'),
    *('ContinuousArm', 'Material', 'InelasticStop', 'RunControl', 'Pace', 'LoopOptions'),
    *('Adaptive', 'CanonicalTree', 'LoopClosure', 'ArmOnHeldBase'),
    *('PrescribedBaseMotion', 'MotionComponent', 'Sine', 'Ramp'),
    'InertialSensor',
}


@pytest.mark.parametrize('case', CASES.values(), ids=[case.__name__ for case in CASES.values()])
def test_a_reused_array_changes_no_later_result(case):
    check_reuse(case)


def test_every_object_of_simulation_is_tested():
    kinds = objects_of([simulation, closed_chains, model])
    tested = {kind for case in CASES for kind in case}
    assert {kind.__name__ for kind in kinds - tested} == RECORDS
