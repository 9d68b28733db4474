# SPDX-License-Identifier: Apache-2.0
"""The loop without ROS: its torque, its limits, and the faults that end in damping."""

from dataclasses import replace

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.control import Gains, Reference, Trajectory, feedforward, stream_programs
from robot_dynamics.control.control_loop import REPEATED_CALLS
from robot_dynamics.control.loop_settings import LoopSettings
from robot_dynamics.control.spline import Waypoint
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.core.friction.laws import LAWS
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.core.programs import Programs

MODEL = replace(
    planar_2r(),
    velocity_limit=np.full(2, 2.5),
    effort_limit=np.array([60.0, 30.0]),
    lower=np.full(2, -3.0),
    upper=np.full(2, 3.0),
)
ARM = rd.Dynamics(MODEL)
NAMES = MODEL.joint_names
Q, STILL = np.array([0.3, -0.5]), np.zeros(2)
KP, KD, DAMPING = np.array([40.0, 20.0]), np.array([4.0, 2.0]), np.array([3.0, 1.5])
PERIOD = 0.005  # s
OWN = LoopSettings(feedback='loop')
NAN = float('nan')


class Run:
    """A loop, and an arm that stands where a test says."""

    def __init__(self, law='feedforward', settings=None, **more):
        settings = LoopSettings() if settings is None else settings
        gains = {'kp': KP, 'kd': KD, 'damping': DAMPING} | more
        self.loop, self.t = rd.ControlLoop(ARM, law, settings=settings, **gains), 10.0

    def states(self, count=30, q=Q, qd=STILL, target=None):
        """Return the last command for states that are equal, PERIOD apart."""
        for _ in range(count):
            self.t += PERIOD
            command = self.loop.command(self.t, q, qd, target)
            target = None
        return command


def shifted(shoulder, elbow=0.0):
    """Return positions (2,) beside Q."""
    return Q + np.array([shoulder, elbow])


def drive_torque(command, q, qd):
    """Return what drives in MIT mode do with a command."""
    return command.kp * (command.q - q) + command.kd * (command.qd - qd) + command.tau


def assert_damped(command):
    np.testing.assert_array_equal(command.kd, DAMPING)
    for row in (command.qd, command.kp, command.tau):
        np.testing.assert_array_equal(row, 0.0)
    assert np.isfinite(command.q).all()


# -- the torque -------------------------------------------------------------------------------


@pytest.mark.parametrize('law', ['feedforward', 'pd_plus'])
def test_drives_have_the_torque_of_the_law(law):
    quick = {'max_torque_rate': 0.0}
    drive, own = Run(law, LoopSettings(**quick)), Run(law, replace(OWN, **quick))
    for k in range(80):
        q = Q + 0.02 * np.sin(0.1 * k + np.arange(2))
        qd = 0.3 * np.cos(0.1 * k + np.arange(2))
        target = shifted(0.0005 * k) if k % 6 == 1 else None
        wanted = own.states(1, q, qd, target)
        command = drive.states(1, q, qd, target)
        torque = drive_torque(command, q, qd)
        np.testing.assert_allclose(torque, wanted.tau, rtol=1e-13, atol=1e-12)
        np.testing.assert_array_equal(wanted.kp, 0.0)
        np.testing.assert_array_equal(wanted.kd, 0.0)
    assert not drive.loop.fault
    assert np.abs(command.qd).max() > 0.01
    # After the soft start it is that of the reference.
    reference = drive.loop.follower.present
    if law == 'feedforward':
        expected = feedforward(ARM, reference, q, qd, gains=Gains(KP, KD)).tau
        np.testing.assert_allclose(torque, expected, rtol=1e-12)


