# SPDX-License-Identifier: Apache-2.0
"""Fixed-step simulation of one arm.

    simulator = Simulator(Dynamics(model))
    simulator.step(tau)
    simulator.time, simulator.q, simulator.qd, simulator.effort

The torque is clamped to the effort limits and held over the step. With `JointModels(servo=...)`
commands are positions. The same commands from the same state give the same bits: time is a count
of steps, and nothing depends on a clock.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import ModelError, ShapeError
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms.simulation_step import State
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.friction_settings import FrictionSettings
from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.core.rollout import check_friction, checked_time_step
from robot_dynamics.simulation.argument_checks import finite_vector, finite_wrench, protect
from robot_dynamics.simulation.converged import inverse
from robot_dynamics.simulation.environment import Environment, PointContacts, touching_step
from robot_dynamics.simulation.errors import SimulationDiverged
from robot_dynamics.simulation.joint_models.actuators import DriveState, drives_of, stored_torques
from robot_dynamics.simulation.joint_models.friction_step import Sliding
from robot_dynamics.simulation.joint_models.selection import JointModels
from robot_dynamics.simulation.joint_models.servo import (
    Commanded,
    ServoCommand,
    Servos,
    damped,
    servos_of,
    with_damping,
)
from robot_dynamics.simulation.payloads import attached, dropped, loaded
from robot_dynamics.simulation.prescribed_base_motion import PrescribedBaseMotion
from robot_dynamics.simulation.steps.body import Body, Energy
from robot_dynamics.simulation.steps.elastic_arm import ElasticArm
from robot_dynamics.simulation.steps.energy_watch import Balance
from robot_dynamics.simulation.steps.held_base import HeldBase, MovingBase
from robot_dynamics.simulation.steps.integrators import checked_integrator
from robot_dynamics.simulation.steps.motion import BodyMotion
from robot_dynamics.simulation.steps.rigid_arm import RigidArm

# Above this energy [J] a step may overflow, which raises SimulationDiverged; NumPy's warnings are
# switched off there only, because switching takes a tenth of the time of a step.
OVERFLOWING = 1e10
# Steps of a ramp of the base, and of a period: a motion that is held over a step has within 10 %
# the change of velocity of a ramp of any start.
FEWEST_STEPS = 5


@dataclass(frozen=True)
class Snapshot:
    """Complete state of a simulator, besides the arguments of its constructor."""

    y: Array  # (n,) positions, or (2n,) of links and motors, rad or m
    yd: Array
    effort: Array  # (n,) N m or N
    steps: int  # since the last reset
    drives: DriveState | None
    sliding: Sliding | None
    contact_forces: Array  # (m, 3) N
    payloads: Mapping[str, Inertial]
    balance: Balance
    base_steps: int
    commanded: Commanded = ()  # delayed commands of servos


class _Step(NamedTuple):
    """A step that a simulator may make."""

    state: State
    force: Array  # (m,) of drives and outside, held
    total: Array  # (m,) the same, and of the environment
    contact: Array  # (m, 3) N, on touch points
    effort: Array  # (n,) N m or N
    drives: DriveState | None


class Simulator:
    """State of a simulated arm.

    The arrays are read-only; each step creates new ones.

    Attributes:
        arm: its dynamics, with the present payloads; with the viscous friction alone of a friction
            law, and with the damping of servos.
        effort: (n,) torques of the drives in the last step, after clamping, as they report them:
            without gain error and ripple, with the damping of servos.
        contact_forces: (m, 3) N, mean forces of the environment on its touch points over the last
            step, in the axes of the base link.
        steps: number of steps taken since the last reset.
        base_steps: number of steps since the motion of the base began. It may be set, where the
            base has moved on while the arm was held.
        payloads: attached payloads by link.
    """

    def __init__(
        self,
        arm: Dynamics,
        *,
        q: ArrayLike | None = None,
        qd: ArrayLike | None = None,
        time_step: float = 1e-3,
        integrator: str = 'rk4',
        friction: str = 'model',
        joint_models: JointModels = JointModels(),  # noqa: B008  (frozen)
        payload_links: Sequence[str] = (),
        wrench_frames: Sequence[str] = (),
        environment: Environment | None = None,
        base_motion: MovingBase | None = None,
    ):
        """Start at (q, qd), by default at rest at q = 0.

        Args:
            arm: the robot.
            q: (n,) positions to start from.
            qd: (n,) velocities to start with.
            time_step: s.
            integrator: one of `INTEGRATORS`.
            friction: 'model': coefficients of the model, law of `joint_models.friction`; 'none':
                no friction.
            joint_models: friction, stops, elasticity, actuators and servos.
            payload_links: links for `attach`, whose programs are compiled now; at another link the
                first payload waits for the compiler.
            wrench_frames: frames of external wrenches, likewise.
            environment: bodies that the arm touches, fixed to the base; None: none.
            base_motion: of the base, such as a `PrescribedBaseMotion`, held over each step at that
                of its middle; None: the base is fixed. Wrenches of the environment are then in the
                axes of the base, and energies those of the motion relative to it.

        Raises:
            ShapeError: q or qd does not have n entries.
            NotFinite: q or qd is not finite.
            ModelError: a joint moves no inertia; a joint model has an invalid value; a payload
                link is fixed to the base; payload links, or an integrator that keeps an energy, on
                a moving base; a prescribed motion that changes within fewer than 5 steps.
            FrameNotFound: a link or frame does not exist.
            ValueError: the time step is not positive, or integrator or friction unknown.
        """
        check_friction(friction)
        self._time_step = checked_time_step(time_step)
        self._integrator = checked_integrator(integrator)
        self._servos = servos_of(arm.model, joint_models.servo, time_step, integrator)
        arm, self._unmoved = _with_friction(arm, friction, joint_models, self._servos)
        self._base = _held(base_motion, arm, integrator, payload_links)
        _reject_fast(base_motion, time_step)
        self._joint_models = joint_models
        self._n = arm.model.n
        self._payload_links = tuple(payload_links)
        body = _body(arm, joint_models, self._base)
        self._unloaded = BodyMotion(body, integrator, time_step, joint_models)
        self._drives = drives_of(arm.model, joint_models.actuators, time_step)
        self._limit = arm.model.effort_limit
        # Joint torques of a wrench do not depend on payloads.
        self._wrench_torque = functools.cache(
            lambda frame: arm.frame_program('wrench_torque', frame).call
        )
        for frame in wrench_frames:
            self._wrench_torque(frame)
        self._contacts = None if environment is None else PointContacts(arm, environment)
        points = () if environment is None else environment.touch_points
        self._no_forces = np.zeros((len(points), 3))
        self._carry({})
        self.reset(q, qd)
        self._warm_up()

    def _warm_up(self) -> None:
        """Compile all programs that a step may use."""
        with np.errstate(all='ignore'):
            self._moving(self._sliding, self.effort).warm_up(self._y)
            if self._contacts is not None or self._servos is not None:
                self.body.mass_matrix(self._y)
            if self._contacts is not None:
                self._contacts.jacobian(self.q)

    @property
    def time_step(self) -> float:
        """The time step, s."""
        return self._time_step

    @property
    def integrator(self) -> str:
        """One of `INTEGRATORS`."""
        return self._integrator

    @property
    def joint_models(self) -> JointModels:
        """Friction, stops, elasticity, actuators and servos."""
        return self._joint_models

    @property
    def has_environment(self) -> bool:
        """Whether the arm can touch bodies."""
        return self._contacts is not None

    @property
    def base(self) -> HeldBase | None:
        """The motion of the base; None if it is fixed."""
        return self._base

    @property
    def arm(self) -> Dynamics:
        """The dynamics of the robot with its present payloads."""
        return self._motion.body.arm

    @property
    def body(self) -> Body:
        """Links, and motors if joints are elastic."""
        return self._motion.body

    @property
    def q(self) -> Array:
        """Positions of the links (n,), rad or m."""
        q: Array = self._y[: self._n]
        return q

    @property
    def qd(self) -> Array:
        """Velocities of the links (n,)."""
        qd: Array = self._yd[: self._n]
        return qd

    @property
    def motor_q(self) -> Array:
        """Positions of the motors (n,), seen at the joints: those of the links if rigid."""
        q: Array = self._y[-self._n :]
        return q

    @property
    def motor_qd(self) -> Array:
        """Velocities of the motors (n,), seen at the joints."""
        qd: Array = self._yd[-self._n :]
        return qd

    @property
    def time(self) -> float:
        """Simulated time since the last reset, s."""
        return self.steps * self.time_step

    def reset(
        self, q: ArrayLike | None = None, qd: ArrayLike | None = None, *, base_steps: int = 0
    ) -> None:
        """Put the arm at (q, qd), zero where omitted, and time to zero; payloads stay.

        The motion of the base is at its beginning, or after `base_steps` steps.
        """
        still = np.zeros(self.arm.model.n)
        q = self._vector('q', still if q is None else q)
        qd = self._vector('qd', still if qd is None else qd)
        if self._base is not None:
            self._base.hold(base_steps * self._time_step)
        self.base_steps = base_steps
        self._y, self._yd = self._motion.body.start(q, qd)
        self.effort: Array = still
        self.contact_forces = self._no_forces
        self.steps = 0
        protect(self._y, self._yd, self.effort, self.contact_forces)
        self._drive_state = None if self._drives is None else self._drives.rest()
        self._commanded = () if self._servos is None else self._servos.rest(self.motor_q)
        self._sliding = self._unmoved
        self._balance = Balance.start(*self._energy())

    # -- stepping ---------------------------------------------------------------------------

    def step(
        self,
        command: ArrayLike | ServoCommand,
        *,
        external: ArrayLike | None = None,
        wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        """Advance by one time step.

        Args:
            command: (n,) commanded torques of the drives [N m or N], clamped to their limits. With
                servos (n,) positions [rad or m], or a `ServoCommand`; at reset the servos hold
                the position.
            external: (n,) other joint torques; not clamped.
            wrenches: (6,) by frame, of the environment on the arm: moment [N m] and force [N],
                world-aligned at the frame's origin. J(q)^T F is held over the step.

        Raises:
            ShapeError: an argument does not have n (or 6) entries.
            FrameNotFound: a wrench on a frame that does not exist.
            NotFinite: an argument is not finite. The state is left as it was.
            SimulationDiverged: the new state is not finite, or has unaccounted energy.
                The state is left as it was.
        """
        if abs(self._balance.energy) < OVERFLOWING:
            self._advance(command, external, wrenches)
        else:
            with np.errstate(all='ignore'):
                self._advance(command, external, wrenches)

    def _advance(
        self,
        command: ArrayLike | ServoCommand,
        external: ArrayLike | None,
        wrenches: Mapping[str, ArrayLike] | None,
    ) -> None:
        given, commanded = self._checked(command), self._commanded
        if self._base is not None:
            self._base.hold((self.base_steps + 0.5) * self._time_step)
        outside = self._outside(external, wrenches) if external is not None or wrenches else None
        if isinstance(given, ServoCommand):
            step, commanded = self._servo_step(given, outside)
        else:
            step = self._driven(given, outside)
        (y, yd), force, effort, forces = step.state, step.force, step.effort, step.contact
        body, sliding = self._motion.body, self._sliding
        if sliding is not None:
            sliding = sliding.after(step.total, y - self._y, yd)
        # Springs of the environment are part of the energy, not of the work.
        energy, work = self._energy_of(y, yd), float(force @ (y - self._y))
        if self._base is not None:
            work += body.weight_work(self._y, y)
        balance = self._balance.after(energy.kinetic, energy.gravity, work, energy.springs)
        # A value that is not finite makes this sum not finite; 0 times inf is NaN.
        if balance.explodes or not math.isfinite(balance.energy + float(y @ yd)):
            raise self._divergence(y, yd, balance)
        protect(y, yd, effort, forces)
        self._y, self._yd = y, yd
        self.effort, self._balance, self.contact_forces = effort, balance, forces
        self._drive_state, self._sliding = step.drives, sliding
        self._commanded = commanded
        self.steps += 1
        self.base_steps += 1

    def _checked(self, command: ArrayLike | ServoCommand) -> Array | ServoCommand:
        """Return a finite command of these drives. Raises ShapeError, NotFinite, ModelError."""
        if self._servos is None:
            if isinstance(command, ServoCommand):
                raise ModelError(
                    'the command is one of position servos, and the drives take torques; expected '
                    '(n,) torques, or joint_models with a servo'
                )
            return self._vector('tau', command)
        given = command if isinstance(command, ServoCommand) else ServoCommand(command)
        qd, feedforward = (
            None if value is None else self._vector(f'{name} command', value)
            for name, value in zip(('velocity', 'torque'), given[1:], strict=True)
        )
        return ServoCommand(self._vector('position command', given.q), qd, feedforward)

    def _driven(self, command: Array, outside: Array | None) -> _Step:
        """Return the step under commanded torques (n,) and those of the environment."""
        drive_state = self._drive_state
        if self._drives is None or drive_state is None:
            effort = torque = np.minimum(np.maximum(command, -self._limit), self._limit)
        else:
            effort, drive_state = self._drives.apply(drive_state, command, self.motor_qd)
            # Held from the start of the step, ripple would lag by half a step: a negative damping.
            middle = self.motor_q + self._time_step / 2 * self.motor_qd
            torque = self._drives.on_joints(effort, middle)
        force = self._motion.body.force(torque, outside)
        state, total, forces = self._stepped(self._sliding, force)
        return _Step(state, force, total, forces, effort, drive_state)

    def _servo_step(self, command: ServoCommand, outside: Array | None) -> tuple[_Step, Commanded]:
        """Return the step under the torques of servos, and their commands after it."""
        servos, n = self._servos, self._n
        assert servos is not None  # of `_checked`
        target, commanded = servos.held(self._commanded, command)

        def driven(tau: Array) -> tuple[_Step, Array]:
            step = self._driven(tau, outside)
            return step, step.state.qd[-n:]

        mobility = inverse(self._motion.body.mass_matrix(self._y))[-n:, -n:]
        step = servos.settled(target, self.motor_q, self.motor_qd, mobility, driven)
        # tau - kd qd
        rate = (step.state.q[-n:] - self.motor_q) / self._time_step
        return step._replace(effort=step.effort - servos.kd * rate), commanded

    def _stepped(self, sliding: Sliding | None, force: Array) -> tuple[State, Array, Array]:
        """Return the state after a step, all forces (m,) in it, and those on touch points."""
        y, yd, n = self._y, self._yd, self._n
        if self._contacts is None:
            return self._moving(sliding, force).step(y, yd, force), force, self._no_forces

        def with_contact(torque: Array) -> Array:
            total = force.copy()
            total[:n] += torque
            return total

        def step(torque: Array) -> State:
            total = with_contact(torque)
            return self._moving(sliding, total).step(y, yd, total)

        def mobility() -> Array:
            return inverse(self._motion.body.mass_matrix(y))[:n, :n]

        links = State(y[:n], yd[:n])
        touching = touching_step(
            self._contacts, links, self.contact_forces, mobility, step, self._time_step
        )
        return touching.state, with_contact(touching.torque), touching.forces

    def _moving(self, sliding: Sliding | None, force: Array) -> BodyMotion:
        """Return the steps under the present dry friction."""
        if sliding is None:
            return self._motion
        return self._motion.rubbing(sliding.dry(self._yd, force))

    def _outside(
        self, external: ArrayLike | None, wrenches: Mapping[str, ArrayLike] | None
    ) -> Array:
        """Return the joint torques (n,) of the environment."""
        total = np.zeros(len(self.q)) if external is None else self._vector('external', external)
        for frame, wrench in (wrenches or {}).items():
            # tau = J^T F
            F = finite_wrench(frame, wrench)
            total = total + self._wrench_torque(frame)(self.q, F)
        return total

    def _divergence(self, y: Array, yd: Array, balance: Balance) -> SimulationDiverged:
        """Return the error with joint, time and cause."""
        n = self._n
        name, value = ('velocity', yd) if np.isfinite(y).all() else ('position', y)
        # NaN counts as the largest.
        j = int(np.argmax(np.abs(value)))
        why = f', with {balance.created:.3g} J more than the work done'
        return SimulationDiverged(
            f'{name} of {"motor" if j >= n else "joint"} {self.arm.model.joint_names[j % n]!r} '
            f'became {value[j]:.6g} at t = {self.time:.6g} s, from {self._yd[j]:.3g} per second a '
            f'step earlier{why if balance.explodes else ""}: a step of {self.time_step:g} s is '
            'too long for such a motion'
        )

    # -- energy -----------------------------------------------------------------------------

    def kinetic_energy(self) -> float:
        """Return the kinetic energy of links, rotors and payloads, relative to the base, J."""
        return self._energy().kinetic

    def potential_energy(self) -> float:
        """Return the potential energy of gravity, zero at the base's origin, and of springs, J.

        On a moving base it is that of springs: weight and inertial forces have none.
        """
        return self._energy().potential

    def _energy(self) -> Energy:
        with np.errstate(all='ignore'):
            return self._energy_of(self._y, self._yd)

    def _energy_of(self, y: Array, yd: Array) -> Energy:
        energy = self._motion.energy(y, yd)
        if self._contacts is None:
            return energy
        return energy._replace(springs=energy.springs + self._contacts.energy(y[: self._n]))

    # -- payloads ---------------------------------------------------------------------------

    def attach(
        self,
        link: str,
        mass: float,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
    ) -> float:
        """Attach a payload to a link that may move; return the energy [J] that it adds.

        Positions and velocities are continuous: the payload has the link's velocity when it is
        attached, and adds its kinetic and potential energy and its momentum. Grasping a body at
        rest with an arm in motion is an impact, and not modelled here.

        Raises:
            FrameNotFound: the link does not exist.
            ModelError: physically inconsistent mass or inertia, a link that is fixed to the base,
                or one that carries a payload already; the base moves.
        """
        if self._base is not None:
            _reject_on_moving_base(self._integrator, (link,))
        return self._change_loads(attached(self.payloads, link, mass, com, inertia))

    def drop(self, link: str) -> float:
        """Remove the payload of a link; return the energy [J] that it takes away, negative.

        Positions and velocities of the arm are continuous; the payload keeps its momentum.

        Raises:
            ModelError: the link carries no payload.
        """
        return self._change_loads(dropped(self.payloads, link))

    def _change_loads(self, payloads: Mapping[str, Inertial]) -> float:
        before = sum(self._energy())
        self._carry(payloads)
        after = self._energy()
        self._balance = Balance.start(*after)
        return sum(after) - before

    def _carry(self, payloads: Mapping[str, Inertial]) -> None:
        self._motion = self._unloaded.carrying(
            lambda arm: loaded(arm, payloads, self._payload_links)
        )
        self.payloads: Mapping[str, Inertial] = payloads

    # -- snapshots --------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Return the complete state: from it, the same commands give the same bits."""
        return Snapshot(
            self._y,
            self._yd,
            self.effort,
            self.steps,
            self._drive_state,
            self._sliding,
            self.contact_forces,
            self.payloads,
            self._balance,
            self.base_steps,
            self._commanded,
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a snapshot of this simulator, or of one with the same arguments.

        Raises:
            ShapeError: the snapshot is of another robot, other actuators or another environment.
        """
        if snapshot.y.shape != self._y.shape:
            raise ShapeError(
                f'the snapshot has {len(snapshot.y)} coordinates, this simulator {len(self._y)}'
            )
        wanted, stored = stored_torques(self._drive_state), stored_torques(snapshot.drives)
        if stored != wanted:
            raise ShapeError(
                f'drives of the snapshot store {stored} torques, those of this simulator {wanted}'
            )
        if len(snapshot.commanded) != len(self._commanded):
            raise ShapeError(
                f'servos of the snapshot store {len(snapshot.commanded)} commands, those of this '
                f'simulator {len(self._commanded)}'
            )
        points, wanted_points = len(snapshot.contact_forces), len(self._no_forces)
        if points != wanted_points:
            raise ShapeError(
                f'the snapshot has {points} touch points, this simulator {wanted_points}'
            )
        if snapshot.payloads is not self.payloads:
            self._carry(snapshot.payloads)
        protect(snapshot.y, snapshot.yd, snapshot.effort)
        self._y, self._yd = snapshot.y, snapshot.yd
        self.effort, self.steps = snapshot.effort, snapshot.steps
        self.base_steps = snapshot.base_steps
        self._drive_state, self._balance = snapshot.drives, snapshot.balance
        self._sliding, self.contact_forces = snapshot.sliding, snapshot.contact_forces
        self._commanded = snapshot.commanded

    def _vector(self, name: str, value: ArrayLike) -> Array:
        return finite_vector(self._unloaded.body.arm.model, name, value)


def _with_friction(
    arm: Dynamics, friction: str, joint_models: JointModels, servos: Servos | None
) -> tuple[Dynamics, Sliding | None]:
    """Return the arm to compile steps of, and the dry friction that a law has apart from them."""
    if friction == 'none':
        return with_damping(arm.without_friction(), servos), None
    if not isinstance(joint_models.friction, FrictionSettings):
        return with_damping(arm, servos), None
    law, still = damped(joint_models.friction.of(arm.model), servos), np.zeros(arm.model.n)
    viscous_alone = Dynamics(
        arm.model.with_actuation(viscous=law.coefficients['viscous'], coulomb=0.0),
        snap=arm.programs.snap,
        backend=arm.programs.backend,
    )
    return viscous_alone, Sliding(law, still, still)


def _body(arm: Dynamics, joint_models: JointModels, base: HeldBase | None) -> Body:
    return (
        RigidArm(arm, base)
        if joint_models.elasticity is None
        else ElasticArm(arm, joint_models.elasticity, base)
    )


def _held(
    base: MovingBase | None, arm: Dynamics, integrator: str, payload_links: Sequence[str]
) -> HeldBase | None:
    """Return the held base of an arm, None if it is fixed. Raises as `_reject_on_moving_base`."""
    if base is None:
        return None
    _reject_on_moving_base(integrator, payload_links)
    return HeldBase(base, arm.model.gravity)


def _reject_fast(base: MovingBase | None, time_step: float) -> None:
    """Raise ModelError for a motion of the base that changes within few steps."""
    if not isinstance(base, PrescribedBaseMotion):
        return
    # As a rounding error allows
    if base.shortest < FEWEST_STEPS * time_step * (1 - 1e-9):
        raise ModelError(
            f'base_motion has a ramp or a period of {base.shortest:.3g} s, and the time step is '
            f'{time_step:g} s; expected at least {FEWEST_STEPS} steps in each, as the motion is '
            'held over a step'
        )


def _reject_on_moving_base(integrator: str, payload_links: Sequence[str]) -> None:
    """Raise ModelError for what needs a fixed base."""
    if integrator == 'discrete_gradient':
        raise ModelError(
            "integrator is 'discrete_gradient', which keeps an energy that a moving base does not "
            "have; expected another one, such as 'implicit_midpoint'"
        )
    if payload_links:
        raise ModelError(
            f'payload on {payload_links[0]!r}: payloads that change in a simulation need a fixed '
            'base, and base_motion is given; expected a constant one, by Dynamics.with_payload'
        )
