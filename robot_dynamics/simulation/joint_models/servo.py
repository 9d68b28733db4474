# SPDX-License-Identifier: Apache-2.0
"""Position servos: drives with stiffness, damping, delayed commands and a torque limit.

    tau = clip(kp (u - q) + kd w + t, tau_max) - kd qd

u, w and t are position, velocity and feed-forward torque of the command, each at its mean over the
step of what was commanded a delay earlier. A command is held until the next one, so that the mean
is linear in the delay between whole steps. Damping is outside of the limit: friction and back-EMF
brake a saturated motor as well, and one coefficient describes them.

The position is that of the middle of the step. With this, a servo of a linear joint is stepped by
the implicit midpoint rule: it is stable for any stiffness, and its oscillation keeps its amplitude
but for kd and friction. For the velocities v and v' at the ends of a step h of an integrator, the
position in its middle is

    q + h/4 (v' - v) + lead h v.

lead is 1/2, but 0 for semi-implicit Euler and 1 for explicit Euler, whose positions are half a
step late and early.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.settings import EFFORT, GAIN, checked, joint_setting
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.simulation.errors import SimulationDiverged

LEAD = {'semi_implicit_euler': 0.0, 'explicit_euler': 1.0}
ROUNDS, SWEEPS = 60, 100
OBSERVE = 4  # rounds: each such one assumes that friction holds joints as in the last two
SETTLED = 1e-9  # error of the torque of a step, as a share of kp |u| + kp |q|, or of it
EXACT = 12  # rounds
ACCEPTED = 1e-5  # the same after them: steps of joints that stick are not continuous in the torque
WHOLE = 1e-9  # steps: a delay so close to whole steps is one

Moved = TypeVar('Moved')


@dataclass(frozen=True)
class Servo:
    """Position servos; one number for all joints, or one each."""

    kp: ArrayLike = joint_setting(
        0.0,
        'Stiffness of position servos',
        'N m/rad or N/m',
        GAIN,
        positive=True,
        required=True,
        zero='drives take efforts',
    )
    kd: ArrayLike = joint_setting(
        0.0,
        'Damping of position servos, outside of their torque limit',
        'N m s/rad or N s/m',
        GAIN,
    )
    delay: ArrayLike = joint_setting(0.0, 'Delay of the commands of servos', 's', (0.0, 1.0))
    torque_limit: ArrayLike = joint_setting(
        np.inf,
        'Torque limit of position servos, where below the effort limit',
        'N m or N',
        EFFORT,
    )


class ServoCommand(NamedTuple):
    """Command of position servos; (n,) each."""

    q: ArrayLike  # rad or m
    qd: ArrayLike | None = None  # rad/s or m/s; None: 0
    feedforward: ArrayLike | None = None  # N m or N; None: 0

    def copied(self) -> ServoCommand:
        """Return the same command in arrays of its own."""
        return ServoCommand(
            np.array(self.q),
            None if self.qd is None else np.array(self.qd),
            None if self.feedforward is None else np.array(self.feedforward),
        )


# Torques (..., n) that servos at q = 0 would exert, of the last commands; the oldest first.
Commanded = tuple[Array, ...]


class Servos:
    """The servos of one robot, or of a batch of such robots, stepped at one rate.

    Attributes:
        kp: (n,) N m/rad or N/m.
        kd: (n,) N m s/rad or N s/m.
        limit: (n,) N m or N, also that of the model.
    """

    def __init__(self, model: RobotModel, servo: Servo, time_step: float, integrator: str):
        """Check the properties.

        Raises:
            ModelError: a property is out of range, or neither a number nor (n,).
        """
        given = checked(servo, model.n)
        self.kp, self.kd = given.kp, given.kd
        self.limit = np.minimum(given.torque_limit, model.effort_limit)
        self._h, self._lead = time_step, LEAD.get(integrator, 0.5)
        steps = given.delay / time_step
        whole = np.floor(steps + WHOLE)
        share = np.maximum(steps - whole, 0.0)
        # Mean over the step: a delay of k + s steps has the share s of the command before.
        ages = {int(k) for k in (*whole, *(whole + 1))}
        weights = {
            k: np.where(whole == k, 1 - share, np.where(whole + 1 == k, share, 0.0)) for k in ages
        }
        self._weights = [(k, weight) for k, weight in sorted(weights.items()) if weight.any()]
        self._stored = int(whole.max()) + 1

    def rest(self, q: Array) -> Commanded:
        """Return the commands before the first one: these positions (..., n)."""
        return (self.kp * q,) * self._stored

    def held(self, before: Commanded, command: ServoCommand) -> tuple[Array, Commanded]:
        """Return kp u + kd w + t (..., n) of the next step, and the commands after it.

        Args:
            before: the commands before.
            command: held from the beginning of the step.
        """
        target = self.kp * np.asarray(command.q)
        if command.qd is not None:
            target = target + self.kd * np.asarray(command.qd)
        if command.feedforward is not None:
            target = target + np.asarray(command.feedforward)
        queue = (*before, np.broadcast_to(target, before[0].shape))
        mean = sum(weight * queue[-1 - k] for k, weight in self._weights)
        return np.asarray(mean), queue[1:]

    def all_held(self, before: Commanded, positions: Array, steps: int) -> tuple[Array, Commanded]:
        """Return kp u (..., steps, n) of several steps, and the commands after them.

        Args:
            before: the commands before.
            positions: (..., steps, n) commands, or (..., 1, n) for all steps.
            steps: number of steps.
        """
        targets, last = [], positions.shape[-2] - 1
        for k in range(steps):
            target, before = self.held(before, ServoCommand(positions[..., min(k, last), :]))
            targets.append(target)
        return np.stack(targets, axis=-2), before

    def settled(
        self,
        target: Array,
        q: Array,
        v: Array,
        mobility: Array,
        step: Callable[[Array], tuple[Moved, Array]],
    ) -> Moved:
        """Return a step under the torque of the servos at the position in its middle.

        Args:
            target: (n,) kp u + kd w + t.
            q: (n,) positions at its start.
            v: (n,) velocities at its start.
            mobility: (n, n) M^-1 of the motors.
            step: returns the step under torques (n,) held over it, and the velocities (n,) at its
                end.

        Raises:
            SimulationDiverged: no such torque was found.
        """
        tau = self._clipped(target - self.kp * (q + self._lead * self._h * v))
        size = float((np.abs(target) + self.kp * np.abs(q)).max())
        # - d raw/d tau = h^2/4 kp M^-1 of any integrator, less where friction holds a joint
        slope, last = self._h**2 / 4 * self.kp[:, None] * mobility, None
        for count in range(ROUNDS):
            moved, after = step(tau)
            raw = target - self.kp * (q + self._h * ((after - v) / 4 + self._lead * v))
            residual = tau - self._clipped(raw)
            error, size = np.abs(residual).max(), max(size, float(np.abs(tau).max()))
            # A state that is not finite is left to the checks of the simulator.
            if not error > (SETTLED if count < EXACT else ACCEPTED) * size:
                return moved
            used = slope
            if last is not None and count % OBSERVE == 0:
                used = _observed(slope, tau - last[0], last[1] - raw)
            last = tau, raw
            tau = self._balanced(raw, used, tau, SETTLED * size / 10)
        raise SimulationDiverged(
            f'the torques of servos in a step of {self._h:g} s were not found; '
            f'they change by {error:.3g} N m or N: it is too long for kp '
            f'{self.kp.tolist()} with this friction'
        )

    def _balanced(self, raw: Array, slope: Array, tau: Array, allowed: float) -> Array:
        """Return x (n,) with x = clip(raw - slope (x - tau)), by projected Gauss-Seidel."""
        free = np.linalg.solve(np.eye(len(tau)) + slope, raw + slope @ tau)
        if (np.abs(free) <= self.limit).all():
            return np.asarray(free)
        x, own = tau.copy(), slope.diagonal()
        for _ in range(SWEEPS):
            before = x.copy()
            for j in range(len(x)):
                alone = raw[j] - slope[j] @ (x - tau) + own[j] * x[j]
                x[j] = min(max(alone / (1 + own[j]), -self.limit[j]), self.limit[j])
            if not np.abs(x - before).max() > allowed:
                break
        return x

    def _clipped(self, tau: Array) -> Array:
        return np.asarray(np.minimum(np.maximum(tau, -self.limit), self.limit))


def _observed(slope: Array, change: Array, fall: Array) -> Array:
    """Return the slope (n, n), its rows reduced where raw fell less for a change of torque."""
    expected = slope @ change
    known = np.abs(expected) > 0
    share = np.divide(fall, expected, out=np.ones(len(fall)), where=known)
    return np.asarray(np.clip(share, 0.0, 1.0)[:, None] * slope)


def servos_of(
    model: RobotModel, servo: Servo | None, time_step: float, integrator: str
) -> Servos | None:
    """Return the servos of a robot, None without. Raises ModelError."""
    return None if servo is None else Servos(model, servo, time_step, integrator)


def with_damping(arm: Dynamics, servos: Servos | None) -> Dynamics:
    """Return an arm whose viscous friction has the damping of the servos, too."""
    if servos is None or not servos.kd.any():
        return arm
    model = arm.model.with_actuation(viscous=arm.model.viscous + servos.kd)
    return Dynamics(model, snap=arm.programs.snap, backend=arm.programs.backend)


def damped(law: JointFriction, servos: Servos | None) -> JointFriction:
    """Return a law of friction with the damping of the servos."""
    if servos is None:
        return law
    viscous = law.coefficients.get('viscous', 0.0) + servos.kd
    return replace(law, coefficients={**law.coefficients, 'viscous': viscous})
