# SPDX-License-Identifier: Apache-2.0
"""Rigid-body dynamics of one robot, as functions of arrays.

    arm = Dynamics(load_urdf('panda.urdf'))
    tau = arm.inverse_dynamics(q, qd, qdd)

The equation of motion throughout is

    M(q) qdd + C(q, qd) qd + g(q) + friction(qd) = tau + J(q)^T F_ext

`friction_torque` is its friction term. `simulate` and `rollout` include friction and
`forward_dynamics` leaves it out, unless `friction='none'` or `'model'` says otherwise; every other
method leaves it out. docs/guides/simulation.md has the table for the whole package.

The algorithm behind each method is registered under the method's name in `programs.ALGORITHMS`.
"""
# The bodies of compiled methods are their docstrings.
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.codegen.calls import CompiledFunction
from robot_dynamics.common.errors import SingularityError
from robot_dynamics.common.made_once import made_once
from robot_dynamics.common.spatial import Array
from robot_dynamics.core import rollout as stepping
from robot_dynamics.core.algorithms.coriolis import Terms
from robot_dynamics.core.algorithms.derivatives import Derivatives
from robot_dynamics.core.algorithms.forward_dynamics_derivatives import AccelerationDerivatives
from robot_dynamics.core.algorithms.integrators import INTEGRATORS, check_integrator
from robot_dynamics.core.algorithms.linearization import Linearization
from robot_dynamics.core.algorithms.momentum import Momentum
from robot_dynamics.core.algorithms.operational_space import ALL_DIRECTIONS, OperationalSpace
from robot_dynamics.core.algorithms.simulation_step import State
from robot_dynamics.core.base_motion import zero_moment_point
from robot_dynamics.core.compiled_robot import SINGULAR, CompiledRobot, compiled, couples_too_many
from robot_dynamics.core.model.canonical import ROUNDING
from robot_dynamics.core.model.inertia import Inertial, to_parameters
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.moving_base import MovingBaseDynamics
from robot_dynamics.core.programs import ALGORITHMS, Programs, make_all_kernels

# The default integrator.
DEFAULT_INTEGRATOR = 'semi_implicit_euler'


