# SPDX-License-Identifier: Apache-2.0
"""One update of the momentum observer: the external torque of the last interval, low-passed.

The efforts e acted since the last update. With the momentum p = M qd, and its rate without efforts
u = C^T qd - g - friction,

    d = (p_k - p_(k-1)) / h - (u_k + u_(k-1)) / 2 - e

is the mean external torque of the interval h, by the trapezoidal rule. Two equal poles smooth it,
exactly for any interval in which it is constant:

    y2 <- d + e^(-b h) (y2 - d + b h (y1 - d)),    y1 <- d + e^(-b h) (y1 - d)

An error eps of a time stamp is an error qd eps of all positions: in d it is a multiple of the
momentum. So the part of d along the momentum,

    w = p (qd . d) / (qd . p + E),

may have slower poles: a prompt torque is d - w behind poles at b, and w behind poles at b_w. E is
an energy far below that of a motion; w vanishes at rest. As p turns, a constant d moves between
the two parts, which differ in delay: the prompt torque finds contact, and is wrong by about
dw/dt (2/b_w - 2/b). The external torque is d behind poles at b_w. With b_w = b both are the same.

A bank of slower poles (`BANK`) finds smaller torques later. The differentiated momentum has the
noise of measured velocities, so its poles may be slower than those of efforts:

    r = L_a[-(u_k + u_(k-1)) / 2 - e] + L_b[(p_k - p_(k-1)) / h],    a >= b

With a > b the parts differ in delay where the momentum changes, which learning weighs.

Friction is known worst where a joint begins to slide or turns back. With the direction s of its
velocity, and the direction z of its displacements of the last `SETTLED` rad or m,

    unsettled = (1 - s z) / 2

is 1 right after a reversal, 1/2 at rest, and 0 while the joint slides on.

On a moving base, p and u are those of `momentum` there: angular velocity and proper acceleration
of the base are needed, its angular acceleration is not. An error of positions remains along M qd,
without what the base adds to p.

Friction with memory follows the measured positions through a play operator, whose half-width is
beyond the steps of an encoder: its flicker at rest would erase the memory.

Sources: De Luca and Mattone, "Actuator failure detection and isolation using generalized momenta",
ICRA 2003; Haddadin, De Luca and Albu-Schäffer, "Robot collisions: a survey on detection,
isolation, and identification", IEEE Trans. Robotics 33(6), 2017 (with one pole, whose integral is
taken by Euler's rule there).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from robot_dynamics.common.scalars import Scalar, decay, maximum
from robot_dynamics.core.algorithms.momentum import momentum
from robot_dynamics.core.algorithms.vectors import ZERO, Vector, inner
from robot_dynamics.core.friction.coulomb import sliding_direction
from robot_dynamics.core.friction.laws import after_backlash, law_torque, moved_direction
from robot_dynamics.core.model.canonical import CanonicalTree

STILL = 2e-3  # E, J
# a and b, 1/s: found on recordings of a Panda, whose velocities are noisy, and of a UR10e, whose
# friction jumps.
BANK = ((150.0, 60.0), (40.0, 40.0), (15.0, 15.0))
# On the same recordings, 0.02 to 0.08 find the same steps of torque to a tenth.
SETTLED = 0.03  # rad or m


class ObserverState(NamedTuple):
    """What an update keeps for the next one: (n) each, of the last sample."""

    p: Any  # momentum, N m s or N s
    u: Any  # its rate without efforts, N m or N
    y: Any  # position behind the play operator, rad or m
    z: Any  # direction of sliding of friction with memory
    unknown: Any  # part of the unknown first value of z in it, 1 at the start
    across: Any  # d - w behind its first pole, N m or N
    across2: Any  # and behind its second
    along: Any  # w behind its first pole
    along2: Any  # and behind its second
    first: Any  # d behind its first pole
    external_torque: Any  # and behind its second


class ObserverUpdate(NamedTuple):
    """The fields of `ObserverState`, and the prompt torque (n) [N m or N]."""

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


class BankState(NamedTuple):
    """The values behind each pole of the bank, N m or N, and what weighs them: (n) each."""

    effort1: Any  # of the first pair, the part without momentum behind one pole
    effort2: Any  # and behind its second
    momentum1: Any  # the rate of momentum of the first pair
    momentum2: Any
    medium1: Any  # d of the second pair
    medium2: Any
    slow1: Any  # d of the third pair
    slow2: Any
    slid: Any  # direction of the last displacements
    unsettled: Any  # how little a joint has slid in the direction of its velocity, 0 to 1

    @property
    def torques(self) -> tuple[Any, Any, Any]:
        """The external torque of each pair."""
        return self.effort2 + self.momentum2, self.medium2, self.slow2


class ObservedFriction(NamedTuple):
    """Friction of the joints as the observer takes it.

    Attributes:
        coefficients: by term of the law, (n) each.
        presliding: (n) of a law with memory, rad or m.
        play: (n) half-width of the play operator, rad or m.
        memory: whether the law has memory.
    """

    coefficients: Mapping[str, Vector]
    presliding: Vector
    play: Vector
    memory: bool


def observe(
    tree: CanonicalTree,
    friction: ObservedFriction,
    before: ObserverState,
    q: Vector,
    qd: Vector,
    effort: Vector,
    h: Scalar,
    poles: Vector,
) -> ObserverUpdate:
    """Return the state after one more sample, and the prompt torque.

    Args:
        tree: the robot.
        friction: of its joints.
        before: the state after the last sample.
        q: (n) positions, rad or m.
        qd: (n) velocities.
        effort: (n) mean efforts of the drives since the last sample, N m or N.
        h: time since the last sample, s, positive.
        poles: b, 1/s; b_w of those along the momentum, and of the external torque, 1/s.
    """
    b, b_w = poles
    slid = _after_sliding(friction, before, q)
    p, rate = momentum(tree, q, qd)
    u = [
        own - lost
        for own, lost in zip(rate, _friction_torque(friction, qd, effort, slid.z), strict=True)
    ]
    d = [
        (p1 - p0) / h - 0.5 * (u1 + u0) - e
        for p1, p0, u1, u0, e in zip(p, before.p, u, before.u, effort, strict=True)
    ]
    along_motion = _joint_momentum(tree, q, qd) if tree.base_rotates else p
    share = inner(qd, d) / (inner(qd, along_motion) + STILL)
    w = [share * x for x in along_motion]
    others = [x - y for x, y in zip(d, w, strict=True)]
    across, across2 = _low_passed(others, before.across, before.across2, b * h)
    along, along2 = _low_passed(w, before.along, before.along2, b_w * h)
    prompt = [a + c for a, c in zip(across2, along2, strict=True)]
    first, second = _low_passed(d, before.first, before.external_torque, b_w * h)
    sliding = slid.y, slid.z, slid.unknown
    return ObserverUpdate(p, u, *sliding, across, across2, along, along2, first, second, prompt)


def through_bank(
    bank: BankState,
    before: ObserverState,
    after: ObserverUpdate,
    qd: Vector,
    effort: Vector,
    h: Scalar,
) -> BankState:
    """Return the state of the bank after one more sample.

    Args:
        bank: its state after the last sample.
        before: the observer after the last sample.
        after: the observer after this one.
        qd: (n) velocities.
        effort: (n) mean efforts of the drives since the last sample, N m or N.
        h: time since the last sample, s, positive.
    """
    rate = [(p1 - p0) / h for p1, p0 in zip(after.p, before.p, strict=True)]
    rest = [-0.5 * (u1 + u0) - e for u1, u0, e in zip(after.u, before.u, effort, strict=True)]
    d = [x + y for x, y in zip(rate, rest, strict=True)]
    (a, b), (medium, _), (slow, _) = BANK
    slid = [
        moved_direction(z, to - at, SETTLED)
        for z, to, at in zip(bank.slid, after.y, before.y, strict=True)
    ]
    unsettled = [0.5 * (1.0 - sliding_direction(v) * z) for v, z in zip(qd, slid, strict=True)]
    return BankState(
        *_low_passed(rest, bank.effort1, bank.effort2, a * h),
        *_low_passed(rate, bank.momentum1, bank.momentum2, b * h),
        *_low_passed(d, bank.medium1, bank.medium2, medium * h),
        *_low_passed(d, bank.slow1, bank.slow2, slow * h),
        slid,
        unsettled,
    )


def _joint_momentum(tree: CanonicalTree, q: Vector, qd: Vector) -> Vector:
    """Return M qd (n), the momentum on a base that does not turn."""
    p: Vector = momentum(replace(tree, base_w=ZERO, base_wd=ZERO), q, qd).p
    return p


def _after_sliding(friction: ObservedFriction, before: ObserverState, q: Vector) -> ObserverState:
    """Return the state in which the memory of friction has followed the joints to q (n)."""
    y = [
        after_backlash(at, position, width)
        for at, position, width in zip(before.y, q, friction.play, strict=True)
    ]
    z = [
        moved_direction(s, to - at, length)
        for s, to, at, length in zip(before.z, y, before.y, friction.presliding, strict=True)
    ]
    # The first z is unknown, and forgotten as z itself:  x <- x e^(-|dy| / delta)
    unknown = [
        share * decay(maximum(to - at, at - to) / length)
        for share, to, at, length in zip(
            before.unknown, y, before.y, friction.presliding, strict=True
        )
    ]
    return before._replace(y=y, z=z, unknown=unknown)


def _friction_torque(
    friction: ObservedFriction, qd: Vector, effort: Vector, z: Vector
) -> list[Scalar]:
    """Return the friction (n) that the law gives with the effort as transmitted torque."""
    torque = []
    for j, (v, tau) in enumerate(zip(qd, effort, strict=True)):
        own = {term: values[j] for term, values in friction.coefficients.items()}
        direction = z[j] if friction.memory else sliding_direction(v)
        torque.append(law_torque(own, v, tau, direction))
    return torque


def _low_passed(x: Vector, y1: Vector, y2: Vector, bh: Scalar) -> tuple[Vector, Vector]:
    """Return the values behind one and behind two equal poles, x being constant since."""
    kept = decay(bh)
    first = [new + kept * (old - new) for new, old in zip(x, y1, strict=True)]
    second = [
        new + kept * ((old - new) + bh * (before - new))
        for new, before, old in zip(x, y1, y2, strict=True)
    ]
    return first, second
