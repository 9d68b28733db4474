# SPDX-License-Identifier: Apache-2.0
"""Rigid-body dynamics of a robot on a base that moves as prescribed.

    moving = Dynamics(load_urdf('panda.urdf')).on_moving_base()
    tau = moving.inverse_dynamics(q, qd, qdd, base)

With the angular velocity w and acceleration wd of the base and the proper acceleration a of its
origin, all in its frame,

    M(q) qdd + C(q, qd, w) qd + g(q; w, wd, a) + friction(qd) = tau + J(q)^T F_ext,
    g = sum m J^T (a + wd x r + w x (w x r)).

The linear velocity of the base has no effect. M, friction, poses and Jacobians in the base frame
are those of the fixed base: `Dynamics` has them.

Sources: Luh, Walker and Paul 1980; Lynch and Park, draft section 9.3, with the twist and
acceleration of the base at the beginning of the recursion.
"""
# The bodies of compiled methods are their docstrings.
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from numpy.typing import ArrayLike

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms.coriolis import Terms
from robot_dynamics.core.algorithms.derivatives import Derivatives
from robot_dynamics.core.algorithms.forward_dynamics_derivatives import AccelerationDerivatives
from robot_dynamics.core.algorithms.momentum import Momentum
from robot_dynamics.core.base_motion import zero_moment_point
from robot_dynamics.core.compiled_robot import CompiledRobot, compiled
from robot_dynamics.core.programs import make_all_kernels


class MovingBaseDynamics(CompiledRobot):
    """Rigid-body dynamics of one robot on a moving base, from `Dynamics.on_moving_base`.

    Methods are those of `Dynamics` that depend on the base, with its motion as last argument:

        base: (..., 9) angular velocity [rad/s], angular acceleration [rad/s^2] and proper
            acceleration of the origin of the base [m/s^2], all in the base frame, in this order:
            `BaseMotion.array()`. At rest it is (0, 0, 0, 0, 0, 0, 0, 0, 9.81) on a level floor.

    Gravity is part of the proper acceleration, that of the model is not used. All other arguments,
    results, `out=` and errors are as there: q, qd, qdd and tau (..., n) broadcast with `base`.
    Friction is not included unless a method says so.

    Attributes:
        model: the robot with its payloads.
        programs: its compiled programs.
    """

    # -- the equation of motion -------------------------------------------------------------------

    @compiled
    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        base: ArrayLike,
        *,
        out: Array | None = None,
    ) -> Array:
        """Return the joint torques of a motion, M qdd + C qd + g, (..., n)."""

    @compiled
    def bias_torque(
        self, q: ArrayLike, qd: ArrayLike, base: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """Return C qd + g, the joint torques without acceleration, (..., n)."""

    @compiled
    def gravity_torque(self, q: ArrayLike, base: ArrayLike, *, out: Array | None = None) -> Array:
        """Return g, the joint torques that hold the robot at rest relative to the base, (..., n).

        It has all that the base causes at qd = 0: weight, its accelerations, centrifugal torques.
        """

    @compiled
    def gravity_torque_derivative(
        self, q: ArrayLike, base: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """Return dg/dq, (..., n, n); symmetric only without angular acceleration of the base."""

    @compiled
    def coriolis_matrix(
        self, q: ArrayLike, qd: ArrayLike, base: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """Return C = C_0(q, qd) + N(q, w), (..., n, n): dM/dt - 2 C is skew, as N is.

        C_0 is that of the fixed base, N qd the Coriolis torque of the turning base.
        """

    @compiled
    def coriolis_torque(
        self, q: ArrayLike, qd: ArrayLike, base: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """Return C qd, (..., n)."""

    @compiled
    def terms(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        base: ArrayLike,
        *,
        out: tuple[Array, Array, Array] | None = None,
    ) -> Terms:
        """Return Terms(M, C, g) in one pass: (..., n, n), (..., n, n) and (..., n)."""

    @compiled
    def inverse_dynamics_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        base: ArrayLike,
        *,
        out: tuple[Array, Array, Array] | None = None,
    ) -> Derivatives:
        """Return Derivatives(dtau_dq, dtau_dqd, M) of inverse dynamics, each (..., n, n)."""

    @compiled
    def momentum(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        base: ArrayLike,
        *,
        out: tuple[Array, Array] | None = None,
    ) -> Momentum:
        """Return Momentum(p, rate), each (..., n): dp/dt = rate + tau - friction + J^T F_ext.

        p is the momentum with velocities relative to the origin of the base, in axes that do not
        turn: M qd and what the angular velocity of the base adds. The angular acceleration has no
        effect on either.
        """

    @compiled
    def regressor(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        base: ArrayLike,
        *,
        out: Array | None = None,
    ) -> Array:
        """Return the regressor Y, (..., n, 10 nb): tau = Y pi + B qdd."""

    @compiled
    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        base: ArrayLike,
        *,
        out: Array | None = None,
        friction: str = 'none',
    ) -> Array:
        """Return the joint accelerations under torques, M^-1 (tau - C qd - g), (..., n).

        `friction` is 'none' or 'model', as for `Dynamics.forward_dynamics`.
        """

    @compiled
    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        base: ArrayLike,
        *,
        out: tuple[Array, Array, Array] | None = None,
        friction: str = 'none',
    ) -> AccelerationDerivatives:
        """Return AccelerationDerivatives(dqdd_dq, dqdd_dqd, M_inverse), each (..., n, n)."""

    # -- at the base ------------------------------------------------------------------------------

    @compiled
    def base_wrench(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        base: ArrayLike,
        *,
        out: Array | None = None,
    ) -> Array:
        """Return the wrench of the mount on the robot, (..., 6), in the base frame.

        Moment about the origin of the base first; links fixed to the base are included.
        """

    @compiled
    def base_wrench_regressor(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        base: ArrayLike,
        *,
        out: Array | None = None,
    ) -> Array:
        """Return the regressor of the base wrench, (..., 6, 10 nb + 10)."""

    def zero_moment_point(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        base: ArrayLike,
        *,
        height: float = 0.0,
    ) -> Array:
        """Return the point of a floor that moves with the base, without tipping moment, (..., 2).

        The mass of a vehicle under the robot is not part of the model; its weight and inertia add
        to the wrench. Other arguments and results are as for `Dynamics.zero_moment_point`.
        """
        return zero_moment_point(self.base_wrench(q, qd, qdd, base), height)

    # -- programs ---------------------------------------------------------------------------------

    def precompile(self, *methods: str) -> None:
        """Compile methods now, into the cache on disk, instead of at their first calls."""
        for method in methods:
            make_all_kernels(self.program(method))