def test_an_arm_is_held_softly_where_it_is():
    run = Run(settings=LoopSettings(ramp_time=0.2, max_torque_rate=0.0))
    torques = np.array([run.states(1).tau for _ in range(60)])
    gravity = ARM.gravity_torque(Q)
    np.testing.assert_array_equal(torques[0], 0.0)
    assert (np.diff(np.abs(torques), axis=0) >= -1e-12).all()
    np.testing.assert_allclose(torques[-1], gravity, rtol=1e-12)
    # The ramp is s^2 (3 - 2 s), with the largest slope 1.5 / T.
    steps = np.abs(np.diff(torques, axis=0)).max(axis=0)
    assert (steps <= 1.5 * PERIOD / 0.2 * np.abs(gravity) * 1.001).all()


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_what_the_drives_do_stays_within_the_effort_limits(sign):
    run = Run(settings=LoopSettings(tolerance=0.0, torque_limit_scale=0.5))
    run.states()
    q = Q + sign * np.array([2.0, 1.5])
    command = run.states(60, q)
    torque = drive_torque(command, q, STILL)
    np.testing.assert_allclose(torque, -sign * 0.5 * MODEL.effort_limit, rtol=1e-12)
    assert run.loop.counts['torque at its limit']


@pytest.mark.parametrize('sign', [1.0, -1.0])
@pytest.mark.parametrize('state', [(2 * np.pi, 0.0), (0.0, 24.0)], ids=['turn', 'velocity'])
def test_a_state_that_is_wrong_gives_no_torque_beyond_the_effort_limits(state, sign):
    run = Run(kp=40.0, kd=8.0, settings=LoopSettings(tolerance=0.0))
    run.states(60)
    off, speed = sign * np.array(state)
    command = run.states(3, Q + off, STILL + speed)
    assert not run.loop.fault
    assert (np.abs(command.tau) <= MODEL.effort_limit).all()
    assert (np.abs(command.tau) > 0.99 * MODEL.effort_limit).all()


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_what_the_drives_do_changes_within_the_rate_limit(sign):
    run = Run(settings=LoopSettings(tolerance=0.0, max_torque_rate=[50.0, 30.0]))
    before = drive_torque(run.states(60), Q, STILL)
    q = Q + sign * np.array([0.5, -0.5])
    for _ in range(5):
        torque = drive_torque(run.states(1, q), q, STILL)
        assert (np.abs(torque - before) <= np.array([50.0, 30.0]) * PERIOD + 1e-12).all()
        before = torque
    assert run.loop.counts['torque at its rate limit']


def test_a_stream_is_one_curve_and_its_end_a_hold():
    run, references, at_q, at_qd = Run(), [], Q, STILL
    for k in range(200):
        target = Q + 0.3 * np.sin(0.03 * k) * np.array([1.0, -1.0])
        command = run.states(1, at_q, at_qd, target if k < 100 and k % 4 == 0 else None)
        at_q, at_qd = command.q, command.qd  # an arm that follows
        references.append(command)
    q = np.array([command.q for command in references])
    qd = np.array([command.qd for command in references])
    assert not run.loop.fault
    # The velocity is that of the positions.
    middle = (qd[2:] + 2 * qd[1:-1] + qd[:-2]) / 4
    np.testing.assert_allclose((q[2:] - q[:-2]) / (2 * PERIOD), middle, atol=0.02)
    assert np.abs(qd).max() > 0.1
    np.testing.assert_array_equal(qd[-1], 0.0)


def test_arrays_of_the_caller_may_be_used_again():
    own, kept = Run(), Run()
    q, qd, target, speed = (np.zeros(2) for _ in range(4))
    for k in range(60):
        wanted = shifted(0.002 * k)
        targets = Waypoint(wanted, np.array([0.4, 0.0])), Waypoint(target, speed)
        target[:], speed[:] = targets[0][:2]
        if k < 30:
            targets = wanted, target
        if k % 4:
            targets = None, None
        expected = own.states(1, wanted, STILL, targets[0])
        q[:], qd[:] = wanted, STILL
        found = kept.states(1, q, qd, targets[1])
        for row in (q, qd, target, speed):
            row[:] = 9.0
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    assert not kept.loop.fault


def test_a_trajectory_is_followed_to_its_end():
    run, end = Run(settings=LoopSettings(tolerance=0.0)), shifted(0.1, -0.2)
    run.states()
    motion = Trajectory(NAMES, [0.0, 0.5], [Q, end], [STILL, STILL])
    half = run.states(51, target=motion)
    np.testing.assert_allclose(half.q, (Q + end) / 2, atol=1e-9)
    np.testing.assert_allclose(run.states(60).q, end, atol=1e-12)


