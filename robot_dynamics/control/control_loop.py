# SPDX-License-Identifier: Apache-2.0
"""Loop of control without ROS: a command to drives for every measured state.

    loop = ControlLoop(arm, kp=kp, kd=kd)
    while True:
        command = loop.command(t, q, qd, target)  # target: None between two targets

A drive in MIT mode closes its own loop, at its own rate, with

    tau = kp (q_d - q) + kd (qd_d - qd) + tau_ff

so that the command is q_d, qd_d, kp, kd and tau_ff. What the drive does at the measured state,
feedback included, is the torque of feedforward_node with the same gains: it passes the same soft
start and the same limits (control/control_cycle.py).

A state, a clock or a torque that is wrong ends in damping, and so does a target unless it is to be
left out: velocity 0, kp 0, tau 0, and `damping` as kd. The arm sinks slowly. `fault` then has the
reason, and every further command is the same, until `restart`: only the caller can know that the
cause is over.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.settings import checked
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.control_cycle import ControlCycle
from robot_dynamics.control.control_laws import LAWS, computed_torque, joint_impedance
from robot_dynamics.control.feedforward import EVERYTHING, Gains, Switches
from robot_dynamics.control.filters import VelocityFilter
from robot_dynamics.control.joint_reading import JointReading, JointStateReader, finite
from robot_dynamics.control.law_torque import LawSettings, LawTorque
from robot_dynamics.control.loop_settings import DAMP, DRIVE, LOOP, LoopSettings
from robot_dynamics.control.motions import NOT_FINITE
from robot_dynamics.control.reference_following import ReferenceFollower
from robot_dynamics.control.spline import Waypoint
from robot_dynamics.control.stream_following import SHORTEST_WINDOW, StreamSettings
from robot_dynamics.control.tolerances import Tolerances
from robot_dynamics.control.torque_limiting import TorqueGate, torque_limits
from robot_dynamics.control.trajectory import Reference, Trajectory
from robot_dynamics.control.transitions import at_rest, stopping_time
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import JointFriction, coulomb_friction
from robot_dynamics.core.model.joint_values import at_least_zero
from robot_dynamics.core.model.robot_model import RobotModel

FARTHEST_START = 4 * np.pi  # rad beyond a limit; encoders may be off by whole turns
REPEATED_CALLS = 10  # calls in a row with the same time, after which the clock counts as stopped


class LoopFaultError(RobotDynamicsError):
    """What a loop cannot go on with; it ends in damping."""


class Command(NamedTuple):
    """What the drives get, (n,) each: tau_d = kp (q - q_m) + kd (qd - qd_m) + tau."""

    q: Array  # rad or m
    qd: Array  # rad/s or m/s
    kp: Array  # N m/rad or N/m
    kd: Array  # N m s/rad or N s/m
    tau: Array  # N m or N


class Measured(NamedTuple):
    """A measured state as a message of joint states."""

    name: list[str]
    position: list[float]
    velocity: list[float]
    effort: tuple[float, ...] = ()


STANDARD = LoopSettings()


class ControlLoop:
    """Commands to the drives of one robot.

    Attributes:
        fault: why the drives are damped, or ''.
        rejected: why the last target was left out, or ''.
        event: why the last state has ended a motion, or ''.
        counts: how often a limit was active, and how many targets were left out.
    """

    def __init__(
        self,
        arm: Dynamics,
        law: str = 'feedforward',
        kp: ArrayLike = 0.0,
        kd: ArrayLike = 0.0,
        *,
        damping: ArrayLike | None = None,
        switches: Switches = EVERYTHING,
        friction: JointFriction | None = None,
        settings: LoopSettings = STANDARD,
    ):
        """Begin without a state.

        Args:
            arm: the robot with its payload.
            law: a name of control.LAWS.
            kp: feedback on positions, (n,) or one number, N m/rad or N/m; 1/s^2 of
                computed_torque.
            kd: feedback on velocities, likewise, N m s/rad or N s/m; 1/s of computed_torque,
                damping ratios of joint_impedance.
            damping: kd of the drives after a fault, likewise; `kd` if None.
            switches: parts of the dynamics that tau has.
            friction: of the joints; that of the model if None.
            settings: limits and times.

        Raises:
            ValueError: there is no such law, the drives cannot have its feedback, or no damping.
            ModelError, ShapeError: a number is out of range or of another size than n, or the
                robot cannot have the law.
        """
        model = arm.model
        names, n = model.joint_names, model.n
        self._arm, self._values = arm, checked(settings, n)
        kp, kd = (at_least_zero(*item, names) for item in (('kp', kp), ('kd', kd)))
        self._gains = Gains(kp, kd)
        _check_tolerance(self._values.tolerance, self._values.start_tolerance, names)
        _check_window(self._values.reference_window)
        own = self._values.feedback == LOOP
        _check_law(law, own)
        self._damping = _damping(damping, None if own else kd, names)
        self.counts = Counter[str]()
        if friction is None:
            friction = coulomb_friction(model.viscous, model.coulomb)
        share, offset = self._values.lead_friction, self._values.effort_offset
        self._law = LawTorque(
            LawSettings(LAWS[law], self._gains, switches, offset, share), friction
        )
        self._joints, self._names = names, list(names)
        none = np.zeros(n)
        none.setflags(write=False)
        self._none = none
        # Gains of the drives, without a fault.
        self._kp = none if own or self._law.is_led else self._gains.kp
        self._kd = none if own else self._gains.kd
        self._tolerances = Tolerances(self._values.tolerance, none)
        self._reader = JointStateReader(model, self._values.input_timeout, VelocityFilter())
        self._compile()
        self.fault = ''
        self.restart()

    def _compile(self) -> None:
        """Compile what commands use: the first one would be late, and the second a fault."""
        rest = at_rest(self._none)
        self._law.torque(self._arm, JointReading(0, self._none, self._none, None), rest)
        stopping_time(self._arm, self._arm.model.effort_limit, rest)

    def restart(self) -> None:
        """Begin anew after a fault: hold the arm softly where its next state is."""
        values, model = self._values, self._arm.model
        limits = torque_limits(
            model,
            values.torque_limit_scale,
            values.max_torque_rate,
            values.max_torque_step,
            values.ramp_time,
        )
        self.follower = ReferenceFollower(
            model,
            values.start_tolerance,
            values.input_timeout,
            lambda start: stopping_time(self._arm, limits.effort, start),
            streams=StreamSettings(values.reference_window, values.reference_prediction),
        )
        self._reader.reset()
        self._cycle = ControlCycle(self.follower, self._law, TorqueGate(limits, self.counts))
        self._limits, self._was_damped = limits, bool(self.fault)
        self._stamp, self._standing = -1, 0  # of the last state, ns; calls with it
        self._q = self._none  # of the last state
        self._was_stopped = False  # since the last target that was followed
        self._trajectory: Trajectory | None = None  # target of the last call, which is followed
        self.fault = self.rejected = self.event = ''

    def stop(self) -> None:
        """End every motion: decelerate, then hold; a stream goes on after a pause alone."""
        self.follower.stop('stopped')
        self._was_stopped = True

    @property
    def doing(self) -> str:
        """Description of what the loop does."""
        return f'damped: {self.fault}' if self.fault else self.follower.doing

    def command(
        self,
        t: float,
        q: ArrayLike,
        qd: ArrayLike | None,
        target: ArrayLike | Waypoint | Trajectory | None = None,
    ) -> Command:
        """Return the command for a measured state; after a fault, that of damping.

        Args:
            t: time of the state, s, of a clock that goes on, such as time.monotonic().
            q: (n,) positions, rad or m.
            qd: (n,) velocities; None where they are not measured: they are estimated.
            target: the next of a stream: (n,) positions, or a Waypoint with velocities. A
                Trajectory is followed to its end, also if the next calls have the same one; it
                begins again after a call without it. None: no new one.
        """
        if not self.fault:
            try:
                return self._answer(self._state(t, q, qd), self._new(target))
            except RobotDynamicsError as error:
                self.fault = str(error)
        return Command(self._q.copy(), self._none, self._none, self._damping, self._none)

    # -- what comes in --------------------------------------------------------------------------

    def _state(self, t: float, q: ArrayLike, qd: ArrayLike | None) -> JointReading:
        """Return a measured state if its time and values are possible."""
        stamp = self._checked_time(t)
        velocity = [] if qd is None else self._finite('qd', qd).tolist()
        position = self._row('q', q)
        if self._stamp < 0:
            _check_unit(position, self._arm.model)
        message = Measured(self._names, position.tolist(), velocity)
        state = self._reader.read(message, stamp)
        assert state is not None  # all joints are in the message
        if state.restarted:
            raise LoopFaultError(
                f'the time went back from {self._stamp / SECOND:.6f} s to {t:.6f} s; expected '
                'later times'
            )
        self._stamp, self._q = stamp, state.q
        return state

    def _checked_time(self, t: float) -> int:
        """Return a time in ns, if it follows the one before it."""
        try:
            stamp = round(1.0 * t * SECOND)
        except (TypeError, ValueError, OverflowError):  # also of NaN and infinity
            stamp = -1
        if stamp < 0:
            raise LoopFaultError(f't is {t!r}; expected a finite time in s, not negative')
        timeout = self._values.input_timeout
        if self._stamp < 0:
            return stamp
        gap = (stamp - self._stamp) / SECOND
        if gap > timeout:
            raise LoopFaultError(
                f'there was no state for {gap:.6g} s; expected at most {timeout:g} s '
                '(input_timeout), with t in s'
            )
        self._standing = self._standing + 1 if gap == 0 else 0
        if self._standing >= REPEATED_CALLS:
            raise LoopFaultError(f't stands still at {t:.6f} s for {REPEATED_CALLS} calls')
        return stamp

    def _row(self, name: str, values: ArrayLike) -> Array:
        """Return (n,) numbers of a caller."""
        n = len(self._names)
        try:
            row = np.array(values, dtype=float)  # a copy: streams keep their targets
        except (TypeError, ValueError, OverflowError) as error:
            raise LoopFaultError(f'{name} is {values!r}; expected {n} numbers') from error
        if row.shape != (n,):
            raise LoopFaultError(f'{name} has shape {row.shape}; it must be ({n},)')
        return row

    def _finite(self, name: str, values: ArrayLike) -> Array:
        """Return (n,) finite numbers of a caller."""
        return finite(self._row(name, values), self._joints, name)

    def _new(
        self, target: ArrayLike | Waypoint | Trajectory | None
    ) -> ArrayLike | Waypoint | Trajectory | None:
        """Return a target; None for the trajectory of the call before, which goes on."""
        if target is not None and target is self._trajectory:
            return None
        self._trajectory = None
        return target

    def _follow(self, target: ArrayLike | Waypoint | Trajectory) -> None:
        """Follow a target, or leave it out."""
        try:
            if self._law.is_led:
                raise LoopFaultError('the law is gravity_only, with which the arm is led by hand')
            if isinstance(target, Trajectory):
                self.follower.follow(target, 0)
                self._trajectory = target
            else:
                q, qd = target[:2] if isinstance(target, Waypoint) else (target, None)
                qd = None if qd is None else self._finite('the velocity of the target', qd)
                self.follower.follow_reference(Waypoint(self._finite('the target', q), qd))
            self.rejected, self._was_stopped = '', False
        except RobotDynamicsError as error:
            if self._values.on_rejected_target == DAMP and not self._was_stopped:
                raise LoopFaultError(f'target rejected: {error}') from error
            self.rejected = str(error)
            self.counts['target rejected'] += 1

    # -- what goes out --------------------------------------------------------------------------

    def _answer(
        self, measured: JointReading, target: ArrayLike | Waypoint | Trajectory | None
    ) -> Command:
        """Return the command for a state; a target is followed from this state on."""
        begins = self.follower.present is None
        if self._was_damped and measured.qd is not None:
            # The arm may move: the soft start takes over from the torque of damping.
            damped = self._limits.clamped(-self._damping * measured.qd)
            self._was_damped = self._cycle.gate.begin_with(damped)
        if target is not None and not begins:
            self._follow(target)
        state = self.follower.nearest(measured)
        reference, self.event = self._cycle.reference(state)
        if self.event == NOT_FINITE:
            raise LoopFaultError(self.event)
        if target is not None and begins:
            self._follow(target)  # which begins at the arm
        if not self._law.is_led:
            off = self._tolerances.path_violation(reference, state, self._joints)
            if off:
                raise LoopFaultError(off)
        tau = self._law.torque(self._arm, state, reference)
        limited = self._cycle.limited(state.stamp, tau)
        if limited is None:
            raise LoopFaultError(f'the torque is {tau}, not finite')
        return self._commanded(measured, state, reference, limited)

    def _commanded(
        self, measured: JointReading, state: JointReading, reference: Reference, tau: Array
    ) -> Command:
        """Return the command with which the drives have a torque (n,) at the measured state.

        Args:
            measured: in the turns of the drives.
            state: in those of the reference.
            reference: for the state.
            tau: within the limits, with feedback.
        """
        q, qd, _ = reference
        if self._law.is_led:
            q, qd = measured.q.copy(), self._none
        elif state is not measured:
            q = q - (state.q - measured.q)
        if self._kd is not self._none:
            # tau = kp (q_d - q) + kd (qd_d - qd) + tau_ff
            tau = tau - self._law.feedback
            # A drive that is not where the state says would have all of it.
            most = self._arm.model.effort_limit
            tau = np.minimum(np.maximum(tau, -most), most)
        return Command(q, qd, self._kp, self._kd, tau)


def _check_law(law: str, own: bool) -> None:
    """Raise ValueError unless there is a law, whose feedback the loop or the drives can have."""
    if law not in LAWS:
        raise ValueError(f'law is {law!r}; expected one of {", ".join(LAWS)}')
    if not own and LAWS[law] in (computed_torque, joint_impedance):
        raise ValueError(
            f'law is {law!r}, whose feedback depends on the posture, and feedback is {DRIVE!r}; '
            f'expected LoopSettings(feedback={LOOP!r})'
        )


def _check_unit(q: Array, model: RobotModel) -> None:
    """Raise LoopFaultError if an arm begins at positions (n,) that are not in rad."""
    beyond = np.maximum(model.lower - q, q - model.upper)
    for j in np.flatnonzero(model.angular & (beyond > FARTHEST_START)):
        raise LoopFaultError(
            f'joint {model.joint_names[j]!r} begins at {q[j]:.4g} rad; its limits are '
            f'{model.lower[j]:.4g} to {model.upper[j]:.4g} rad: are the positions in degrees?'
        )


def _check_window(window: float) -> None:
    """Raise ValueError if streams cannot have a window [s]."""
    if 0 < window < SHORTEST_WINDOW:
        raise ValueError(
            f'reference_window is {window} s; expected {SHORTEST_WINDOW} s or more, or 0'
        )


def _check_tolerance(tolerance: Array, start: Array, names: tuple[str, ...]) -> None:
    """Raise ValueError if a joint would be placed anew before it is beyond its tolerance."""
    for name, own, most in zip(names, tolerance, start, strict=True):
        if own > most:
            raise ValueError(
                f'tolerance of joint {name!r} is {own:g}; expected at most start_tolerance, '
                f'{most:g}, beyond which a stream begins anew at the arm; 0 for no limit'
            )


def _damping(given: ArrayLike | None, kd: Array | None, names: tuple[str, ...]) -> Array:
    """Return kd (n,) of the drives after a fault; kd is that without one, None if it has none."""
    if given is not None:
        damping = at_least_zero('damping', given, names)
    elif kd is None:
        raise ValueError(
            f'damping is missing: with feedback {LOOP!r}, kd is not that of the drives; expected '
            'their kd after a fault, 0 for drives of torque alone'
        )
    elif not kd.all():
        name = names[int(np.argmin(kd))]
        raise ValueError(
            f'kd of joint {name!r} is 0, and damping is missing; expected kd of the drives after '
            'a fault'
        )
    else:
        damping = kd.copy()
    damping.setflags(write=False)
    return damping
