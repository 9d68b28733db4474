# SPDX-License-Identifier: Apache-2.0
"""Dynamics of mechanisms with kinematic loops.

    chain = ClosedChain(Dynamics(tree), [LoopClosure('end3', 'end4')], near=[0.3, 1.8, 0.0, 0.0])
    qdd, multipliers = chain.forward_dynamics(q, qd, tau)

A linkage may have several assemblies; `near` selects one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import LoopNotClosed, ModelError, ShapeError
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms import closed_chain_step, closed_chain_terms
from robot_dynamics.core.algorithms.closed_chain_step import ChainStep
from robot_dynamics.core.algorithms.closed_chain_terms import ChainTerms
from robot_dynamics.core.algorithms.integrators import INTEGRATORS
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.closures import LoopClosure, check_closures
from robot_dynamics.core.model.robot_model import check_vector
from robot_dynamics.core.programs import Robot
from robot_dynamics.simulation.closed_chains import assembly, least_constraint
from robot_dynamics.simulation.closed_chains.least_constraint import (
    Constraints,
    DrivenTerms,
    DrivingEffort,
    constraints,
    least_change,
    multipliers,
)


class ConstrainedMotion(NamedTuple):
    """Motion of a mechanism with loops under given torques."""

    qdd: Array  # (..., n)
    multipliers: Array  # (..., m) of the closure equations; see `wrenches`


class ClosedChain:
    """Dynamics of a tree with loop closures.

    Arguments are array-like in the n coordinates of the tree; leading axes of `(..., n)`
    broadcast. Friction is not included, as in `Dynamics`. Postures must be closed and velocities
    consistent with the closures: `posture` and `velocity` provide them.

    Attributes:
        arm: dynamics of the tree.
        closures: the loop closures.
        q0: (n,) closed posture of the assembly, read-only.
        rows: indices of r independent equations among the m closure equations.
    """

    def __init__(
        self, arm: Dynamics, closures: Sequence[LoopClosure], *, near: ArrayLike | None = None
    ):
        """Assemble the mechanism near a posture (n,), zero if omitted.

        Raises:
            FrameNotFound: a frame of a closure is unknown.
            ModelError: a closure is invalid, or a joint of the tree moves no inertia.
            LoopNotClosed: no closed posture is found.
            ShapeError: `near` does not have n entries.
        """
        check_closures(arm.model, closures)
        if arm.joint_without_inertia is not None:
            raise ModelError(
                f'joint {arm.joint_without_inertia!r} of {arm.model.name!r} moves no inertia '
                'in the open tree; expected a mass beyond it: add one, or cut elsewhere'
            )
        self.arm = arm
        self.closures = tuple(closures)
        n, m = arm.model.n, sum(closure.equations for closure in closures)
        self._terms = self._compiled(closed_chain_terms.chain_terms, {'q': n, 'qd': n}, ChainTerms)
        self._wrenches = self._compiled(closed_chain_terms.wrenches, {'q': n, 'multipliers': m})
        self._facing = (
            self._compiled(closed_chain_terms.facing, {'q': n})
            if any(closure.facing for closure in closures)
            else lambda q: np.ones(1)
        )
        self.q0 = self.posture(np.zeros(n) if near is None else near)
        self.q0.setflags(write=False)
        self.rows = tuple(assembly.independent_equations(self._at_rest, self.q0))

    def __repr__(self) -> str:
        closures = '; '.join(map(str, self.closures))
        return f'<ClosedChain of {self.arm.model.name!r}: {closures}; mobility {self.mobility}>'

    @property
    def independent(self) -> int:
        """Number r of independent equations."""
        return len(self.rows)

    @property
    def mobility(self) -> int:
        """Number of degrees of freedom, n - r."""
        return self.arm.model.n - self.independent

    # -- motions that satisfy the closures ------------------------------------------------------

    def posture(self, q: ArrayLike, *, hold: Sequence[str] = ()) -> Array:
        """Return the closed posture (n,) that Newton's method finds from q.

        Args:
            q: (n,) initial posture.
            hold: names of joints that keep their position.

        Raises:
            LoopNotClosed: none is found near q, or an axis points the wrong way; or q is not
                finite.
            ShapeError: q does not have n entries.
            ModelError: a joint name is unknown or repeated.
        """
        start = self._vector('q', q)
        closed = assembly.closed_posture(self._at_rest, start, self._movable(hold))
        self._require_facing(closed)
        return closed

    def velocity(self, q: ArrayLike, qd: ArrayLike, *, hold: Sequence[str] = ()) -> Array:
        """Return the velocities (n,) nearest to qd that satisfy the closures, J qd = 0.

        The distance is the kinetic energy of the difference: the result is the velocity after an
        inelastic impact that imposes the closures.

        Args:
            q: (n,) closed posture.
            qd: (n,) velocities.
            hold: names of joints that keep their velocity.

        Raises:
            LoopNotClosed: the velocities of the held joints are inconsistent, or an argument is
                not finite.
            ShapeError: an argument does not have n entries.
            ModelError: a joint name is unknown or repeated.
        """
        here = self._at_rest(self._vector('q', q))
        return self._fitting('qd', self._vector('qd', qd), here._replace(c=0 * here.c), hold)

    def acceleration(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, hold: Sequence[str] = ()
    ) -> Array:
        """Return the accelerations (n,) nearest to qdd that satisfy J qdd + c = 0.

        Args:
            q: (n,) closed posture, rad or m.
            qd: (n,) velocities that satisfy the closures.
            qdd: (n,) accelerations, rad/s^2 or m/s^2.
            hold: names of joints that keep their acceleration.

        Raises errors as `velocity`.
        """
        here = self.terms(self._vector('q', q), self._vector('qd', qd))
        return self._fitting('qdd', self._vector('qdd', qdd), here, hold)

    # -- the equation of motion -----------------------------------------------------------------

    def terms(self, q: ArrayLike, qd: ArrayLike) -> ChainTerms:
        """Return ChainTerms(M, b, phi, J, c) of a state.

        Args:
            q: (..., n) joint positions, rad or m.
            qd: (..., n) joint velocities.

        Returns:
            M (..., n, n) and b (..., n) of the open tree, the closure errors phi (..., m), their
            Jacobian J (..., m, n), and c (..., m), with which J qdd + c = 0.
        """
        terms: ChainTerms = self._terms(q, qd)
        return terms

    def residual(self, q: ArrayLike) -> Array:
        """Return the closure errors phi (..., m) at q (..., n), m, or rad between directions."""
        return np.asarray(self.terms(q, np.zeros(self.arm.model.n)).phi)

    def constraints(self, here: ChainTerms) -> Constraints:
        """Return the factored constraints. Raises SingularityError in singular postures."""
        return constraints(here.M, here.J, self.independent)

    def conditioning(self, q: ArrayLike) -> Array:
        """Return s_r / s_1 (...) at q (..., n) [rad or m]: 0 in singular postures.

        s are the singular values of the closure Jacobian, weighted by the mass matrix.
        """
        here = self.terms(q, np.zeros(self.arm.model.n))
        s = constraints(here.M, here.J, self.independent, least=0.0).s
        return np.asarray(s[..., -1] / s[..., 0])

    def forward_dynamics(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> ConstrainedMotion:
        """Return ConstrainedMotion(qdd, multipliers) under joint torques.

            M qdd + b = tau + J^T lambda,    J qdd + c = 0

        Args:
            q: (..., n) closed posture, rad or m.
            qd: (..., n) velocities that satisfy the closures.
            tau: (..., n) joint torques, N m or N.

        Returns:
            qdd (..., n) and the multipliers lambda (..., m), forces or moments of the closures.

        Raises:
            SingularityError: the posture is singular.
            ShapeError: an argument does not have n entries.
        """
        tau = self._rows('tau', tau)
        here = self.terms(q, qd)
        factors = self.constraints(here)
        # a_0 = M^-1 (tau - b)
        free = np.swapaxes(factors.L_inv, -1, -2) @ factors.L_inv @ (tau - here.b)[..., None]
        # J (qdd - a_0) = -c - J a_0
        e = -here.c - (here.J @ free)[..., 0]
        return ConstrainedMotion(free[..., 0] + least_change(factors, e), multipliers(factors, e))

    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        driven: Sequence[str] | None = None,
    ) -> DrivingEffort:
        """Return DrivingEffort(tau, multipliers) of a motion consistent with the closures.

        Args:
            q: (..., n) closed posture, rad or m.
            qd: (..., n) velocities.
            qdd: (..., n) accelerations, rad/s^2 or m/s^2.
            driven: names of the actuated joints; all if omitted. With more of them than degrees
                of freedom, the smallest torques are returned.

        Raises:
            LoopNotClosed: the accelerations violate the closures.
            SingularityError: the posture is singular, or the actuated joints do not determine the
                motion.
            ShapeError: an argument does not have n entries.
            ModelError: a joint name is unknown or repeated.
        """
        qdd = self._rows('qdd', qdd)
        here = self.terms(q, qd)
        assembly.require_fit('qdd', qdd, here)
        factors = self.constraints(here)
        force = (here.M @ qdd[..., None])[..., 0] + here.b
        return least_constraint.driving_effort(factors, force, self._indices(driven))

    def driven_terms(self, q: ArrayLike, qd: ArrayLike, driven: Sequence[str]) -> DrivenTerms:
        """Return DrivenTerms(M, b), the equation of motion in the driven joints alone.

        Args:
            q: (..., n) closed posture, rad or m.
            qd: (..., n) velocities consistent with the closures.
            driven: names of the driven joints, as many as degrees of freedom.

        Raises:
            ModelError: the number of joints is not the mobility, or a name is unknown or
                repeated.
            ShapeError: an argument does not have n entries.
            SingularityError: they do not determine the motion of the others, or the posture is
                singular.
        """
        if len(driven) != self.mobility:
            raise ModelError(
                f'driven names {len(driven)} joints, {list(driven)}; expected the mobility, '
                f'{self.mobility}'
            )
        here = self.terms(q, qd)
        return least_constraint.driven_terms(here, self.constraints(here), self._indices(driven))

    def wrenches(self, q: ArrayLike, multipliers: ArrayLike) -> Array:
        """Return the wrench (..., k, 6) of frame a on frame b of each of k closures.

        World-aligned at the origin of frame b, moment first [N m, N]; the reaction on frame a is
        its opposite. Internal forces that redundant equations leave undetermined are the smallest
        possible.

        Args:
            q: (..., n) closed posture, rad or m.
            multipliers: (..., m) those of `forward_dynamics` or `inverse_dynamics`.
        """
        wrenches: Array = self._wrenches(q, multipliers)
        return wrenches

    def simulation_step(self, integrator: str) -> Callable[..., ChainStep]:
        """Return one step in machine code: step(q, qd, tau, time_step) -> ChainStep.

        As `Dynamics.simulation_step`, with friction; valid while the equations `rows` are
        independent, which ChainStep reports: see `core.algorithms.closed_chain_step`. `integrator`
        is a name of `INTEGRATORS`. Raises ValueError.
        """
        if integrator not in INTEGRATORS:
            raise ValueError(
                f'integrator is {integrator!r}; expected one of {", ".join(INTEGRATORS)}'
            )

        def chain_step(robot: Robot, q: Any, qd: Any, tau: Any, h: Any) -> ChainStep:
            chain = closed_chain_step.CutChain(robot.tree, self.closures, self.rows)
            return closed_chain_step.chain_step(
                chain, robot.friction(), integrator, q, qd, tau, h[0]
            )

        inputs = {**dict.fromkeys(('q', 'qd', 'tau'), self.arm.model.n), 'time_step': 1}
        key = f'chain_step {integrator} {self.closures!r} {self.rows}'
        return self.arm.programs.compiled(key, chain_step, inputs, result=ChainStep).call

    # -- helpers --------------------------------------------------------------------------------

    def _compiled(
        self,
        algorithm: Callable[..., Any],
        inputs: Mapping[str, int],
        result: type[Any] | None = None,
    ) -> Callable[..., Any]:
        """Return a program of `core.algorithms.closed_chain_terms` for these closures."""

        def of_robot(robot: Robot, q: Any, *others: Any) -> Any:
            return algorithm(robot.tree, self.closures, q, *others)

        key = f'{algorithm.__name__} {self.closures!r}'
        return self.arm.programs.compiled(key, of_robot, inputs, result=result).call

    def _at_rest(self, q: Array) -> ChainTerms:
        return self.terms(q, np.zeros(len(q)))

    def _vector(self, name: str, value: ArrayLike) -> Array:
        """Return a float copy of an argument, checked to be (n,) and finite."""
        array = np.array(value, dtype=float)
        check_vector(self.arm.model, **{name: array})
        if not np.isfinite(array).all():
            raise LoopNotClosed(f'{name} is {array}; it must be finite')
        return array

    def _rows(self, name: str, value: ArrayLike) -> Array:
        """Return an argument as floats (..., n). Raises ShapeError."""
        array, n = np.asarray(value, dtype=float), self.arm.model.n
        if array.shape[-1:] != (n,):
            raise ShapeError(f'{name} has shape {array.shape}; it must be (..., {n})')
        return array

    def _indices(self, joints: Sequence[str] | None) -> list[int]:
        """Return the indices of joints by name, of all for None. Raises ModelError."""
        names = self.arm.model.joint_names
        if joints is None:
            return list(range(len(names)))
        for k, name in enumerate(joints):
            if name not in names:
                raise ModelError(f'no joint {name!r}; expected one of {", ".join(names)}')
            if name in joints[:k]:
                raise ModelError(f'joint {name!r} is named twice in {list(joints)}')
        return [names.index(name) for name in joints]

    def _movable(self, hold: Sequence[str]) -> Array:
        movable = np.ones(self.arm.model.n, dtype=bool)
        movable[self._indices(hold)] = False
        return movable

    def _fitting(self, name: str, value: Array, here: ChainTerms, hold: Sequence[str]) -> Array:
        r = None if hold else self.independent
        return assembly.fitting(name, value, here, self._movable(hold), r)

    def _require_facing(self, q: Array) -> None:
        if np.any(self._facing(q) <= 0):
            turned = ', '.join(map(str, self.closures))
            raise LoopNotClosed(
                f'the loops close at q = {q} with the axes of a closure pointing in opposite '
                f'directions ({turned}); start nearer to the intended posture, or rotate a frame'
            )
