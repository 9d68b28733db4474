# SPDX-License-Identifier: Apache-2.0
"""Tree of bodies that algorithms work on, and its traversals.

Every recursive algorithm is a step for one body within a forward or a backward pass. The passes
are methods of the tree, so that the same step runs on numbers, is recorded as straight-line code,
or, for a tree with one body for each kind (`algorithms.repeated_bodies`), is generated as a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, TypeVar

from robot_dynamics.common.errors import FrameNotFound
from robot_dynamics.common.scalars import is_zero
from robot_dynamics.core.model.coordinates import generalized_matrix

Vector = Sequence[Any]
Matrix = Sequence[Sequence[Any]]
State = TypeVar('State')


class CanonicalJoint(NamedTuple):
    """Pose of frame i in its parent's: R Rz(q + angle), p if revolute; R, p + R z q if prismatic.

    The angle is offset + quarter_turns pi/2, stored separately: quarter turns need no arithmetic.
    """

    parent: int  # -1 for the base
    revolute: bool
    R: Matrix
    p: Vector  # m
    offset: float  # rad, in (-pi/4, pi/4]; 0 for prismatic joints
    quarter_turns: int


class MassMoments(NamedTuple):
    """Moments of a body's mass about the origin of its frame."""

    m: Any  # kg
    h: Vector  # sum m r, kg m
    Sigma: Matrix  # sum m r r^T, kg m^2, symmetric


class Placement(NamedTuple):
    """Pose of a frame in the canonical frame of its body."""

    body: int  # -1 for the base
    R: Matrix
    p: Vector


@dataclass(frozen=True)
class CanonicalTree:
    """The robot as plain numbers: the input of `robot_dynamics.core.algorithms`.

    Gravity, the motion of the base and the moments of the bodies may be replaced by other scalars,
    for example run-time inputs of a compiled program:
    `dataclasses.replace(tree, gravity=[g0, g1, g2])`. A payload known only at run time is added by
    `algorithms.payload.with_payload`, a motion of the base by `on_moving_base`.
    """

    joints: tuple[CanonicalJoint, ...]  # nb
    bodies: tuple[MassMoments, ...]  # nb, regrouped
    gravity: Vector  # gravity vector, m/s^2, base frame
    S: tuple[tuple[float, ...], ...]  # (nb, n): q_body = S q + s0
    s0: tuple[float, ...]  # nb
    reflected_inertia: tuple[float, ...]  # n
    frames: Mapping[str, Placement]
    body_frames: tuple[Placement, ...]  # nb: the body frames of the model
    base_moment: Vector  # h of the mass that regrouping moved to the base, kg m
    base: MassMoments  # of that mass and of the links fixed to the base
    base_w: Vector  # angular velocity of the base, rad/s, base frame
    base_wd: Vector  # its angular acceleration, rad/s^2

    @property
    def base_rotates(self) -> bool:
        """Whether the base has an angular velocity or acceleration, or may have one."""
        return not all(map(is_zero, (*self.base_w, *self.base_wd)))

    def on_moving_base(self, base: Vector) -> CanonicalTree:
        """Return the robot on a base that moves.

        Args:
            base: (9) angular velocity, angular acceleration and proper acceleration of the origin
                of the base, in its frame. The linear velocity has no effect on any torque.
        """
        # Bodies accelerate against gravity with a base that accelerates by a = -gravity
        gravity = [-x for x in base[6:]]
        return replace(self, base_w=base[:3], base_wd=base[3:6], gravity=gravity)

    @property
    def n(self) -> int:
        """Number of independent coordinates."""
        return len(self.reflected_inertia)

    @property
    def nb(self) -> int:
        """Number of moving bodies."""
        return len(self.joints)

    def frame(self, name: str) -> Placement:
        """Return the placement of a frame. Raises FrameNotFound, which lists the known frames."""
        try:
            return self.frames[name]
        except KeyError:
            raise FrameNotFound(name, self.frames) from None

    def support(self, i: int) -> list[int]:
        """Return the bodies from the base to body i, i last; [] for -1."""
        chain = []
        while i >= 0:
            chain.append(i)
            i = self.joints[i].parent
        return chain[::-1]

    # -- traversal ------------------------------------------------------------------------------

    by_kind: ClassVar[bool] = False  # whether each body stands for all bodies of its kind

    def outward(self, base: State, step: Callable[[int, State], State]) -> list[State]:
        """Return step(i, state of the parent) of every body i, from the base to the tips.

        Args:
            base: state of the base.
            step: from a body and its parent's state to the state of the body.
        """
        states: list[State] = []
        for i, joint in enumerate(self.joints):
            states.append(step(i, states[joint.parent] if joint.parent >= 0 else base))
        return states

    def inward(
        self,
        own: Sequence[State],
        passed_on: Callable[[int, State], State],
        total: Callable[[State, State], State],
    ) -> list[State]:
        """Return for every body its own load plus those of all bodies beyond it.

        Args:
            own: (nb) load of each body by itself.
            passed_on: from a body and its total load to that load as its parent receives it.
            total: sum of two loads, entry by entry.
        """
        loads = list(own)
        for i in reversed(range(self.nb)):
            p = self.joints[i].parent
            if p >= 0:
                loads[p] = total(loads[p], passed_on(i, loads[i]))
        return loads

    def of_parent(self, values: Sequence[State], base: State) -> list[State]:
        """Return the value of every body's parent; `base` is the value of the base."""
        return [values[joint.parent] if joint.parent >= 0 else base for joint in self.joints]

    def pairs(
        self, diagonal: Vector, carriers: Vector, carried: Vector, below: Any, above: Any
    ) -> Any:
        """Return the matrix (nb, nb) with entries for every body i and each body j carrying it.

        Args:
            diagonal: (nb) entries (i, i).
            carriers: (nb) data of a body as j.
            carried: (nb) data of a body as i.
            below: from carriers[j] and carried[i] to entry (i, j).
            above: from carriers[j] and carried[i] to entry (j, i).
        """
        matrix: list[list[Any]] = [[0.0] * self.nb for _ in range(self.nb)]
        for i, entry in enumerate(diagonal):
            matrix[i][i] = entry
            for j in self.support(self.joints[i].parent):
                matrix[i][j] = below(carriers[j], carried[i])
                matrix[j][i] = above(carriers[j], carried[i])
        return matrix

    def per_joint(self, values: Sequence[float]) -> list[Any]:
        """Return numbers, one for each joint of the robot, as scalars of this tree."""
        return list(values)

    def of_coordinates(self, M: Any) -> Any:
        """Return S^T M S (n, n) of a matrix (nb, nb) between the bodies' joints."""
        return generalized_matrix(self.S, M)

    def plus_diagonal(self, M: Any, diagonal: Sequence[Any]) -> Any:
        """Return M + diag(diagonal)."""
        return [
            [x + diagonal[i] if i == j else x for j, x in enumerate(row)]
            for i, row in enumerate(M)
        ]

    def scaled(self, factor: float, M: Any) -> Any:
        """Return factor M."""
        return [[factor * x for x in row] for row in M]
