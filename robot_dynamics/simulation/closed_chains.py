"""A mechanism with loops under torques, one fixed step at a time.

    simulator = ClosedLoopSimulator(ClosedChain(Dynamics(tree), closures, near=posture))
    simulator.step(tau)
    simulator.time, simulator.q, simulator.qd, simulator.wrenches()

A step integrates the accelerations that the closures allow, and then puts position and velocity
back where the loops are exactly closed: the nearest such state, measured by the mass matrix. The
correction is as small as the integrator's own error, so that its order stays what it is, and
nothing drifts apart, however long the run.

Far from singular postures a step is a compiled program (`algorithms.loop_motion`); near one, and
where friction is stiff, singular values decide (`loops.least_constraint`).

A linkage whose links line up can go on in more than one way. The simulator does not choose: it
raises SingularityError and keeps the state before.

Source: Hairer and Wanner, Solving Ordinary Differential Equations II (1996), section VII.2,
projection methods.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.algorithms.integrators import INTEGRATORS, Integrator, rk4
from robot_dynamics.algorithms.simulation_step import State
from robot_dynamics.closed_chains import ClosedChain
from robot_dynamics.closed_chains.assembly import CLOSED
from robot_dynamics.closed_chains.least_constraint import crossing, least_change
from robot_dynamics.errors import LoopNotClosed, SingularityError
from robot_dynamics.rollout import checked_time_step
from robot_dynamics.simulation.arguments import finite_vector, protect
from robot_dynamics.simulation.closed_chain_friction import stiff_friction
from robot_dynamics.simulation.errors import SimulationDiverged
from robot_dynamics.simulation.steps.integrators import integrator_name
from robot_dynamics.spatial import Array

# A start that is farther from closed than rounded numbers can be is refused.
START = 1e-6  # m, or rad between directions; per second for velocities

MAX_CORRECTIONS = 10  # Newton steps; one is enough unless the time step is far too long

# A posture is far from singular if it could not become so within this many steps.
FAR = 10.0


class ClosedLoopSimulator:
    """A mechanism with loops that has a state. The arrays it hands out are read-only.

    Attributes:
        chain: its dynamics.
        time_step: s.
        integrator: one of `algorithms.integrators`, given by itself or by name.
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
        integrator: Integrator | str = rk4,
    ):
        """Start at rest in the posture the chain was assembled in, unless told otherwise.

        Raises:
            LoopNotClosed: the loops are not closed at q, or would part at qd.
            SingularityError: the posture is singular.
            ShapeError: q or qd does not have n entries.
            NotFinite: q or qd is not finite.
            ValueError: the time step is not positive, or the integrator not one of those.
        """
        self.chain = chain
        self.time_step = checked_time_step(time_step)
        name = integrator_name(integrator)
        self._step = chain.simulation_step(name)
        self.integrator = INTEGRATORS[name]
        self._time_step = np.array([time_step])
        self.reset(q, qd)

    def reset(self, q: ArrayLike | None = None, qd: ArrayLike | None = None) -> None:
        """Put the mechanism at (q, qd), as assembled and at rest where omitted; time to zero.

        Raises as the constructor. Numbers that miss a closed state by no more than rounding are
        put right.
        """
        n = self.chain.arm.model.n
        start = self._vector('q', self.chain.q0 if q is None else q)
        velocity = self._vector('qd', np.zeros(n) if qd is None else qd)
        # What overflows raises an error of its own, without NumPy's warnings.
        with np.errstate(all='ignore'):
            self._require_closed(start, velocity)
            self.q, self.qd = self._closed(start, velocity)
        self.effort: Array = np.zeros(n)
        self._load: Array = np.zeros(n)
        self.steps = 0
        protect(self.q, self.qd, self.effort)

    @property
    def time(self) -> float:
        """Simulated time since the last reset, s."""
        return self.steps * self.time_step

    def wrenches(self) -> Array:
        """Return what the closures bear now, (k, 6), under the torques of the last step.

        Friction is that of the present velocities. See `ClosedChain.wrenches`.
        """
        load = self._load - self.chain.arm.friction_torque(self.qd)
        _, multipliers = self.chain.forward_dynamics(self.q, self.qd, load)
        return self.chain.wrenches(self.q, multipliers)

    def step(self, tau: ArrayLike, *, external: ArrayLike | None = None) -> None:
        """Advance by one time step. Whatever is raised, the state is left as it was.

        Args:
            tau: (n,) commanded torques of the drives [N m or N], clamped to their limits; zero
                for joints without one.
            external: (n,) joint torques of whatever else pushes, J^T F; not clamped.

        Raises:
            ShapeError: an argument does not have n entries.
            NotFinite: an argument is not finite.
            SimulationDiverged: the new state is not finite, or the loops cannot be closed there.
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
        # Written so that NaN is near.
        far = min(after.before.min(initial=1.0), after.after.min(initial=1.0)) > near
        return State(after.q, after.qd) if far and np.abs(after.phi).max() <= CLOSED else None

    def _careful_step(self, load: Array, stiff: Array | None) -> State:
        """Return the state one time step later, whatever the posture."""
        chain = self.chain

        def a(q: Array, qd: Array) -> Array:
            friction = chain.arm.friction_torque(qd) if stiff is None else stiff
            return chain.forward_dynamics(q, qd, load - friction).qdd

        before = chain.grip(chain.terms(self.q, self.qd))
        try:
            state = self._closed(*self.integrator(a, self.q, self.qd, self.time_step))
        except np.linalg.LinAlgError:
            raise SimulationDiverged(self._diverged('became infinite')) from None
        after = chain.grip(chain.terms(state.q, state.qd))
        if crossing(before, after) <= 0:
            raise SingularityError(
                f'after t = {self.time:.6g} s the mechanism passes a singular posture near '
                f'q = {state.q}: links line up, and it may go on in more than one way. Keep it '
                'away from there by its limits, its drives, or a link with a stop'
            )
        return state

    def _closed(self, q: Array, qd: Array) -> State:
        """Return the nearest state in which the loops are closed, whatever the posture."""
        for _ in range(MAX_CORRECTIONS):
            if not (np.isfinite(q).all() and np.isfinite(qd).all()):
                raise SimulationDiverged(self._diverged('became infinite'))
            here = self.chain.terms(q, qd)
            hold = self.chain.grip(here)
            if np.abs(here.phi).max() <= CLOSED:
                # J qd = 0
                return State(q, qd - least_change(hold, here.J @ qd))
            # J dq = -phi
            q = q - least_change(hold, here.phi)
        raise SimulationDiverged(self._diverged(f'leaves {np.abs(here.phi).max():.3g} m or rad'))

    def _diverged(self, what: str) -> str:
        return (
            f'the step after t = {self.time:.6g} s {what} where the loops should close; the '
            f'fastest joint moves at {np.abs(self.qd).max():.3g} per second: take a shorter '
            f'time_step than {self.time_step} s'
        )

    # -- arguments ------------------------------------------------------------------------------

    def _require_closed(self, q: Array, qd: Array) -> None:
        """Raise LoopNotClosed, which says what to do, unless (q, qd) is a closed state."""
        here = self.chain.terms(q, qd)
        gap, parting = np.abs(here.phi).max(), np.abs(here.J @ qd).max()
        if gap > START:
            raise LoopNotClosed(
                f'at q = {q} the loops are open by {gap:.3g} m or rad: start from '
                'chain.posture(q), the closed posture nearby'
            )
        if parting > START * (1 + np.abs(qd).max()):
            raise LoopNotClosed(
                f'velocities qd = {qd} would part the loops by {parting:.3g} m or rad per second: '
                'start from chain.velocity(q, qd), the nearest that fit'
            )

    def _vector(self, name: str, value: ArrayLike) -> Array:
        return finite_vector(self.chain.arm.model, name, value)