def test_a_trajectory_in_every_call_is_followed_once():
    motion = Trajectory(NAMES, [0.0, 0.3], [Q, shifted(0.05)], [STILL, STILL])
    once, every = Run(), Run()
    for k in range(150):
        first = once.states(1, target=motion if k == 30 else None)
        again = every.states(1, target=motion if k >= 30 else None)
        for a, b in zip(first, again, strict=True):
            np.testing.assert_array_equal(a, b)
    assert every.loop.doing == 'holding'
    np.testing.assert_allclose(again.q, shifted(0.05), atol=1e-12)
    # Back, and again after a call without it
    back = Trajectory(NAMES, [0.3], [Q], [STILL])
    every.states(80, target=back)
    assert every.states(1, target=motion).q[0] == Q[0]
    assert every.loop.doing == 'following a trajectory of 0.3 s'


def test_a_trajectory_in_every_call_stays_stopped():
    motion = Trajectory(NAMES, [0.0, 1.0], [Q, shifted(0.05)], [STILL, STILL])
    run = Run()
    for k in range(300):
        if k == 100:
            run.loop.stop()
        command = run.states(1, target=motion)
    assert run.loop.doing == 'holding'
    assert Q[0] < command.q[0] < shifted(0.04)[0]
    run.states(1)
    run.states(1, target=motion)
    assert run.loop.doing == 'following a trajectory of 1 s'


def test_an_arm_is_led_by_hand():
    run = Run('gravity_only')
    q, qd = Q + 1.0, np.array([0.5, -0.3])
    run.states()
    command = run.states(60, q, qd)
    assert not run.loop.fault
    np.testing.assert_array_equal(command.q, q)
    np.testing.assert_array_equal(command.kp, 0.0)
    expected = ARM.gravity_torque(q) - KD * qd
    np.testing.assert_allclose(drive_torque(command, q, qd), expected, rtol=1e-12)
    run.states(1, q, qd, target=q)
    assert 'gravity_only' in run.loop.fault


def test_continuous_joints_are_commanded_in_the_turn_of_the_drives():
    arm = rd.Dynamics(replace(MODEL, lower=np.full(2, -np.inf), upper=np.full(2, np.inf)))
    loop = rd.ControlLoop(arm, kp=KP, kd=KD)
    loop.command(0.0, Q, STILL)
    # The drive counts from another turn after its restart.
    turned = shifted(2 * np.pi)
    for k in range(1, 40):
        command = loop.command(PERIOD * k, turned, STILL)
    assert not loop.fault
    np.testing.assert_allclose(command.q, turned, atol=1e-12)
    np.testing.assert_allclose(command.tau, arm.gravity_torque(Q), rtol=1e-9)


def test_velocities_that_are_not_measured_are_estimated():
    run = Run(settings=LoopSettings(feedback='loop', max_torque_rate=0.0, ramp_time=0.0))
    speed = np.array([0.2, -0.1])
    for k in range(60):
        q = Q + speed * PERIOD * k
        command = run.states(1, q, None)
    reference = Reference(Q, STILL, STILL)
    expected = feedforward(ARM, reference, q, speed, gains=Gains(KP, KD)).tau
    np.testing.assert_allclose(command.tau, expected, rtol=1e-6)


# -- faults -----------------------------------------------------------------------------------


def at(run, t, q=Q, qd=STILL, target=None):
    run.t = t
    return run.loop.command(t, q, qd, target)


def still(run):
    for _ in range(REPEATED_CALLS):
        command = run.loop.command(run.t, Q, STILL)
    return command


def frozen(run):
    """The measured state stays as it was, while the targets move on."""
    for k in range(60):
        command = run.states(4, target=shifted(0.01 * k))
    return command