class Dynamics(CompiledRobot):
    """Rigid-body dynamics of one robot, compiled on first use.

    Arguments are array-like with shape (..., n); leading axes broadcast as in NumPy. Results are
    new C-ordered float64 arrays, or `out=` where one is given (a tuple for several results).
    Result arrays are recycled once unreferenced, their views included. Positions are in rad or m,
    torques in N m or N; six-vectors have the angular part first.

    Every method raises ShapeError, which names the argument, for a wrong shape or type, more than
    30 leading axes, or an `out=` that shares memory with another argument or overlaps itself.
    Values are not checked: NaN and infinity propagate to the results, as in NumPy, and nothing is
    raised or printed; the simulator and the nodes reject them. Angles of magnitude above 2^40 rad
    (about 1.1e12) give NaN in machine code: neighbouring float64 numbers are 1e-4 rad apart there.

    Friction is not included unless a method says so: see the table in docs/guides/simulation.md.

    Methods can be pickled (`multiprocessing`, Dask), as can the object: the other process compiles
    them again, or finds them in the cache.

    The first use of a method compiles it, in 20 ms to 1 s for an arm, or finds it in the cache on
    disk, in 5 ms. `precompile` does that beforehand.

    Model parameters are compiled in as constants. Where gravity or a payload changes while a
    controller runs, make them inputs instead, and compile beforehand:

        arm.with_payload('tool', 0.0).precompile('inverse_dynamics')
        ...
        loaded = arm.with_payload('tool', 1.2, [0.0, 0.0, 0.1])   # nothing is compiled: 0.3 ms
        tau = loaded.inverse_dynamics(q, qd, qdd)

    The first call of a method then costs 0.1 ms, each later one a tenth more than with constants,
    forward dynamics and a simulated step a fifth; a sample of a batch a fifth to two thirds. `arm`
    stays as it was: a control loop may keep using it until another thread hands over the new one.
    `with_payload` on an arm that carries a payload adds a second one; to replace a payload, call
    it on the arm without payload.

    Args:
        model: the robot.
        snap: model parameters within this distance of 0 and 1 are set to it. The default removes
            rounding errors only; see `model.canonical` for 1e-11.
        backend: 'llvm' for machine code, 'python' for none, 'auto' for the fastest available.

    Attributes:
        model: the robot, under its present gravity and with its payloads.
        programs: its compiled programs.
    """

    def __init__(self, model: RobotModel, *, snap: float = ROUNDING, backend: str = 'auto'):
        super().__init__(model, Programs.of(model, snap, backend))

    # -- the same robot, changed ------------------------------------------------------------------

    def with_gravity(self, gravity: ArrayLike) -> Dynamics:
        """Return the dynamics under another gravity vector (3,) [m/s^2], in the base frame.

        The first change compiles programs with gravity as an argument, which all later ones use.
        Raises ModelError for another shape.
        """
        model = self.model.with_gravity(gravity)
        return self._varied(model, self.programs.varied(model.gravity))

    def with_payload(
        self,
        link: str,
        mass: float,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
    ) -> Dynamics:
        """Return the dynamics with a payload on a link.

        Only the first payload ever on this link compiles; one of mass 0 is enough for that. A
        second payload on the link adds to the first.

        Args:
            link: name of the link or frame.
            mass: kg.
            com: (3,) centre of mass in the frame of the link, m.
            inertia: (3, 3) about the centre of mass, kg m^2; zero if None.

        Raises:
            FrameNotFound: the model has no such link.
            ModelError: a negative or non-finite value, or a link that is fixed to the base.
        """
        model = self.model.with_payload(link, mass, com, inertia)
        tensor = np.zeros((3, 3)) if inertia is None else np.asarray(inertia, dtype=float)
        payload = to_parameters(Inertial(float(mass), np.asarray(com, dtype=float), tensor))
        return self._varied(model, self.programs.varied(model.gravity, link, payload))

    def without_friction(self) -> Dynamics:
        """Return the dynamics of the same robot without friction."""
        model = self.model.with_actuation(viscous=0.0, coulomb=0.0)
        return self._varied(model, self.programs.without_friction())

    def without_dry_friction(self) -> Dynamics:
        """Return the dynamics of the same robot with viscous friction alone."""
        model = self.model.with_actuation(coulomb=0.0)
        return self._varied(model, self.programs.without_dry_friction())

    def on_moving_base(self) -> MovingBaseDynamics:
        """Return the dynamics of the robot, with its payload, on a base that moves.

        Its programs are compiled on first use; those of the fixed base stay as they are.
        """
        return MovingBaseDynamics(self.model, self.programs.on_moving_base())

    # -- the equation of motion -------------------------------------------------------------------

    @compiled
    def inverse_dynamics(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """Return the joint torques of a motion: tau = M(q) qdd + C(q, qd) qd + g(q).

        Args:
            q: (..., n) joint positions, rad or m.
            qd: (..., n) joint velocities, rad/s or m/s.
            qdd: (..., n) joint accelerations, rad/s^2 or m/s^2.
            out: (..., n) float64, receives the result; fastest if C-contiguous.

        Returns:
            (..., n) joint torques, N m or N.

        Raises:
            ShapeError: an argument does not end in n entries, or `out` does not fit.

        Source: Luh, Walker and Paul 1980; Featherstone 2008, table 5.1.
        """

    @compiled
    def mass_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Return the mass matrix M(q), symmetric and positive definite, rotors included.

        Args:
            q: (..., n) joint positions, rad or m.
            out: (..., n, n) float64, receives the result; fastest if C-contiguous.

        Returns:
            (..., n, n) inertia between the joints, kg m^2, kg m or kg.

        Raises:
            ShapeError: an argument does not end in n entries, or `out` does not fit.

        Source: Walker and Orin 1982; Featherstone 2008, table 6.2.
        """

    @compiled
    def coriolis_matrix(self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None) -> Array:
        """Return the Coriolis matrix C(q, qd) of Christoffel symbols: dM/dt - 2 C is skew.

        Args:
            q: (..., n) joint positions, rad or m.
            qd: (..., n) joint velocities, rad/s or m/s.
            out: (..., n, n) float64, receives the result; fastest if C-contiguous.

        Returns:
            (..., n, n) matrix such that C qd is the Coriolis and centrifugal torque.

        Raises:
            ShapeError: an argument does not end in n entries, or `out` does not fit.

        Source: Spong, Hutchinson and Vidyasagar, (6.63) and (6.67); Echeandia and Wensing 2021.
        """

    @compiled
    def gravity_torque(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Return g(q), the joint torques that hold the robot against gravity.

        Args:
            q: (..., n) joint positions, rad or m.
            out: (..., n) float64, receives the result; fastest if C-contiguous.

        Returns:
            (..., n) joint torques, N m or N.

        Raises:
            ShapeError: an argument does not end in n entries, or `out` does not fit.

        Source: Spong, Hutchinson and Vidyasagar, (6.68).
        """

    @compiled
    def gravity_torque_derivative(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Return dg/dq, the stiffness of gravity: symmetric, the Hessian of the potential energy.

        Args:
            q: (..., n) joint positions, rad or m.
            out: (..., n, n) float64, receives the result; fastest if C-contiguous.

        Returns:
            (..., n, n) derivatives, row i of g_i, N m/rad, N m/m or N/m.

        Raises:
            ShapeError: an argument does not end in n entries, or `out` does not fit.

        Source: derivative of Spong, Hutchinson and Vidyasagar, (6.68).
        """

    @compiled
    def coriolis_torque(self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None) -> Array:
        """Return the Coriolis and centrifugal torque C(q, qd) qd.

        Args:
            q: (..., n) joint positions, rad or m.
            qd: (..., n) joint velocities, rad/s or m/s.
            out: (..., n) float64, receives the result; fastest if C-contiguous.

        Returns:
            (..., n) joint torques, N m or N.

        Raises:
            ShapeError: an argument does not end in n entries, or `out` does not fit.

        Source: Featherstone 2008, table 5.1, without gravity.
        """

    @compiled
    def bias_torque(self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None) -> Array:
        """Return C(q, qd) qd + g(q), the joint torques without acceleration.

        Args:
            q: (..., n) joint positions, rad or m.
            qd: (..., n) joint velocities, rad/s or m/s.
            out: (..., n) float64, receives the result; fastest if C-contiguous.

        Returns:
            (..., n) joint torques, N m or N.

        Raises:
            ShapeError: an argument does not end in n entries, or `out` does not fit.

        Source: Featherstone 2008, table 5.1, without acceleration.
        """

    @compiled
    def friction_torque(self, qd: ArrayLike, *, out: Array | None = None) -> Array:
        """Return viscous and dry friction, F_v qd + F_s tanh(qd / v_0).

        Args:
            qd: (..., n) joint velocities, rad/s or m/s.
            out: (..., n) float64, receives the result; fastest if C-contiguous.

        Returns:
            (..., n) torques that the motors supply against friction, N m or N.

        Raises:
            ShapeError: an argument does not end in n entries, or `out` does not fit.

        Source: lecture notes, Lagrangian formulation, generalized forces.
        """

    def motor_torque(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Return the torques of the motors in a motion, friction included.

        Args:
            q: (..., n) joint positions, rad or m.
            qd: (..., n) joint velocities, rad/s or m/s.
            qdd: (..., n) joint accelerations, rad/s^2 or m/s^2.

        Returns:
            (..., n) torques, N m or N.

        Raises:
            ShapeError: an argument does not end in n entries.
        """
        # M qdd + C qd + g + friction(qd)
        return self.inverse_dynamics(q, qd, qdd) + self.friction_torque(qd)

    @compiled
    def terms(
        self, q: ArrayLike, qd: ArrayLike, *, out: tuple[Array, Array, Array] | None = None
    ) -> Terms:
        """Return the mass matrix, the Coriolis matrix and the gravity torque in one pass.

        Args:
            q: (..., n) joint positions, rad or m.
            qd: (..., n) joint velocities, rad/s or m/s.
            out: float64 arrays (..., n, n), (..., n, n) and (..., n) that receive the results.

        Returns:
            Terms(M, C, g) with shapes (..., n, n), (..., n, n) and (..., n).

        Raises:
            ShapeError: an argument does not end in n entries, or `out` does not fit.

        Source: as `mass_matrix`, `coriolis_matrix` and `gravity_torque`.
        """

    @compiled
    def inverse_dynamics_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        out: tuple[Array, Array, Array] | None = None,
    ) -> Derivatives:
        """Return the partial derivatives of inverse dynamics.

        Args:
            q: (..., n) joint positions, rad or m.
            qd: (..., n) joint velocities, rad/s or m/s.
            qdd: (..., n) joint accelerations, rad/s^2 or m/s^2.
            out: three float64 arrays (..., n, n) that receive the results.

        Returns:
            Derivatives(dtau_dq, dtau_dqd, M), each (..., n, n); row i belongs to tau_i, and M is
            dtau/dqdd.

        Raises:
            ShapeError: an argument does not end in n entries, or `out` does not fit.

        Source: Carpentier and Mansard 2018; Echeandia and Wensing 2021.
        """

    @compiled
    def momentum(
        self, q: ArrayLike, qd: ArrayLike, *, out: tuple[Array, Array] | None = None
    ) -> Momentum:
        """Return the generalized momentum, and its rate by the robot's own terms.

            d(M qd)/dt = C^T qd - g + tau - friction + J^T F_ext

        C is that of `coriolis_matrix`; C^T qd is the gradient of the kinetic energy by q.

        Args:
            q: (..., n) joint positions, rad or m.
            qd: (..., n) joint velocities, rad/s or m/s.
            out: float64 arrays (..., n) and (..., n) that receive the results.

        Returns:
            Momentum(p, rate), each (..., n): p = M(q) qd, rotors included, N m s or N s, and
            rate = C(q, qd)^T qd - g(q), N m or N.

        Raises:
            ShapeError: an argument does not end in n entries, or `out` does not fit.

        Source: De Luca and Mattone 2003; Haddadin, De Luca and Albu-Schäffer 2017.
        """

    @compiled
    def kinetic_energy(self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None) -> Array:
        """Return the kinetic energy K = qd^T M(q) qd / 2, rotors included.

        Args:
            q: (..., n) joint positions, rad or m.
            qd: (..., n) joint velocities, rad/s or m/s.
            out: (...) float64, receives the result.

        Returns:
            (...) energy, J; a number for a single state.

        Raises:
            ShapeError: an argument does not end in n entries, or `out` does not fit.

        Source: Spong, Hutchinson and Vidyasagar, section 6.2.
        """

    @compiled
    def potential_energy(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Return the potential energy P(q), zero at the height of the base's origin: g = dP/dq.

        Args:
            q: (..., n) joint positions, rad or m.
            out: (...) float64, receives the result.

        Returns:
            (...) energy, J; a number for a single state.

        Raises:
            ShapeError: an argument does not end in n entries, or `out` does not fit.

        Source: Spong, Hutchinson and Vidyasagar, section 6.2.
        """

    @compiled
    def regressor(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """Return the regressor Y: tau = Y pi + B qdd, pi = `model.inertial_parameters()`.

        B is the reflected inertia of the rotors, zero unless the model has rotors.

        Args:
            q: (..., n) joint positions, rad or m.
            qd: (..., n) joint velocities, rad/s or m/s.
            qdd: (..., n) joint accelerations, rad/s^2 or m/s^2.
            out: (..., n, 10 nb) float64, receives the result; fastest if C-contiguous.

        Returns:
            (..., n, 10 nb) regressor; ten columns per body, in the order of its parameters.

        Raises:
            ShapeError: an argument does not end in n entries, or `out` does not fit.

        Source: Spong, Hutchinson and Vidyasagar, (6.122); Atkeson, An and Hollerbach 1986.
        """

    # -- at the base ------------------------------------------------------------------------------

    @compiled
    def base_wrench(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """Return the wrench that the mount exerts on the robot, links fixed to the base included.

        It is what the bolts, or a force sensor under the base, carry. Rotors act on their joints
        alone, as in all equations here.

        Args:
            q: (..., n) joint positions, rad or m.
            qd: (..., n) joint velocities, rad/s or m/s.
            qdd: (..., n) joint accelerations, rad/s^2 or m/s^2.
            out: (..., 6) float64, receives the result; fastest if C-contiguous.

        Returns:
            (..., 6) wrench in the base frame about its origin, moment first, N m and N.

        Raises:
            ShapeError: an argument does not end in n entries, or `out` does not fit.

        Source: Luh, Walker and Paul 1980; Featherstone 2008, table 5.1.
        """

    @compiled
    def base_wrench_regressor(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """Return the regressor Y of the base wrench: F = Y pi, links fixed to the base included.

        pi is `model.inertial_parameters()` and then the ten parameters of these links,
        `to_parameters(model.base)`, about the base frame.

        Args:
            q: (..., n) joint positions, rad or m.
            qd: (..., n) joint velocities, rad/s or m/s.
            qdd: (..., n) joint accelerations, rad/s^2 or m/s^2.
            out: (..., 6, 10 nb + 10) float64, receives the result; fastest if C-contiguous.

        Returns:
            (..., 6, 10 nb + 10) regressor; rows as `base_wrench`, ten columns per body.

        Raises:
            ShapeError: an argument does not end in n entries, or `out` does not fit.

        Source: Atkeson, An and Hollerbach 1986.
        """

    def zero_moment_point(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, height: float = 0.0
    ) -> Array:
        """Return the point where the mount could hold the robot without a tipping moment.

        Of a robot whose base stands on a floor normal to z of the base frame: outside the area of
        support, the robot tips over.

        Args:
            q: (..., n) joint positions, rad or m.
            qd: (..., n) joint velocities, rad/s or m/s.
            qdd: (..., n) joint accelerations, rad/s^2 or m/s^2.
            height: of the floor, z in the base frame, m.

        Returns:
            (..., 2) x and y in the base frame, m; NaN where the floor would have to pull.

        Raises:
            ShapeError: an argument does not end in n entries.

        Source: Vukobratović and Borovac 2004.
        """
        return zero_moment_point(self.base_wrench(q, qd, qdd), height)

    # -- at a frame -------------------------------------------------------------------------------

    def forward_kinematics(self, q: ArrayLike, frame: str, *, out: Array | None = None) -> Array:
        """Return the pose of a frame in the base frame.

        Args:
            q: (..., n) joint positions, rad or m.
            frame: a name of `model.frame_names`.
            out: (..., 4, 4) float64, receives the result.

        Returns:
            (..., 4, 4) homogeneous transformation T_wf.

        Raises:
            FrameNotFound: the model has no such frame; the message lists those it has.
            ShapeError: an argument does not end in n entries, or `out` does not fit.

        Source: Lynch and Park 2017, chapter 4.
        """
        result: Array = self._at(frame, 'forward_kinematics')(q, out=out)
        return result

    def jacobian(self, q: ArrayLike, frame: str, *, out: Array | None = None) -> Array:
        """Return the Jacobian of a frame, world-aligned at its origin: V = J qd.

        Args:
            q: (..., n) joint positions, rad or m.
            frame: a name of `model.frame_names`.
            out: (..., 6, n) float64, receives the result.

        Returns:
            (..., 6, n) matrix, the angular part first.

        Raises:
            FrameNotFound: the model has no such frame; the message lists those it has.
            ShapeError: an argument does not end in n entries, or `out` does not fit.

        Source: Siciliano, Sciavicco, Villani and Oriolo 2009, section 3.1.
        """
        result: Array = self._at(frame, 'jacobian')(q, out=out)
        return result

    def jacobian_dot(
        self, q: ArrayLike, qd: ArrayLike, frame: str, *, out: Array | None = None
    ) -> Array:
        """Return the time derivative of the Jacobian of a frame: dV/dt = J qdd + Jd qd.

        Args:
            q: (..., n) joint positions, rad or m.
            qd: (..., n) joint velocities, rad/s or m/s.
            frame: a name of `model.frame_names`.
            out: (..., 6, n) float64, receives the result.

        Returns:
            (..., 6, n) matrix, the angular part first.

        Raises:
            FrameNotFound: the model has no such frame; the message lists those it has.
            ShapeError: an argument does not end in n entries, or `out` does not fit.

        Source: Siciliano, Sciavicco, Villani and Oriolo 2009, section 3.1.
        """
        result: Array = self._at(frame, 'jacobian_dot')(q, qd, out=out)
        return result

    def wrench_torque(
        self, q: ArrayLike, wrench: ArrayLike, frame: str, *, out: Array | None = None
    ) -> Array:
        """Return the joint torques equivalent to a wrench on the robot: tau = J^T F.

        Args:
            q: (..., n) joint positions, rad or m.
            wrench: (..., 6) that the environment exerts on the robot, world-aligned at the frame's
                origin, moment first, N m and N.
            frame: a name of `model.frame_names`.
            out: (..., n) float64, receives the result.

        Returns:
            (..., n) joint torques, N m or N.

        Raises:
            FrameNotFound: the model has no such frame; the message lists those it has.
            ShapeError: q does not end in n entries, the wrench not in 6, or `out` does not fit.

        Source: Lynch and Park, draft (9.81).
        """
        result: Array = self._at(frame, 'wrench_torque')(q, wrench, out=out)
        return result

    def operational_space(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        frame: str,
        *,
        directions: Sequence[int] = ALL_DIRECTIONS,
    ) -> OperationalSpace:
        """Return the dynamics at a frame: Lambda dV/dt + eta = F, eta = mu + p.

        Args:
            q: (..., n) joint positions, rad or m.
            qd: (..., n) joint velocities, rad/s or m/s.
            frame: a name of `model.frame_names`.
            directions: the k of the six directions (w, v) to keep, for a robot that cannot move
                in all of them: (3, 4) for an arm in the x-y plane.

        Returns:
            OperationalSpace(Lambda, eta, mu, p) with shapes (..., k, k) and (..., k). Their
            relative error is of the size of 1e-16 / s, with s the smallest singular value of the
            Jacobian relative to the largest.

        Raises:
            FrameNotFound: the model has no such frame; the message lists those it has.
            ShapeError: an argument does not end in n entries.
            SingularityError: the frame cannot move in one of the directions: s is below 1e-12.

        Source: Khatib 1987; Lynch and Park, draft (9.97) to (9.99).
        """
        kept = tuple(directions)
        values = np.linalg.svd(self.jacobian(q, frame)[..., kept, :], compute_uv=False)
        if self.model.n < len(kept) or np.any(values[..., -1] <= SINGULAR * values[..., 0]):
            raise SingularityError(
                f'frame {frame!r} cannot move in all of the directions {kept}: the singular '
                f'values of its Jacobian are {values}'
            )
        result: OperationalSpace = self._at(frame, 'operational_space', kept)(q, qd)
        return result

    def frame_program(self, method: str, frame: str) -> CompiledFunction:
        """Return the program of a compiled method that takes a frame. Raises FrameNotFound."""
        return self._frame_program(frame, method)

    # -- motion -----------------------------------------------------------------------------------
    #
    # Friction is a smooth function of the velocities here: dry friction is F_s tanh(qd / v_0), 0
    # at standstill, where a joint that is pushed by less than F_s creeps at less than v_0.
    # `simulation.Simulator` with friction law 'stick_slip' keeps such a joint at rest.

    @compiled
    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        out: Array | None = None,
        friction: str = 'none',
    ) -> Array:
        """Return the joint accelerations under torques: qdd = M^-1 (tau - C qd - g).

        Args:
            q: (..., n) joint positions, rad or m.
            qd: (..., n) joint velocities, rad/s or m/s.
            tau: (..., n) torques of the motors, and external joint torques, N m or N.
            out: (..., n) float64, receives the result; fastest if C-contiguous.
            friction: 'none', or 'model' to subtract `friction_torque(qd)` from the torques, dry
                friction being zero at standstill; its first use compiles another program.

        Returns:
            (..., n) joint accelerations, rad/s^2 or m/s^2.

        Raises:
            ModelError: a joint, which the message names, moves no inertia: its acceleration is
                undefined. Raised on access to the method.
            ShapeError: an argument does not end in n entries, or `out` does not fit.
            ValueError: friction is neither 'none' nor 'model'.

        Source: Lynch and Park, draft section 9.5; Featherstone 2008, chapters 6 and 7.
        """

    @compiled
    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        out: tuple[Array, Array, Array] | None = None,
        friction: str = 'none',
    ) -> AccelerationDerivatives:
        """Return the partial derivatives of forward dynamics.

        Args:
            q: (..., n) joint positions, rad or m.
            qd: (..., n) joint velocities, rad/s or m/s.
            tau: (..., n) torques of the motors, and external joint torques, N m or N.
            out: three float64 arrays (..., n, n) that receive the results.
            friction: 'none' or 'model', as for `forward_dynamics`.

        Returns:
            AccelerationDerivatives(dqdd_dq, dqdd_dqd, M_inverse), each (..., n, n); row i belongs
            to qdd_i, and M_inverse is dqdd/dtau.

        Raises:
            ModelError: a joint, which the message names, moves no inertia, or the robot has more
                coupled joints than a chain of 40, some of which follow others. Raised on access to
                the method.
            ShapeError: an argument does not end in n entries, or `out` does not fit.
            ValueError: friction is neither 'none' nor 'model'.

        Source: Carpentier and Mansard 2018.
        """

    def linearize(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        time_step: float | None = None,
        integrator: str = DEFAULT_INTEGRATOR,
        friction: str = 'none',
        out: tuple[Array, Array] | None = None,
    ) -> Linearization:
        """Return the linear model of the motion about a state: dx/dt or x' by x and tau.

        The state is x = (q, qd). Without a time step, A and B are the derivatives of
        dx/dt = (qd, forward_dynamics); with one, those of the state x' that `simulate` reaches by
        one step under constant torques, exact for its integrator.

        Args:
            q: (..., n) joint positions, rad or m.
            qd: (..., n) joint velocities, rad/s or m/s.
            tau: (..., n) torques of the motors, and external joint torques, N m or N.
            time_step: s; None for continuous time.
            integrator: of the step, as for `simulate`.
            friction: 'none', or 'model': viscous and smooth dry friction, whose derivative is
                F_s / v_0 at standstill. With a time step it is taken as `simulate` takes it.
            out: two float64 arrays (..., 2 n, 2 n) and (..., 2 n, n) that receive the results.

        Returns:
            Linearization(A, B) with shapes (..., 2 n, 2 n) and (..., 2 n, n).

        Raises:
            ModelError: a joint, which the message names, moves no inertia, or the robot has more
                coupled joints than a chain of 40.
            ShapeError: an argument does not end in n entries, or `out` does not fit.
            ValueError: time_step, integrator or friction is not one of these, or viscous friction
                could reverse a joint within a step of this integrator.

        Source: Carpentier and Mansard 2018; chain rule through the integrator.
        """
        if time_step is None:
            program = self.linearization(None, friction)
            result: Linearization = program.call(q, qd, tau, out=out)
            return result
        program = self.linearization(integrator, friction)
        h = stepping.checked_time_step(time_step)
        self._require_resolved(integrator, friction, h)
        result = program.call(q, qd, tau, [h], out=out)
        return result

    def linearization(self, integrator: str | None, friction: str = 'none') -> CompiledFunction:
        """Return the program of `linearize`, without its checks.

        Args:
            integrator: of a step, program(q, qd, tau, time_step) -> Linearization(A, B) with
                `time_step` an array (1,) [s]; None for continuous time, program(q, qd, tau).
            friction: 'none' or 'model'.

        Raises:
            ModelError, ValueError: as `linearize`.
        """
        stepping.check_friction(friction)
        if integrator is None:
            return self._kept('linearization', friction)
        check_integrator(integrator)
        return self._kept('step_linearization', integrator, friction)

    def simulate(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        steps: int,
        time_step: float = 1e-3,
        integrator: str = DEFAULT_INTEGRATOR,
        friction: str = 'model',
    ) -> State:
        """Return the state after some steps under constant torques.

        Effort and position limits are left to the caller. A motion that diverges ends in numbers
        that are not finite.

        Args:
            q: (..., n) joint positions, rad or m.
            qd: (..., n) joint velocities, rad/s or m/s.
            tau: (..., n) torques of the motors, and external joint torques, N m or N.
            steps: number of steps, 0 or more.
            time_step: s.
            integrator: 'semi_implicit_euler', the only one for stiff viscous friction, 'rk4' or
                'explicit_euler': see `algorithms.simulation_step`.
            friction: 'model' or 'none'.

        Returns:
            State(q, qd), each (..., n).

        Raises:
            ModelError: a joint, which the message names, moves no inertia.
            ShapeError: an argument does not end in n entries.
            ValueError: steps, time_step, integrator or friction is not one of these; viscous
                friction could reverse a joint within a step of this integrator; or the robot has
                more than 40 joints with dry friction.
        """
        step = self._resolved_step(integrator, friction, time_step)
        return stepping.simulate(step, q, qd, tau, steps=steps, time_step=time_step)

    def rollout(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        time_step: float = 1e-3,
        integrator: str = DEFAULT_INTEGRATOR,
        friction: str = 'model',
    ) -> State:
        """Return the trajectory from one state under given torques.

        Args:
            q: (n,) joint positions at the start, rad or m.
            qd: (n,) joint velocities at the start, rad/s or m/s.
            tau: (steps, n) torques, N m or N; each row is held over its step.
            time_step: s.
            integrator: as for `simulate`.
            friction: 'model' or 'none'.

        Returns:
            State(q, qd), each (steps + 1, n); row 0 is the start.

        Raises:
            ModelError, ShapeError, ValueError: as `simulate`.
        """
        step = self._resolved_step(integrator, friction, time_step)
        return stepping.rollout(step, q, qd, tau, time_step=time_step)

    # -- picture ----------------------------------------------------------------------------------

    def plot(self, q: ArrayLike, file: str | Path | None = None) -> Any:
        """Draw the robot in a posture: links, joint axes, and inertia ellipsoids.

        Args:
            q: (n,) joint positions, rad or m.
            file: to save the figure.

        Returns:
            The matplotlib Figure.

        Raises:
            MatplotlibMissing: it is not installed.
            ShapeError: q is not (n,).
        """
        # The only use of a higher layer: figures know models, not this class.
        from robot_dynamics.core.visualization.robot_figure import plot_robot

        return plot_robot(self.model, q, file)

    # -- programs ---------------------------------------------------------------------------------

    def precompile(self, *methods: str, frames: Sequence[str] = ()) -> None:
        """Compile methods now, into the cache on disk, instead of at their first calls.

        Args:
            methods: names; all of them if none is given, `simulate` with every integrator,
                `linearize` in continuous time and with its default integrator. The
                default of `friction` is compiled, the other choice at its first call.
            frames: the frames of those methods that take one.

        Raises:
            ValueError: a method that is not compiled, by name.
            FrameNotFound: the model has no such frame.
            ModelError: a joint moves no inertia, and a method needs that.
        """
        for method in methods or self.precompilable(frames):
            if method not in PROGRAMS:
                raise ValueError(
                    f'{method!r} is no compiled method; these are: {", ".join(PROGRAMS)}'
                )
            name = PROGRAMS[method]
            at_frame = ALGORITHMS[name].at_frame
            if at_frame and not frames:
                raise ValueError(
                    f'{method} is compiled for a frame: name it, frames=[...], of '
                    f'{self.model.listed_frames()}'
                )
            if at_frame:
                made = [self.frame_program(name, frame) for frame in frames]
            elif name == 'linearization':
                made = [
                    self.linearization(integrator) for integrator in (None, DEFAULT_INTEGRATOR)
                ]
            elif name == 'simulation_step':
                made = [self.simulation_step(integrator) for integrator in INTEGRATORS]
            else:
                made = [self.program(name)]
            for program in made:
                make_all_kernels(program)

    def precompilable(self, frames: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the names that `precompile` takes for this robot, given these frames."""
        return tuple(
            method
            for method, name in PROGRAMS.items()
            if (frames or not ALGORITHMS[name].at_frame)
            and (not ALGORITHMS[name].needs_inertia or self.joint_without_inertia is None)
            and not couples_too_many(name, self.tree)
        )

    def _at(self, frame: str, method: str, *directions: Sequence[int]) -> Callable[..., Any]:
        """Return the callable of a method at one frame, made on first use."""
        key = f'{method} {frame} {directions}'
        if key not in self.__dict__:
            self.__dict__[key] = self._frame_program(frame, method, *directions).call
        call: Callable[..., Any] = self.__dict__[key]
        return call

    def _frame_program(
        self, frame: str, method: str, *directions: Sequence[int]
    ) -> CompiledFunction:
        self.tree.frame(frame)
        return self.programs.compile(method, frame, *directions)

    def _resolved_step(self, integrator: str, friction: str, time_step: float) -> CompiledFunction:
        """Return a step. Raises ValueError if its integrator does not resolve viscous friction."""
        step = self.simulation_step(integrator, friction)
        self._require_resolved(integrator, friction, time_step)
        return step

    def _require_resolved(self, integrator: str, friction: str, time_step: float) -> None:
        """Raise ValueError if the integrator does not resolve viscous friction."""
        if friction == 'model' and stepping.evaluates_friction(integrator):
            stepping.require_resolved(self._fastest_friction, integrator, time_step)

    @made_once
    def _fastest_friction(self) -> tuple[str, float]:
        """Return the joint that viscous friction brakes fastest, and the rate [1/s]."""
        return stepping.fastest_friction(self.model, self.tree, self.model.viscous)

    def _varied(self, model: RobotModel, programs: Programs) -> Dynamics:
        arm = Dynamics.of_programs(model, programs)
        if self.joint_without_inertia is None:
            # A payload takes no inertia away.
            arm.__dict__['joint_without_inertia'] = None
        return arm


# The compiled methods, and the algorithm of each.
NAMES = {'simulation_step': 'simulate', 'linearization': 'linearize'}
PROGRAMS = {NAMES.get(name, name): name for name in ALGORITHMS if name != 'step_linearization'}
