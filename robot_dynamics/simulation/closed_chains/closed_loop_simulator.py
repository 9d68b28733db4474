# SPDX-License-Identifier: Apache-2.0
"""Fixed-step simulation of a mechanism with kinematic loops.

    simulator = ClosedLoopSimulator(ClosedChain(Dynamics(tree), closures, near=posture))
    simulator.step(tau)
    simulator.time, simulator.q, simulator.qd, simulator.wrenches()

A step integrates the accelerations that the closures allow, then projects position and velocity
onto the nearest closed state in the metric of the mass matrix. The projection is as small as the
integrator's error: the order is kept, and the closures do not drift. The base is fixed.

Far from singular postures a step is a compiled program (`core/algorithms/closed_chain_step.py`);
near one, and where friction is stiff, singular values are computed
(`simulation.closed_chains.least_constraint`). At a singular posture the motion is not unique: the
simulator raises SingularityError and keeps the previous state.

Friction that could stop a joint within a step is that of the velocities v at its end, which
satisfy the closures (`converged.solved_by_arrays`):

    (M + h F_v) v + p = M qd + h (tau - C qd - g) + J^T lambda,    J v = 0,

with p = h F_s tanh(v / v_0). Friction that sticks is not offered: in a loop the impulses that hold
several joints at rest are not unique.

Source: Hairer and Wanner, Solving Ordinary Differential Equations II (1996), sections IV.3 and
VII.2 (projection methods).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import LoopNotClosed, SingularityError
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms.integrators import INTEGRATORS
from robot_dynamics.core.algorithms.simulation_step import State
from robot_dynamics.core.friction.coulomb import joint_friction
from robot_dynamics.core.friction.impulses import without_memory
from robot_dynamics.core.rollout import check_friction, checked_time_step
from robot_dynamics.simulation.argument_checks import finite_vector, protect
from robot_dynamics.simulation.closed_chains import ClosedChain
from robot_dynamics.simulation.closed_chains.assembly import CLOSED
from robot_dynamics.simulation.closed_chains.least_constraint import (
    constraints,
    crossing,
    least_change,
)
from robot_dynamics.simulation.converged import solved_by_arrays
from robot_dynamics.simulation.errors import SimulationDiverged

# A start with a larger closure error than rounding is rejected.
START = 1e-6  # m, or rad between directions; per second for velocities

MAX_CORRECTIONS = 10  # Newton steps; one is enough unless the time step is far too long

# Mobility of a joint in the loops that counts as none, relative to that in the open tree.
IMMOBILE = 1e-12

STANDSTILL = 1e-9  # rad/s or m/s, far below the speeds at which friction laws bend

# A posture is far from singular if it cannot become singular within this many steps.
FAR = 10.0


class ClosedLoopSimulator:
    """State of a mechanism with kinematic loops. Its arrays are read-only.

    Attributes:
        chain: its dynamics.
        q: (n,) positions, rad or m.
        qd: (n,) velocities.
        effort: (n,) torques the drives applied in the last step, after clamping.
        steps: number of steps taken since the last reset.
    """

    def __init__(
        self,
        chain: ClosedChain,
        *,
        q: ArrayLike | None = None,
        qd: ArrayLike | None = None,
        time_step: float = 1e-3,
        integrator: str = 'rk4',
        friction: str = 'model',
    ):
        """Start at (q, qd); by default at rest in the posture in which the chain was assembled.

        Args:
            chain: the mechanism.
            q: (n,) positions to start from.
            qd: (n,) velocities to start with.
            time_step: s.
            integrator: a name of `core.algorithms.integrators.INTEGRATORS`.
            friction: 'model': smooth friction of the tree; 'none'.

        Raises:
            LoopNotClosed: q violates the closures, or qd their derivative.
            SingularityError: the posture is singular.
            ShapeError: q or qd does not have n entries.
            NotFinite: q or qd is not finite.
            ValueError: the time step is not positive, or the integrator or friction unknown.
        """
        check_friction(friction)
        if friction == 'none':
            chain = ClosedChain(chain.arm.without_friction(), chain.closures, near=chain.q0)
        self.chain = chain
        self._time_step = np.array([checked_time_step(time_step)])
        self._step = chain.simulation_step(integrator)
        self._integrator = integrator
        self.reset(q, qd)

    def reset(self, q: ArrayLike | None = None, qd: ArrayLike | None = None) -> None:
        """Put the mechanism at (q, qd), as assembled and at rest where omitted; time to zero.

        Rounding errors of the closures are corrected.

        Raises:
            RobotDynamicsError: as the constructor.
        """
        n = self.chain.arm.model.n
        start = self._vector('q', self.chain.q0 if q is None else q)
        velocity = self._vector('qd', np.zeros(n) if qd is None else qd)
        # Overflow raises an error below; NumPy need not warn.
        with np.errstate(all='ignore'):
            self._require_closed(start, velocity)
            self.q, self.qd = self._closed(start, velocity)
        self.effort: Array = np.zeros(n)
        self._load: Array = np.zeros(n)
        self.steps = 0
        protect(self.q, self.qd, self.effort)

    @property
    def time_step(self) -> float:
        """The time step, s."""
        return float(self._time_step[0])

    @property
    def integrator(self) -> str:
        """A name of `core.algorithms.integrators.INTEGRATORS`."""
        return self._integrator

    @property
    def time(self) -> float:
        """Simulated time since the last reset, s."""
        return self.steps * self.time_step

    def wrenches(self) -> Array:
        """Return the wrenches of the k closures (k, 6), N m and N, under the last torques.

        Friction is that of the present velocities. See `ClosedChain.wrenches`.
        """
        load = self._load - self.chain.arm.friction_torque(self.qd)
        _, multipliers = self.chain.forward_dynamics(self.q, self.qd, load)
        return self.chain.wrenches(self.q, multipliers)

    def step(self, tau: ArrayLike, *, external: ArrayLike | None = None) -> None:
        """Advance by one time step. An error leaves the state as it was.

        Args:
            tau: (n,) commanded torques of the drives [N m or N], clamped to their limits; zero
                for joints without one.
            external: (n,) other joint torques, J^T F; not clamped.

        Raises:
            ShapeError: an argument does not have n entries.
            NotFinite: an argument is not finite.
            SimulationDiverged: the new state is not finite, or cannot be projected.
            SingularityError: the mechanism reaches or crosses a singular posture.
        """
        limit = self.chain.arm.model.effort_limit
        effort = np.clip(self._vector('tau', tau), -limit, limit)
        load = effort if external is None else effort + self._vector('external', external)
        with np.errstate(all='ignore'):
            stiff = stiff_friction(self.chain, self.q, self.qd, load, self.time_step)
            state = self._quick_step(load) if stiff is None else None
            if state is None:
                state = self._careful_step(load, stiff)
        protect(*state, effort)
        self.q, self.qd = state
        self.effort, self._load = effort, load
        self.steps += 1

    # -- a step ---------------------------------------------------------------------------------

    def _quick_step(self, load: Array) -> State | None:
        """Return the state one time step later, None where a singular posture may be near."""
        after = self._step(self.q, self.qd, load, self._time_step)
        speed = max(np.abs(self.qd).max(), np.abs(after.qd).max())
        # The angle between an equation and the sum of others is the root of its independence.
        near = (FAR * self.time_step * speed) ** 2
        # NaN counts as near.
        far = min(after.before.min(initial=1.0), after.after.min(initial=1.0)) > near
        return State(after.q, after.qd) if far and np.abs(after.phi).max() <= CLOSED else None

    def _careful_step(self, load: Array, stiff: Array | None) -> State:
        """Return the state one time step later, for any posture."""
        chain = self.chain

        def a(q: Array, qd: Array) -> Array:
            friction = chain.arm.friction_torque(qd) if stiff is None else stiff
            return chain.forward_dynamics(q, qd, load - friction).qdd

        before = chain.constraints(chain.terms(self.q, self.qd))
        method = INTEGRATORS[self.integrator].step
        try:
            state = self._closed(*method(a, self.q, self.qd, self.time_step))
        except np.linalg.LinAlgError:
            raise SimulationDiverged(self._diverged('became infinite')) from None
        after = chain.constraints(chain.terms(state.q, state.qd))
        if crossing(before, after) <= 0:
            raise SingularityError(
                f'after t = {self.time:.6g} s the mechanism passes a singular posture near '
                f'q = {state.q}: the motion is not unique there. Keep the '
                'mechanism away by its limits, its drives, or a stop'
            )
        return state

    def _closed(self, q: Array, qd: Array) -> State:
        """Return the nearest state in which the loops are closed, for any posture."""
        for _ in range(MAX_CORRECTIONS):
            if not (np.isfinite(q).all() and np.isfinite(qd).all()):
                raise SimulationDiverged(self._diverged('became infinite'))
            here = self.chain.terms(q, qd)
            factors = self.chain.constraints(here)
            if np.abs(here.phi).max() <= CLOSED:
                # J qd = 0
                return State(q, qd - least_change(factors, here.J @ qd))
            # J dq = -phi
            q = q - least_change(factors, here.phi)
        raise SimulationDiverged(self._diverged(f'leaves {np.abs(here.phi).max():.3g} m or rad'))

    def _diverged(self, what: str) -> str:
        return (
            f'the step after t = {self.time:.6g} s {what} where the loops should close; the '
            f'fastest joint moves at {np.abs(self.qd).max():.3g} per second: take a shorter '
            f'time_step than {self.time_step} s'
        )

    # -- arguments ------------------------------------------------------------------------------

    def _require_closed(self, q: Array, qd: Array) -> None:
        """Raise LoopNotClosed, with a remedy, unless (q, qd) satisfies the closures."""
        here = self.chain.terms(q, qd)
        gap, parting = np.abs(here.phi).max(), np.abs(here.J @ qd).max()
        if gap > START:
            raise LoopNotClosed(
                f'at q = {q} the loops are open by {gap:.3g} m or rad: start from '
                'chain.posture(q), the closed posture nearby'
            )
        if parting > START * (1 + np.abs(qd).max()):
            raise LoopNotClosed(
                f'velocities qd = {qd} violate the closures by {parting:.3g} m or rad per second: '
                'start from chain.velocity(q, qd), the nearest ones that satisfy them'
            )

    def _vector(self, name: str, value: ArrayLike) -> Array:
        return finite_vector(self.chain.arm.model, name, value)


# -- stiff friction -------------------------------------------------------------------------


def stiff_friction(chain: ClosedChain, q: Array, qd: Array, tau: Array, h: float) -> Array | None:
    """Return the friction torque (n,) of the velocities after a step, None if it is not stiff.

    Args:
        chain: the mechanism.
        q: (n,) closed posture at the start of the step.
        qd: (n,) velocities there.
        tau: (n,) all other torques, constant over the step.
        h: the step, s.
    """
    model = chain.arm.model
    if not (model.viscous.any() or model.coulomb.any()):
        return None
    here, speed = chain.terms(q, qd), np.maximum(np.abs(qd), STANDSTILL)
    # h f / (m v) >= 1, with 1/m = (M^-1)_jj of the open tree: in a loop a joint moves less freely
    slope = joint_friction(model.viscous, model.coulomb, speed) / speed
    if (h * slope * np.linalg.inv(here.M).diagonal() < 1).all():
        return None
    # (M + h F_v) v + p = M qd + h (tau - C qd - g) + J^T lambda,   J v = 0
    open_W = np.linalg.inv(here.M + h * np.diag(model.viscous))
    factors = constraints(here.M + h * np.diag(model.viscous), here.J, chain.independent)
    free = open_W @ (here.M @ qd + h * (tau - here.b))
    W = open_W - least_change(factors, open_W @ here.J.T)
    # A joint that the loops hold still has no mobility but rounding.
    np.fill_diagonal(W, np.maximum(W.diagonal(), IMMOBILE * open_W.diagonal()))
    d = h * model.coulomb
    slowed = solved_by_arrays(
        W, free - least_change(factors, here.J @ free), lambda s, m: without_memory(s, m, d)
    )
    return np.asarray(model.viscous * slowed.v + slowed.p / h)
