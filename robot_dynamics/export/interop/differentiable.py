# SPDX-License-Identifier: Apache-2.0
"""Functions of a robot with their partial derivatives, of NumPy arrays.

`export.interop.jax` and `export.interop.torch` give them to those libraries. With the Christoffel
symbols c_ijk = c_ikj of the Coriolis matrix, C_ij(q, qd) = sum_k c_ijk qd_k, and e_k the k-th unit
vector,

    dM/dq_k = C(q, e_k) + C(q, e_k)^T,   dC/dqd_k = C(q, e_k)

and, as C qd is quadratic in the velocity, h(v) = d(C(q, v) v)/dq of inverse dynamics gives the
derivative of column j, dC_j/dq = (h(qd + e_j) - h(qd - e_j)) / 4.

A payload on a link is one more argument. Torques, matrices and energies are linear in its ten
parameters pi; with the regressor Y of the torques,

    tau = ID(q, qd, qdd) + Y(q, qd, qdd) pi

so that dqdd/dpi = -M^-1 Y and, by the same equation for the acceleration of a step of Euler,
dx'/dpi = -dx'/dtau Y.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from robot_dynamics.codegen.calls import CompiledFunction
from robot_dynamics.common.spatial import Array, skew
from robot_dynamics.core.algorithms.coriolis import Terms
from robot_dynamics.core.dynamics import DEFAULT_INTEGRATOR, Dynamics
from robot_dynamics.export.interop.differentiable_function import (
    Differentiable,
    Programs,
    differentiable,
    each,
    filled,
    with_derivative,
)

Regressor = Callable[[Array, Array, Array], Array]

SKEW = np.array([skew(axis) for axis in np.eye(3)])  # [w] = sum_i w_i SKEW_i


# -- at a frame -----------------------------------------------------------------------------------


def forward_kinematics(arm: Dynamics, frame: str) -> Differentiable:
    """Return T_wf(q) (4, 4), with first and second derivatives. Raises FrameNotFound."""
    names = 'forward_kinematics', 'jacobian', 'jacobian_dot'
    pose, twist, twist_dot = programs = [arm.frame_program(name, frame) for name in names]

    def partials(_: Programs, found: Array, q: Array) -> list[Array]:
        R = found.reshape(*found.shape[:-1], 4, 4)[..., :3, :3]
        return [_rows(np.moveaxis(_pose_derivatives(twist.call(q), R), -3, -1), 2)]

    def second(_: Array, q: Array, out: Array | None = None) -> Array:
        R, J, dJ = pose.call(q)[..., :3, :3], twist.call(q), _by_unit_rates(twist_dot, q)
        dR = _pose_derivatives(J, R)[..., :3, :3]
        # d2R/dq_l dq_k = dw_k/dq_l x R + w_k x dR/dq_l,   d2p/dq_l dq_k = dv_k/dq_l
        entries = _pose_derivatives(dJ, R[..., None, :, :])
        entries[..., :3, :3] += _pose_derivatives(J[..., None, :, :], dR)[..., :3, :3]
        return filled(_rows(np.moveaxis(entries, (-4, -3), (-1, -2)), 3), out)

    of = differentiable(arm, names[0], ('q',), lambda _: programs, partials)
    return with_derivative(of, second)


def jacobian(arm: Dynamics, frame: str) -> Differentiable:
    """Return J(q) (6, n) of a frame, as `Dynamics.jacobian`. Raises FrameNotFound."""
    programs = [arm.frame_program(name, frame) for name in ('jacobian', 'jacobian_dot')]

    def partials(others: Programs, _: Array, q: Array) -> list[Array]:
        # dJ/dt = sum_k dJ/dq_k qd_k
        return [_rows(np.moveaxis(_by_unit_rates(others[0], q), -3, -1), 2)]

    return differentiable(arm, 'jacobian', ('q',), lambda _: programs, partials)


# -- of the equation of motion --------------------------------------------------------------------


def mass_matrix(arm: Dynamics, *, payload: str | None = None) -> Differentiable:
    """Return M(q), or of (q, payload). Payload and errors: `inverse_dynamics`."""

    def partials(others: Programs, _: Array, q: Array, *load: Array) -> list[Array]:
        return [_rows(_inertia_slopes(_christoffel(others[0], q, *load)), 2)]

    names = 'mass_matrix', 'coriolis_matrix'
    return differentiable(arm, names[0], ('q',), _named(*names), partials, payload)


def gravity_torque(arm: Dynamics, *, payload: str | None = None) -> Differentiable:
    """Return g(q), or of (q, payload). Payload and errors: `inverse_dynamics`."""

    def partials(others: Programs, _: Array, q: Array, *load: Array) -> list[Array]:
        return [others[0].call(q, *load)]

    names = 'gravity_torque', 'gravity_torque_derivative'
    return differentiable(arm, names[0], ('q',), _named(*names), partials, payload)


def potential_energy(arm: Dynamics, *, payload: str | None = None) -> Differentiable:
    """Return P(q), or of (q, payload); without a payload with second derivatives.

    Payload and errors: `inverse_dynamics`.
    """

    def partials(others: Programs, _: Array, q: Array, *load: Array) -> list[Array]:
        # dP/dq = g^T
        return [others[0].call(q, *load)[..., None, :]]

    names = 'potential_energy', 'gravity_torque'
    of = differentiable(arm, names[0], ('q',), _named(*names), partials, payload)
    if payload:
        return of
    return replace(of, derivative=replace(gravity_torque(arm), derivative_of=names[0]))


def kinetic_energy(arm: Dynamics, *, payload: str | None = None) -> Differentiable:
    """Return K(q, qd), or of (q, qd, payload); without a payload with second derivatives.

    Payload and errors: `inverse_dynamics`.
    """

    def partials(others: Programs, _: Array, q: Array, qd: Array, *load: Array) -> list[Array]:
        # dK/dq = qd^T C,   dK/dqd = qd^T M
        M, C, _g = others[0].call(q, qd, *load)
        return [qd[..., None, :] @ C, qd[..., None, :] @ M]

    names = 'kinetic_energy', 'terms', 'coriolis_matrix', 'inverse_dynamics_derivatives'
    of = differentiable(arm, names[0], ('q', 'qd'), _named(*names), partials, payload)

    def second(found: Array, q: Array, qd: Array, out: Array | None = None) -> Array:
        terms, coriolis, torque = _named(*names[1:])(arm)
        q, qd = (np.broadcast_to(x, (*found.shape[:-1], arm.model.n)) for x in (q, qd))
        by_q = np.einsum('...i,...ijl->...jl', qd, _coriolis_by_q(torque, q, qd))
        # d2K/dqd_i dq_k = sum_j dM_ij/dq_k qd_j
        mixed = np.einsum('...ijk,...j->...ik', _inertia_slopes(_christoffel(coriolis, q)), qd)
        upper = np.concatenate([by_q, np.swapaxes(mixed, -1, -2)], axis=-1)
        lower = np.concatenate([mixed, terms.call(q, qd)[0]], axis=-1)
        return np.concatenate([upper, lower], axis=-2, out=out)

    return of if payload else with_derivative(of, second)


def terms(arm: Dynamics, *, payload: str | None = None) -> Differentiable:
    """Return Terms(M, C, g) of (q, qd), or of (q, qd, payload).

    Payload and errors: `inverse_dynamics`.
    """

    def partials(others: Programs, found: Array, q: Array, qd: Array, *load: Array) -> list[Array]:
        coriolis, torque, gravity = others
        q, qd = (np.broadcast_to(x, (*found.shape[:-1], arm.model.n)) for x in (q, qd))
        c = _christoffel(coriolis, q, *load)
        dM, dC = _inertia_slopes(c), _coriolis_by_q(torque, q, qd, *load)
        dg = gravity.call(q, *load)
        by_q = [_rows(dM, 2), _rows(dC, 2), dg]
        by_qd = [_rows(0.0 * dM, 2), _rows(c, 2), 0.0 * dg]
        return [np.concatenate(rows, axis=-2) for rows in (by_q, by_qd)]

    names = 'terms', 'coriolis_matrix', 'inverse_dynamics_derivatives', 'gravity_torque_derivative'
    of = differentiable(arm, names[0], ('q', 'qd'), _named(*names), partials, payload)
    return replace(of, collected=Terms._make)


def inverse_dynamics(arm: Dynamics, *, payload: str | None = None) -> Differentiable:
    """Return tau = ID(q, qd, qdd), or of (q, qd, qdd, payload).

    Args:
        arm: the robot.
        payload: the link whose payload is an argument (..., 10), besides what the link carries:
            m, m c [kg m], and I_xx, I_xy, I_xz, I_yy, I_yz, I_zz about the origin of the link's
            frame [kg m^2].

    Raises:
        FrameNotFound: the model has no such link.
        ModelError: the link is fixed to the base.
    """
    names = 'inverse_dynamics', 'inverse_dynamics_derivatives'
    return differentiable(arm, names[0], ('q', 'qd', 'qdd'), _named(*names), _as_computed, payload)


def forward_dynamics(
    arm: Dynamics, *, friction: str = 'none', payload: str | None = None
) -> Differentiable:
    """Return qdd = FD(q, qd, tau), or of (q, qd, tau, payload).

    Args:
        arm: the robot.
        friction: 'none' or 'model', as for `Dynamics.forward_dynamics`.
        payload: as for `inverse_dynamics`.

    Raises:
        FrameNotFound, ModelError, ValueError: as `Dynamics.forward_dynamics_derivatives` and
            `inverse_dynamics`.
    """
    n, zero = arm.model.n, np.zeros(arm.model.n)
    arm.forward_dynamics_derivatives(zero, zero, zero, friction=friction)  # its checks

    def programs(loaded: Dynamics) -> tuple[CompiledFunction, ...]:
        names = 'forward_dynamics', 'forward_dynamics_derivatives'
        return tuple(loaded.programs.compile(name, friction) for name in names)

    def by_payload(J: Array, qdd: Array, Y: Regressor, q: Array, qd: Array, tau: Array) -> Array:
        # dqdd/dpi = -M^-1 Y
        return -J[..., 2 * n :] @ Y(q, qd, qdd)

    inputs = 'q', 'qd', 'tau'
    return differentiable(
        arm, 'forward_dynamics', inputs, programs, _as_computed, payload, by_payload
    )


def simulation_step(
    arm: Dynamics,
    *,
    time_step: float,
    integrator: str = DEFAULT_INTEGRATOR,
    friction: str = 'model',
    payload: str | None = None,
    check_finite: bool = True,
) -> Differentiable:
    """Return x' = step(q, qd, tau), or of (q, qd, tau, payload), with x' = (q, qd) in one vector.

    Args:
        arm: the robot.
        time_step: s.
        integrator: as for `Dynamics.simulate`.
        friction: 'model' or 'none', as for `Dynamics.simulate`.
        payload: as for `inverse_dynamics`; not with 'rk4', whose stages have several
            accelerations.
        check_finite: whether a state that is not finite is an error: FloatingPointError. False
            lets NaN and infinity through, for batches in which some motions may diverge.

    Raises:
        FrameNotFound, ModelError, ValueError: as `Dynamics.linearize` and `inverse_dynamics`; or
            a payload with 'rk4'.
    """
    if payload is not None and integrator == 'rk4':
        raise ValueError(
            "integrator is 'rk4' with a payload as an argument, expected "
            f"{DEFAULT_INTEGRATOR!r} or 'explicit_euler'"
        )
    n, zero = arm.model.n, np.zeros(arm.model.n)
    options: dict[str, Any] = {'integrator': integrator, 'friction': friction}
    arm.linearize(zero, zero, zero, time_step=time_step, **options)  # its checks

    def programs(loaded: Dynamics) -> tuple[CompiledFunction, ...]:
        both = loaded.simulation_step(**options), loaded.linearization(**options)
        return tuple(program.bind(time_step=[time_step]) for program in both)

    def by_payload(J: Array, x: Array, Y: Regressor, q: Array, qd: Array, tau: Array) -> Array:
        # dx'/dpi = -dx'/dtau Y(q, qd, (qd' - qd) / h)
        return -J[..., 2 * n :] @ Y(q, qd, (x[..., n:] - qd) / time_step)

    inputs = 'q', 'qd', 'tau'
    of = differentiable(
        arm, 'simulation_step', inputs, programs, _as_computed, payload, by_payload
    )
    return replace(of, value=_finite(of, time_step)) if check_finite else of


def _finite(of: Differentiable, time_step: float) -> Callable[..., Array]:
    """Return the value of a step. It raises FloatingPointError for a state that is not finite."""

    def value(*arguments: Array, out: Array | None = None) -> Array:
        result = of.value(*arguments, out=out)
        if np.isfinite(result).all():
            return result
        for name, x in zip(of.inputs, arguments, strict=True):
            if not np.isfinite(x).all():
                place = np.argwhere(~np.isfinite(x))[0]
                raise FloatingPointError(
                    f'{of.name}: {name}{place.tolist()} is {x[tuple(place)]}, expected a finite '
                    'number'
                )
        bad = ~np.isfinite(result).all(axis=-1)
        fastest = np.abs(np.broadcast_to(arguments[1], (*bad.shape, of.inputs['qd']))[bad]).max()
        raise FloatingPointError(
            f'{of.name}: the motion diverges: a step of {time_step} s from velocities up to '
            f'{fastest:.3g} ends in a state that is not finite, in {bad.sum()} of {bad.size} '
            'samples; take a smaller time_step or smaller torques'
        )

    return value


def _named(*names: str) -> Callable[[Dynamics], Programs]:
    """Return what returns the programs of these methods of a robot."""
    return lambda arm: [arm.program(name) for name in names]


def _as_computed(others: Programs, _: Array, *arguments: Array) -> Sequence[Array]:
    """Return the derivatives that one program computes."""
    found: Sequence[Array] = others[0].call(*arguments)
    return found


def _rows(entries: Array, axes: int) -> Array:
    """Return derivatives (..., size, n) of entries with several axes, (..., *shape, n)."""
    leading, shape = entries.shape[: -axes - 1], entries.shape[-axes - 1 : -1]
    return entries.reshape(*leading, math.prod(shape), entries.shape[-1])


def _by_unit_rates(program: CompiledFunction, q: Array, *load: Array) -> Array:
    """Return a function of (q, qd) that is linear in qd, for unit velocities: (..., n, *shape)."""
    found: Array = program.call(*each(q), np.eye(q.shape[-1]), *each(*load))
    return found


def _christoffel(coriolis: CompiledFunction, q: Array, *load: Array) -> Array:
    """Return the symbols c_ijk (..., n, n, n), C_ij = sum_k c_ijk qd_k."""
    return np.moveaxis(_by_unit_rates(coriolis, q, *load), -3, -1)


def _inertia_slopes(c: Array) -> Array:
    """Return dM_ij/dq_k (..., n, n, n) = c_ijk + c_jik."""
    return c + np.swapaxes(c, -3, -2)


def _coriolis_by_q(torque: CompiledFunction, q: Array, qd: Array, *load: Array) -> Array:
    """Return dC_ij/dq_l (..., n, n, n) from derivatives of inverse dynamics."""
    e, (rate,) = np.eye(q.shape[-1]), each(qd)
    ahead, behind = (
        torque.call(*each(q), v, 0.0 * e, *each(*load))[0] for v in (rate + e, rate - e)
    )
    # dC_j/dq = (h(qd + e_j) - h(qd - e_j)) / 4; that of gravity is in both
    return np.asarray(np.swapaxes(ahead - behind, -3, -2) / 4)


def _pose_derivatives(J: Array, R: Array) -> Array:
    """Return dT (..., n, 4, 4) by the columns (w, v) of J (..., 6, n), of orientations R."""
    w, v = np.split(np.swapaxes(J, -1, -2), 2, axis=-1)
    # dR/dq_k = [w_k] R,   dp/dq_k = v_k
    dR = np.tensordot(w, SKEW, axes=1) @ R[..., None, :, :]
    dT = np.zeros((*dR.shape[:-2], 4, 4))
    dT[..., :3, :3] = dR
    dT[..., :3, 3] = v
    return dT
