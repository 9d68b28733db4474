# SPDX-License-Identifier: Apache-2.0
"""Estimate of external torques along a stream of joint states, by the momentum observer.

The equations are in `core.algorithms.momentum_observer`; this file keeps their state, and begins
anew where the stream is interrupted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.settings import TIME, checked, joint_setting, setting
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms.momentum import Momentum
from robot_dynamics.core.algorithms.momentum_observer import (
    BankState,
    ObservedFriction,
    ObserverState,
    observe,
    through_bank,
)
from robot_dynamics.core.compiled_robot import CompiledRobot
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.core.programs import Robot

POLES = (0.1, 1e5)  # 1/s
LONGEST_LEAD = 0.1  # s, of efforts before velocities, or after the motion
FORGOTTEN = np.exp(-3.0)  # part of an unknown direction of friction that does not matter


@dataclass(frozen=True)
class ObserverSettings:
    """Settings of a momentum observer."""

    poles: float = setting(
        150.0, 'Rate of both poles of the torque by which contact is found', '1/s', POLES
    )
    poles_along_momentum: float = setting(
        150.0,
        'Rate of the poles of its part along the momentum, where errors of time stamps are, and '
        'of the published external torque; lower than poles (100 behind 200 1/s) where stamps '
        'jitter',
        '1/s',
        POLES,
    )
    effort_lead: float = setting(
        0.0,
        'Time by which measured efforts are earlier than positions and velocities, such as a '
        'velocity filter makes them: 1 / (2 pi f_c) and half a period. It is the identified '
        'velocity_lag less effort_delay; negative: later, and the motion is delayed then',
        's',
        (-LONGEST_LEAD, LONGEST_LEAD),
    )
    play: ArrayLike = joint_setting(
        0.0,
        'Displacement that friction with memory does not notice: 1.2 steps of the encoder',
        'rad or m',
        (0.0, 1.0),
    )
    max_gap: float = setting(
        0.05,
        'Longest interval between states; after a longer one the observer begins anew',
        's',
        TIME,
    )


class Sample(NamedTuple):
    """A state of the joints."""

    t: float  # s
    q: Array
    qd: Array
    effort: Array
    base: tuple[Array, ...]  # its motion (9) if it moves, else none


BANKED, UNSETTLED = len(BankState._fields), BankState._fields.index('unsettled')


class BankedUpdate(NamedTuple):
    """The fields of `ObserverUpdate`, and those of `BankState` in one row."""

    p: Any
    u: Any
    y: Any
    z: Any
    unknown: Any
    across: Any
    across2: Any
    along: Any
    along2: Any
    first: Any
    external_torque: Any
    prompt_torque: Any
    bank: Any


class MomentumObserver:
    """Observer of the external torques on one arm.

    Attributes:
        external_torque: (n,) N m or N, of the last update; zero at the start.
        prompt_torque: (n,) the same by which contact is found, with `poles`.
        bank: the fields of `BankState` one after the other, of the last update.
        state: after the last update; None at the start.
        settings: of the observer.
        friction: of its joints.
        arm: the arm, with its payload.
        moving_base: whether its base moves.
    """

    def __init__(
        self,
        arm: Dynamics,
        friction: JointFriction,
        settings: ObserverSettings,
        *,
        moving_base: bool = False,
    ):
        """Compile the observer of an arm.

        Args:
            arm: the arm, with its payload.
            friction: of its joints.
            settings: of the observer.
            moving_base: whether its base moves; `update` then takes its motion.

        Raises:
            ModelError: a setting is out of range, or has another number of joints.
        """
        values = checked(settings, arm.model.n)
        self.settings, n = deepcopy(settings), arm.model.n
        per_joint = [*friction.coefficients.values(), friction.presliding, values.play]
        self._constants = (
            np.array([values.poles, values.poles_along_momentum]),
            *(np.array(np.broadcast_to(value, n)) for value in per_joint),
        )
        self.friction, self.moving_base = friction, moving_base
        self._use(arm)
        self.restart()

    @property
    def friction_known(self) -> Array:
        """Of which joints (n,) the direction of friction is known: they moved, or need not."""
        if not self.friction.law.memory or self.state is None:
            return np.full(self.arm.model.n, self.state is not None)
        return np.asarray(self.state.unknown < FORGOTTEN)

    def restart(self) -> None:
        """Begin anew with the next state."""
        self._last: Sample | None = None
        self.state: ObserverState | None = None
        self._received: deque[Sample] = deque()
        self._waits = False  # for the motion that belongs to the first efforts
        zero = np.zeros(self.arm.model.n)
        self.external_torque = self.prompt_torque = zero
        self.bank = np.zeros(BANKED * self.arm.model.n)

    def continue_from(self, other: MomentumObserver) -> None:
        """Go on where an observer of the same arm is that has another payload or gravity."""
        self._last, self._received, self.state = other._last, other._received.copy(), other.state
        self._waits = other._waits
        self.external_torque, self.prompt_torque = other.external_torque, other.prompt_torque
        self.bank = other.bank
        self._balance_anew()

    def use(self, arm: Dynamics) -> None:
        """Use the same arm with another payload or gravity from the next update on."""
        self._use(arm)
        self._balance_anew()

    def _balance_anew(self) -> None:
        if self._last is not None and self.state is not None:
            # The momentum of the last sample, as the new model sees it: no jump.
            p, u = self._balance(self._last, self.state.z)
            self.state = self.state._replace(p=p, u=u)

    def _use(self, arm: Dynamics) -> None:
        self.arm = arm
        moving = arm.on_moving_base() if self.moving_base else None
        self._momentum: Callable[..., Momentum] = (moving or arm).momentum
        self._observe = observer_program(moving or arm, self.friction)

    def update(
        self, t: float, q: Array, qd: Array, effort: Array, base: Array | None = None
    ) -> bool:
        """Take the next state of the joints; return whether it gave an external torque.

        The first state, one that is no later than the one before, one after a gap and one whose
        result is not finite begin anew. So do the first ones of efforts that are later than the
        motion, until the motion that belongs to them is known.

        Args:
            t: time, s.
            q: (n,) positions, rad or m.
            qd: (n,) velocities.
            effort: (n,) efforts of the drives that act until t, N m or N.
            base: (9,) motion of a moving base, as for `MovingBaseDynamics`, whose angular
                acceleration has no effect; None if the base is fixed.

        Raises:
            ValueError: `base` is missing for a moving base, or given for a fixed one.
        """
        if (base is not None) != self.moving_base:
            raise ValueError(
                f'motion of the base is {base} for an observer with moving_base '
                f'{self.moving_base}; expected (9,) for a moving base, None for a fixed one'
            )
        # Copies: the arrays of the caller may be those of its next state.
        motion = () if base is None else (np.array(base),)
        sample = Sample(t, np.array(q), np.array(qd), np.array(effort), motion)
        last = self._last
        if last is None or self.state is None or not 0 < t - last.t <= self.settings.max_gap:
            self._begin(sample)
            return False
        first, aligned = self._received[0], self._aligned(sample)
        if self._waits:
            self._enter(aligned)
            self._waits = t + self.settings.effort_lead < first.t
            return False
        found = self._observe(
            *(aligned.q, aligned.qd, aligned.effort, np.array([t - last.t])),
            *(*self._constants, self.bank, *self.state, *aligned.base),
        )
        if not all(np.isfinite(row).all() for row in found):
            self._begin(sample)
            return False
        self.state, self.bank = ObserverState(*found[: len(ObserverState._fields)]), found.bank
        self.external_torque, self.prompt_torque = found.external_torque, found.prompt_torque
        self._last = aligned
        return True

    @property
    def bank_torques(self) -> Array:
        """External torques of the pairs of poles of the bank (pairs, n), of the last update."""
        return np.array(BankState(*self.bank.reshape(BANKED, -1)).torques)

    @property
    def unsettled(self) -> Array:
        """How little each joint has slid in the direction of its velocity (n,), 0 to 1."""
        return np.asarray(self.bank.reshape(BANKED, -1)[UNSETTLED])

    @property
    def waiting(self) -> bool:
        """Whether it waits for the motion that belongs to the first efforts."""
        return self._waits

    def _begin(self, sample: Sample) -> None:
        self.restart()
        self._received.append(sample)
        self._waits = self.settings.effort_lead < 0
        self._enter(sample)

    def _enter(self, sample: Sample) -> None:
        """Begin the filters at a sample."""
        zero = np.zeros_like(sample.q)
        self._last = sample
        p, u = self._balance(sample, zero)
        one = np.ones_like(sample.q)
        self.state = ObserverState(p, u, sample.q, zero, one, *[zero] * 6)

    def _balance(self, sample: Sample, z: Array) -> tuple[Array, Array]:
        """Return momentum and its rate without efforts at a sample."""
        p, rate = self._momentum(sample.q, sample.qd, *sample.base)
        direction = z if self.friction.law.memory else None
        return p, rate - self.friction.torque(sample.qd, sample.effort, direction)

    def _aligned(self, sample: Sample) -> Sample:
        """Return the sample with the efforts, or else the motion, of the time t less the lead.

        They are interpolated between those received.
        """
        lead, received = self.settings.effort_lead, self._received
        wanted = sample.t - abs(lead)
        received.append(sample)
        while len(received) > 2 and received[1].t <= wanted:
            received.popleft()
        before, after = received[0], received[1]
        share = min(max((wanted - before.t) / (after.t - before.t), 0.0), 1.0)

        def at(x: Array, y: Array) -> Array:
            return np.asarray(x + share * (y - x))

        if lead >= 0:
            return sample._replace(effort=at(before.effort, after.effort))
        base = tuple(at(*pair) for pair in zip(before.base, after.base, strict=True))
        return Sample(
            sample.t, at(before.q, after.q), at(before.qd, after.qd), sample.effort, base
        )


def observer_program(arm: CompiledRobot, friction: JointFriction) -> Callable[..., Any]:
    """Return one update of the observer of an arm and of its bank in machine code.

    Its arguments are q, qd, effort, the interval (1), the rates of the poles (2), the coefficients
    of the friction law in the order of its terms, pre-sliding length, play, the fields of
    `BankState` in one row, and those of `ObserverState`; then the motion of the base (9) if it
    moves.
    """
    terms, memory, n = tuple(friction.coefficients), friction.law.memory, arm.model.n

    def update(robot: Robot, q: Any, qd: Any, effort: Any, h: Any, poles: Any, *given: Any) -> Any:
        values, (presliding, play), rest = (
            given[: len(terms)],
            given[len(terms) : len(terms) + 2],
            given[len(terms) + 2 :],
        )
        own = ObservedFriction(dict(zip(terms, values, strict=True)), presliding, play, memory)
        bank = BankState(*(rest[0][k : k + n] for k in range(0, BANKED * n, n)))
        before = ObserverState(*rest[1:])
        after = observe(robot.tree, own, before, q, qd, effort, h[0], poles)
        return *after, [
            x for row in through_bank(bank, before, after, qd, effort, h[0]) for x in row
        ]

    inputs = dict.fromkeys(('q', 'qd', 'effort'), n) | {'time_step': 1, 'poles': 2}
    inputs |= dict.fromkeys((*terms, 'presliding', 'play'), n) | {'bank': BANKED * n}
    inputs |= dict.fromkeys(ObserverState._fields, n)
    key = f'momentum_observer with bank of friction {terms}, memory {memory}'
    return arm.programs.compiled(key, update, inputs, result=BankedUpdate).call