FAULTS = {
    'NaN position': (lambda run: run.states(1, [0.3, NAN]), 'position must be finite'),
    'infinite position': (lambda run: run.states(1, [0.3, np.inf]), 'position must be finite'),
    'NaN velocity': (lambda run: run.states(1, qd=[NAN, 0.0]), 'qd must be finite'),
    'velocity of no joint': (lambda run: run.states(1, qd=[0.0, 99.0]), 'velocity is 99'),
    'position of no joint': (lambda run: run.states(1, [0.3, 500.0]), 'position is 500'),
    'another number of joints': (lambda run: run.states(1, np.zeros(3)), 'must be (2,)'),
    'no numbers': (lambda run: run.states(1, ['a', 'b']), 'expected 2 numbers'),
    'no positions': (lambda run: run.states(1, None), 'q has shape ()'),
    'NaN time': (lambda run: at(run, NAN), 'expected a finite time'),
    'no time': (lambda run: at(run, None), 'expected a finite time'),
    'time beyond all clocks': (lambda run: at(run, 10**400), 'expected a finite time'),
    'numbers beyond all floats': (lambda run: run.states(1, [10**400, 0]), 'expected 2 numbers'),
    'negative time': (lambda run: at(run, -1.0), 'not negative'),
    'time backwards': (lambda run: at(run, run.t - 0.002), 'before that of the last state'),
    'another clock': (lambda run: at(run, 1.0), 'the time went back'),
    'time that stands': (still, 'stands still'),
    'gap': (lambda run: at(run, run.t + 0.15), 'there was no state for 0.15 s'),
    'time in ms': (lambda run: at(run, 1e3 * run.t), 'with t in s'),
    'time in ns': (lambda run: at(run, round(1e9 * run.t)), 'with t in s'),
    'NaN target': (lambda run: run.states(1, target=[NAN, 0.0]), 'the target must be finite'),
    'target of another arm': (lambda run: run.states(1, target=np.zeros(3)), 'must be (2,)'),
    'NaN velocity of a target': (
        lambda run: run.states(1, target=Waypoint(Q, np.array([NAN, 0.0]))),
        'the velocity of the target must be finite',
    ),
    'target jump': (lambda run: run.states(1, target=Q + 0.5), 'must be within 0.1'),
    'target beyond a limit': (lambda run: run.states(1, target=shifted(2.8)), 'its limit is 3'),
    'arm pushed off': (lambda run: run.states(1, shifted(0.15)), 'the tolerance is 0.1'),
    'state that is frozen': (frozen, 'the tolerance is 0.1'),
}


@pytest.mark.parametrize('settings', [LoopSettings(), OWN], ids=['drive', 'loop'])
@pytest.mark.parametrize('fault', FAULTS)
def test_faults_end_in_damping_until_a_restart(fault, settings):
    inject, reason = FAULTS[fault]
    run = Run(settings=settings)
    assert run.states().tau.any()
    t = run.t
    assert_damped(inject(run))
    assert reason in run.loop.fault
    assert run.loop.fault in run.loop.doing
    run.t = t
    assert_damped(run.states(50, target=Q))  # also in what is right
    run.loop.restart()
    np.testing.assert_array_equal(run.states(1).tau, 0.0)  # the soft start
    command = run.states(60)
    assert not run.loop.fault
    np.testing.assert_allclose(command.tau, ARM.gravity_torque(Q), rtol=1e-12)


def test_a_time_may_be_repeated_now_and_then():
    run = Run()
    run.states()
    for _ in range(2 * REPEATED_CALLS):
        command = run.states(1)
        np.testing.assert_array_equal(run.loop.command(run.t, Q, STILL).tau, command.tau)
    assert not run.loop.fault


def test_a_restart_begins_with_any_clock_and_without_the_memory_of_friction():
    friction = JointFriction(LAWS['coulomb_memory'], {'coulomb': np.array([2.0, 1.0])})
    run = Run(friction=friction, settings=LoopSettings(tolerance=0.0))
    run.states()
    for k in range(60):
        run.states(4, target=shifted(0.001 * k))
    run.states(50)
    assert np.abs(run.states(1).tau - ARM.gravity_torque(Q)).max() > 1
    run.states(1, [NAN, 0.0])
    run.loop.restart()
    run.t = 0.5
    np.testing.assert_allclose(run.states(60).tau, ARM.gravity_torque(Q), rtol=1e-12)
    assert not run.loop.fault


