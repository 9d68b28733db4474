"""The front door of mechanisms with loops.

    chain = ClosedChain(Dynamics(tree), [LoopClosure('end3', 'end4')], near=[0.3, 1.8, 0.0, 0.0])
    qdd, multipliers = chain.forward_dynamics(q, qd, tau)

A linkage can be assembled in several ways, so a chain starts from a posture: `near` says which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.algorithms import closed_chain_step as loop_motion
from robot_dynamics.algorithms import closed_chain_terms as loop_terms
from robot_dynamics.algorithms.closed_chain_step import LoopStep
from robot_dynamics.algorithms.closed_chain_terms import LoopTerms
from robot_dynamics.algorithms.integrators import INTEGRATORS
from robot_dynamics.algorithms.simulation_step import Friction
from robot_dynamics.closed_chains import assembly, driving
from robot_dynamics.closed_chains.driving import DrivenTerms, DrivingEffort
from robot_dynamics.closed_chains.least_constraint import Grip, grip, least_change, multipliers
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import LoopNotClosed, ModelError, ShapeError
from robot_dynamics.model.closures import LoopClosure, check_closures
from robot_dynamics.model.robot_model import check_vector
from robot_dynamics.programs import Robot
from robot_dynamics.spatial import Array


class ConstrainedMotion(NamedTuple):
    """What torques do to a mechanism with loops."""

    qdd: Array  # (..., n)
    multipliers: Array  # (..., m) of the closures' equations; `wrenches` says what they mean


class ClosedChain:
    """The dynamics of a tree whose loops are held together by closures.

    Arguments are array-like in the n coordinates of the tree; where `(..., n)` is said, leading
    axes broadcast. Friction is left out, as in `Dynamics`. Postures are taken as closed, and
    velocities as fitting: `posture` and `velocity` make them so.

    Attributes:
        arm: dynamics of the tree.
        closures: what holds it together.
        q0: (n,) the closed posture it was assembled in, read-only.
        rows: r equations, of the m that the closures have, which say what all of them say.
    """

    def __init__(
        self, arm: Dynamics, closures: Sequence[LoopClosure], *, near: ArrayLike | None = None
    ):
        """Assemble the mechanism near a posture (n,), zero if omitted.

        Raises:
            FrameNotFound: the robot has no frame of a closure's name.
            ModelError: the closures do not make sense, or a joint of the tree moves no inertia.
            LoopNotClosed: no posture is found in which the loops close.
            ShapeError: `near` does not have n entries.
        """
        check_closures(arm.model, closures)
        if arm.joint_without_inertia is not None:
            raise ModelError(
                f'joint {arm.joint_without_inertia!r} of {arm.model.name!r} moves no inertia '
                'while the loops are open: give the links beyond it a mass, or cut elsewhere'
            )
        self.arm = arm
        self.closures = tuple(closures)
        n, m = arm.model.n, sum(closure.equations for closure in closures)
        self._terms = self._compiled(loop_terms.loop_terms, {'q': n, 'qd': n}, LoopTerms)
        self._wrenches = self._compiled(loop_terms.wrenches, {'q': n, 'multipliers': m})
        self._facing = (
            self._compiled(loop_terms.facing, {'q': n})
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
        """Number of motions that the closures leave, n - r."""
        return self.arm.model.n - self.independent

    # -- what fits the closures -----------------------------------------------------------------

    def posture(self, q: ArrayLike, *, hold: Sequence[str] = ()) -> Array:
        """Return the closed posture (n,) that Newton's method finds from q.

        Args:
            q: (n,) where to start.
            hold: names of joints that must not move.

        Raises:
            LoopNotClosed: there is none near q, or one with a closure turned over; or q is not
                finite.
            ShapeError: q does not have n entries.
            ModelError: no joint of a name, or one that is named twice.
        """
        start = self._vector('q', q)
        closed = assembly.closed_posture(self._at_rest, start, self._movable(hold))
        self._require_facing(closed)
        return closed

    def velocity(self, q: ArrayLike, qd: ArrayLike, *, hold: Sequence[str] = ()) -> Array:
        """Return the velocities (n,) nearest to qd that fit the closures, J qd = 0.

        Nearest in kinetic energy: they are what is left after the closures snap shut.

        Args:
            q: (n,) closed posture.
            qd: (n,) velocities.
            hold: names of joints that keep their velocity.

        Raises:
            LoopNotClosed: the joints held cannot have these velocities at a time; or an argument
                is not finite.
            ShapeError: an argument does not have n entries.
            ModelError: no joint of a name, or one that is named twice.
        """
        here = self._at_rest(self._vector('q', q))
        return self._fitting('qd', self._vector('qd', qd), here._replace(c=0 * here.c), hold)

    def acceleration(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, hold: Sequence[str] = ()
    ) -> Array:
        """Return the accelerations (n,) nearest to qdd that fit the closures, J qdd + c = 0.

        As `velocity`; q and qd (n,) must fit already. Raises likewise.
        """
        here = self.terms(self._vector('q', q), self._vector('qd', qd))
        return self._fitting('qdd', self._vector('qdd', qdd), here, hold)

    # -- the equation of motion -----------------------------------------------------------------

    def terms(self, q: ArrayLike, qd: ArrayLike) -> LoopTerms:
        """Return LoopTerms(M, b, phi, J, c) of a state (..., n): see `algorithms.loop_terms`."""
        terms: LoopTerms = self._terms(q, qd)
        return terms

    def residual(self, q: ArrayLike) -> Array:
        """Return phi (..., m), zero where the loops are closed: m, or rad between directions."""
        return np.asarray(self.terms(q, np.zeros(self.arm.model.n)).phi)

    def grip(self, here: LoopTerms) -> Grip:
        """Return how the closures hold the joints. Raises SingularityError where they slip."""
        return grip(here.M, here.J, self.independent)

    def conditioning(self, q: ArrayLike) -> Array:
        """Return s_r / s_1 (...): how far from a singular posture, 0, the mechanism is.

        s are the singular values of the closures' Jacobian, weighted by the mass matrix.
        """
        here = self.terms(q, np.zeros(self.arm.model.n))
        s = grip(here.M, here.J, self.independent, least=0.0).s
        return np.asarray(s[..., -1] / s[..., 0])

    def forward_dynamics(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> ConstrainedMotion:
        """Return ConstrainedMotion(qdd, multipliers) of joints under torques, all (..., n).

            M qdd + b = tau + J^T lambda,    J qdd + c = 0

        Raises:
            SingularityError: the posture is singular.
            ShapeError: an argument does not have n entries.
        """
        tau = self._rows('tau', tau)
        here = self.terms(q, qd)
        hold = self.grip(here)
        # a_0 = M^-1 (tau - b)
        free = np.swapaxes(hold.L_inv, -1, -2) @ hold.L_inv @ (tau - here.b)[..., None]
        # J (qdd - a_0) = -c - J a_0
        e = -here.c - (here.J @ free)[..., 0]
        return ConstrainedMotion(free[..., 0] + least_change(hold, e), multipliers(hold, e))

    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        driven: Sequence[str] | None = None,
    ) -> DrivingEffort:
        """Return DrivingEffort(tau, multipliers) of a motion that fits the closures, all (..., n).

        Args:
            q: (..., n) closed posture.
            qd: (..., n) velocities.
            qdd: (..., n) accelerations.
            driven: names of the joints with motors; all of them if omitted. With more motors than
                the mechanism has mobility, the smallest torques are returned.

        Raises:
            LoopNotClosed: the accelerations do not fit.
            SingularityError: the posture is singular, or the motors do not determine the motion.
            ShapeError: an argument does not have n entries.
            ModelError: no joint of a name, or one that is named twice.
        """
        qdd = self._rows('qdd', qdd)
        here = self.terms(q, qd)
        assembly.require_fit('qdd', qdd, here)
        hold = self.grip(here)
        force = (here.M @ qdd[..., None])[..., 0] + here.b
        return driving.driving_effort(hold, force, self._indices(driven))

    def driven_terms(self, q: ArrayLike, qd: ArrayLike, driven: Sequence[str]) -> DrivenTerms:
        """Return DrivenTerms(M, b), the equation of motion in as many joints as have mobility.

        Args:
            q: (..., n) closed posture.
            qd: (..., n) velocities that fit.
            driven: names of the joints.

        Raises:
            ModelError: not as many joints as the mechanism has mobility, no joint of a name, or
                one that is named twice.
            ShapeError: an argument does not have n entries.
            SingularityError: they do not determine the motion of the others, or the posture is
                singular.
        """
        if len(driven) != self.mobility:
            raise ModelError(
                f'{len(driven)} driven joints, {list(driven)}: the mobility is {self.mobility}'
            )
        here = self.terms(q, qd)
        return driving.driven_terms(here, self.grip(here), self._indices(driven))

    def wrenches(self, q: ArrayLike, multipliers: ArrayLike) -> Array:
        """Return the wrench (..., k, 6) by which frame a holds frame b of each of k closures.

        World-aligned at frame b's origin, moment first [N m, N]; frame b pulls at frame a with the
        opposite. Where equations are redundant the linkage may be locked up in itself with forces
        that no motion shows; these are the smallest possible.
        """
        wrenches: Array = self._wrenches(q, multipliers)
        return wrenches

    def simulation_step(self, integrator: str) -> Callable[..., LoopStep]:
        """Return one step in machine code: step(q, qd, tau, time_step) -> LoopStep.

        As `Dynamics.simulation_step`, with friction; right as long as the equations `rows` are
        independent, which its result tells: see `algorithms.loop_motion`. `integrator` is a name
        of `INTEGRATORS`. Raises ValueError.
        """
        if integrator not in INTEGRATORS:
            raise ValueError(
                f'integrator is {integrator!r}; for loops it must be one of '
                f'{", ".join(INTEGRATORS)}'
            )

        def loop_step(robot: Robot, q: Any, qd: Any, tau: Any, h: Any) -> LoopStep:
            loops = loop_motion.Loops(robot.tree, self.closures, self.rows)
            friction = Friction(robot.model.viscous.tolist(), robot.model.coulomb.tolist())
            return loop_motion.loop_step(loops, friction, integrator, q, qd, tau, h[0])

        inputs = {**dict.fromkeys(('q', 'qd', 'tau'), self.arm.model.n), 'time_step': 1}
        key = f'loop_step {integrator} {self.closures!r} {self.rows}'
        return self.arm.programs.compiled(key, loop_step, inputs, result=LoopStep).call

    # -- helpers --------------------------------------------------------------------------------

    def _compiled(
        self,
        algorithm: Callable[..., Any],
        inputs: Mapping[str, int],
        result: type[Any] | None = None,
    ) -> Callable[..., Any]:
        """Return what computes a function of `algorithms.loop_terms` for these closures."""

        def of_robot(robot: Robot, q: Any, *others: Any) -> Any:
            return algorithm(robot.tree, self.closures, q, *others)

        key = f'{algorithm.__name__} {self.closures!r}'
        return self.arm.programs.compiled(key, of_robot, inputs, result=result).call

    def _at_rest(self, q: Array) -> LoopTerms:
        return self.terms(q, np.zeros(len(q)))

    def _vector(self, name: str, value: ArrayLike) -> Array:
        """Return a float copy of an argument, once it is (n,) and finite."""
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
                raise ModelError(f'no joint {name!r}; the tree has {", ".join(names)}')
            if name in joints[:k]:
                raise ModelError(f'joint {name!r} is named twice in {list(joints)}')
        return [names.index(name) for name in joints]

    def _movable(self, hold: Sequence[str]) -> Array:
        movable = np.ones(self.arm.model.n, dtype=bool)
        movable[self._indices(hold)] = False
        return movable

    def _fitting(self, name: str, value: Array, here: LoopTerms, hold: Sequence[str]) -> Array:
        r = None if hold else self.independent
        return assembly.fitting(name, value, here, self._movable(hold), r)

    def _require_facing(self, q: Array) -> None:
        if np.any(self._facing(q) <= 0):
            turned = ', '.join(map(str, self.closures))
            raise LoopNotClosed(
                f'the loops close at q = {q} with the axes of a closure pointing in opposite '
                f'directions ({turned}): start nearer to the posture meant, or turn a frame'
            )