@pytest.mark.parametrize('settings', [LoopSettings(), OWN], ids=['drive', 'loop'])
@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_a_restart_takes_over_from_damping(sign, settings):
    run = Run(settings=settings)
    run.states(1, [NAN, 0.0])
    run.loop.restart()
    q, qd, torques = Q.copy(), sign * np.array([0.5, -0.8]), []
    for k in range(30):
        command = run.states(1, q, qd)
        torques.append(drive_torque(command, q, qd))
        if k == 0:  # the first torque is that of damping
            np.testing.assert_allclose(torques[0], -DAMPING * qd, rtol=1e-12)
        qd = 0.7 * qd  # an arm that brakes
        q = q + PERIOD * qd
    assert not run.loop.fault
    steps = np.abs(np.diff(torques, axis=0))
    assert (steps <= MODEL.effort_limit / 0.1 * PERIOD + 1e-9).all()
    np.testing.assert_allclose(torques[-1], ARM.gravity_torque(Q), rtol=0.1, atol=1.5)


def test_a_target_of_the_first_call_is_followed():
    run = Run()
    for k in range(20):
        command = run.states(1, target=shifted(0.0) if k == 0 else None)
    assert run.loop.doing.startswith('following a stream')
    run = Run()
    run.states(1, target=shifted(0.3))
    assert 'must be within 0.1' in run.loop.fault
    np.testing.assert_array_equal(command.q, Q)


def test_a_fault_of_the_first_state_ends_in_damping():
    run = Run()
    assert_damped(run.states(1, [NAN, 0.0]))
    assert_damped(run.states(10))


@pytest.mark.parametrize('law', ['feedforward', 'gravity_only'])
@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_an_arm_does_not_begin_in_degrees(law, sign):
    run = Run(law)
    assert_damped(run.states(1, sign * np.degrees(Q)))
    assert f"joint '{NAMES[0]}' begins at" in run.loop.fault
    assert 'are the positions in degrees?' in run.loop.fault
    run.loop.restart()
    run.states(60, Q + 2 * np.pi)  # an encoder without an absolute turn
    assert not run.loop.fault


def test_a_torque_that_is_not_finite_ends_in_damping():
    heavy = rd.Dynamics(replace(MODEL, gravity=1e307 * MODEL.gravity))
    loop = rd.ControlLoop(heavy, kp=KP, kd=KD, damping=DAMPING)
    with np.errstate(all='ignore'):
        command = loop.command(0.0, Q, STILL)
    assert_damped(command)
    assert 'not finite' in loop.fault


@pytest.mark.parametrize('load', [1.2, 2.0])
def test_a_load_beyond_the_effort_limits_ends_in_damping(load):
    """The torque stays at its limit, the arm sinks from its reference, and is damped then."""
    run, level = Run(), np.zeros(2)
    weight = load * MODEL.effort_limit[0] - ARM.gravity_torque(level)[0]
    q, qd, largest = level.copy(), STILL.copy(), 0.0
    for _ in range(400):
        command = run.states(1, q, qd)
        if run.loop.fault:
            break
        torque = drive_torque(command, q, qd)
        largest = max(largest, float(np.abs(torque / MODEL.effort_limit).max()))
        qdd = ARM.forward_dynamics(q, qd, torque - [weight, 0.0], friction='none')
        qd = qd + PERIOD * qdd
        q = q + PERIOD * qd
    assert_damped(command)
    assert 'off its path; the tolerance is 0.1' in run.loop.fault
    assert largest <= 1 + 1e-12


@pytest.mark.parametrize('bad', [[NAN, 0.0], Q + 0.5, np.zeros(3)], ids=['NaN', 'jump', 'size'])
def test_targets_may_be_left_out_instead(bad):
    run = Run(settings=LoopSettings(on_rejected_target='hold'))
    run.states()
    for k in range(8):
        run.states(4, target=shifted(0.002 * k))
    command = run.states(1, target=bad)
    assert not run.loop.fault
    assert run.loop.rejected
    assert run.loop.counts['target rejected'] == 1
    command = run.states(100)
    np.testing.assert_array_equal(command.qd, 0.0)
    np.testing.assert_array_equal(command.kp, KP)
    run.states(1, target=command.q)
    assert not run.loop.rejected


def test_a_stop_leaves_out_the_stream_that_goes_on():
    run = Run()
    run.states()
    for k in range(10):
        run.states(4, target=shifted(0.002 * k))
    run.loop.stop()
    for k in range(10, 30):
        command = run.states(4, target=shifted(0.002 * k))
    assert not run.loop.fault
    np.testing.assert_array_equal(command.qd, 0.0)
    assert 'stopped' in run.loop.rejected
    run.states(120)  # a pause
    run.states(1, target=command.q)
    assert not run.loop.rejected


@pytest.mark.parametrize('law', ['feedforward', 'pd_plus', 'gravity_only', 'joint_impedance'])
def test_nothing_is_compiled_by_a_command(law, monkeypatch):
    """The first command would be late otherwise, and the second one find a gap."""
    stream_programs.stream_programs.cache_clear()
    arm = rd.Dynamics(replace(MODEL, name='another arm'))
    settings = LoopSettings(feedback='loop' if law == 'joint_impedance' else 'drive')
    loop = rd.ControlLoop(arm, law, kp=KP, kd=KD, damping=DAMPING, settings=settings)

    def compiled(*_, **__):
        raise AssertionError('a program is compiled')

    monkeypatch.setattr(Programs, 'compiled', compiled)
    monkeypatch.setattr(stream_programs, 'compile_program', compiled)
    with pytest.raises(AssertionError, match='a program is compiled'):
        rd.Dynamics(replace(MODEL, name='a third arm')).gravity_torque(Q)
    for k in range(30):
        target = shifted(0.001 * k) if k % 5 == 0 and law != 'gravity_only' else None
        loop.command(PERIOD * k, Q, STILL, target)
    loop.stop()
    for k in range(30, 60):
        loop.command(PERIOD * k, Q, STILL)
    assert not loop.fault


# -- construction -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('given', 'reason'),
    [
        ({'law': 'gravity'}, "law is 'gravity'; expected one of feedforward"),
        ({'law': 'computed_torque'}, "expected LoopSettings\\(feedback='loop'\\)"),
        ({'law': 'joint_impedance'}, "expected LoopSettings\\(feedback='loop'\\)"),
        ({'kp': [1.0, 2.0, 3.0]}, 'kp has 3 values'),
        ({'kp': -1.0}, 'kp is -1.0; it must be finite and not negative'),
        ({'kd': [1.0, NAN]}, 'it must be finite and not negative'),
        ({'kd': [1.0, 0.0], 'damping': None}, "kd of joint '[a-z0-9_]*' is 0, and damping"),
        ({'damping': -1.0}, 'damping is -1.0'),
        ({'damping': None, 'settings': OWN}, 'damping is missing'),
        ({'settings': LoopSettings(tolerance=-0.1)}, 'tolerance is -0.1'),
        ({'settings': LoopSettings(tolerance=[0.05, 0.3])}, "joint '[a-z0-9_]*' is 0.3; expected"),
        ({'settings': LoopSettings(input_timeout=0.0)}, 'input_timeout is 0.0 s; it must be pos'),
        ({'settings': LoopSettings(ramp_time=NAN)}, 'ramp_time is nan s'),
        ({'settings': LoopSettings(torque_limit_scale=1.5)}, 'must be in \\[0, 1\\]'),
        ({'settings': LoopSettings(reference_window=1e-3)}, 'expected 0.002 s or more, or 0'),
        ({'settings': LoopSettings(feedback='both')}, "feedback is 'both'"),
        ({'settings': LoopSettings(max_torque_rate=[1.0] * 3)}, 'max_torque_rate has shape'),
    ],
)
def test_settings_that_no_loop_can_have_are_rejected(given, reason):
    law = given.pop('law', 'feedforward')
    with pytest.raises((ValueError, rd.RobotDynamicsError), match=reason):
        rd.ControlLoop(ARM, law, **{'kp': KP, 'kd': KD, 'damping': DAMPING} | given)
