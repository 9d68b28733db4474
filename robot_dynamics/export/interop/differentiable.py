# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics, forward dynamics and the simulated step with their partial derivatives.

`export.interop.jax` and `export.interop.torch` give them to those libraries. A payload on a link
is one more argument: torques are linear in its ten parameters pi,

    tau = ID(q, qd, qdd) + Y(q, qd, qdd) pi

so that dqdd/dpi = -M^-1 Y and, by the same equation for the acceleration of a step of Euler,
dx'/dpi = -dx'/dtau Y.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.codegen.calls import CompiledFunction
from robot_dynamics.codegen.calls.arguments import as_vectors
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms.payload import carrier_moments, with_payload
from robot_dynamics.core.dynamics import DEFAULT_INTEGRATOR, Dynamics


@dataclass(frozen=True)
class Differentiable:
    """A function of vectors, and its partial derivatives.

    Attributes:
        name: for messages.
        inputs: names and sizes of the arguments.
        size: entries of the result.
        value: takes float64 arrays (..., size of the input) whose leading axes broadcast, and
            returns (..., size), `out` where it is given.
        jacobian: takes the value, then the same; returns (..., size, entries of all inputs).
    """

    name: str
    inputs: Mapping[str, int]
    size: int
    value: Callable[..., Array]
    jacobian: Callable[..., Array]


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

    def programs(loaded: Dynamics) -> tuple[CompiledFunction, CompiledFunction]:
        return loaded.program('inverse_dynamics'), loaded.program('inverse_dynamics_derivatives')

    def by_payload(J: Array, tau: Array, Y: Regressor, q: Array, qd: Array, qdd: Array) -> Array:
        return Y(q, qd, np.broadcast_to(qdd, tau.shape))

    return _differentiable(
        arm, 'inverse_dynamics', 'qdd', arm.model.n, programs, payload, by_payload
    )


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

    return _differentiable(
        arm, 'forward_dynamics', 'tau', arm.model.n, programs, payload, by_payload
    )


def simulation_step(
    arm: Dynamics,
    *,
    time_step: float,
    integrator: str = DEFAULT_INTEGRATOR,
    friction: str = 'model',
    payload: str | None = None,
) -> Differentiable:
    """Return x' = step(q, qd, tau), or of (q, qd, tau, payload), with x' = (q, qd) in one vector.

    Args:
        arm: the robot.
        time_step: s.
        integrator: as for `Dynamics.simulate`.
        friction: 'model' or 'none', as for `Dynamics.simulate`.
        payload: as for `inverse_dynamics`; not with 'rk4', whose stages have several
            accelerations.

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

    return _differentiable(arm, 'simulation_step', 'tau', 2 * n, programs, payload, by_payload)


Regressor = Callable[[Array, Array, Array], Array]


def _differentiable(
    arm: Dynamics,
    name: str,
    third: str,
    size: int,
    programs: Callable[[Dynamics], tuple[CompiledFunction, ...]],
    payload: str | None,
    by_payload: Callable[..., Array],
) -> Differentiable:
    """Return a function of (q, qd, third), or of these and a payload.

    Args:
        arm: the robot.
        name: of the function.
        third: name of the third argument.
        size: entries of the result.
        programs: returns the programs of the value and of its partial derivatives for a robot.
        payload: a link, or None.
        by_payload: takes the derivatives by the other arguments, the value, the regressor of the
            payload and the other arguments; returns the derivatives (..., size, 10).
    """
    inputs = dict.fromkeys(('q', 'qd', third), arm.model.n)
    if payload is None:
        plain, partials = programs(arm)

        def jacobian(_: Array, *arguments: Array, out: Array | None = None) -> Array:
            return np.concatenate(partials.call(*arguments), axis=-1, out=out)

        return Differentiable(name, inputs, size, _joined(plain), jacobian)

    carried = arm.with_payload(payload, 0.0)
    variation = carried.programs.variation
    assert variation is not None  # the payload's
    key = variation.carrier(payload)
    own, unit = _moments(carried, payload)
    plain, partials, torque = (
        program.unbind(key)
        for program in (*programs(carried), carried.program('inverse_dynamics'))
    )
    result = _joined(plain)

    def value(q: Array, qd: Array, x: Array, pi: Array, *, out: Array | None = None) -> Array:
        pi = as_vectors(name, 'payload', pi, 10)
        return result(q, qd, x, own + pi @ unit, out=out)

    def regressor(q: Array, qd: Array, qdd: Array) -> Array:
        # Torques are linear in the moments of a body: columns of Y by unit parameters.
        rows = torque.call(*(v[..., None, :] for v in (q, qd, qdd)), [*unit, 0.0 * own])
        return np.swapaxes(rows[..., :-1, :] - rows[..., -1:, :], -1, -2)

    def loaded_jacobian(
        result: Array, q: Array, qd: Array, x: Array, pi: Array, *, out: Array | None = None
    ) -> Array:
        J = np.concatenate(partials.call(q, qd, x, own + pi @ unit), axis=-1)
        column = by_payload(J, result, regressor, q, qd, x)
        return np.concatenate([J, np.broadcast_to(column, (*J.shape[:-1], 10))], axis=-1, out=out)

    return Differentiable(name, {**inputs, 'payload': 10}, size, value, loaded_jacobian)


def _joined(program: CompiledFunction) -> Callable[..., Array]:
    """Return the call of a program, its outputs in one vector."""
    if len(program.signature.outputs) == 1:
        return program.call

    def joined(*arguments: Array, out: Array | None = None) -> Array:
        return np.concatenate(program.call(*arguments), axis=-1, out=out)

    return joined


def _moments(arm: Dynamics, link: str) -> tuple[Array, Array]:
    """Return the moments (10) of the body of a link, and what unit payloads add, rows (10, 10)."""
    own = np.array(carrier_moments(arm.tree, link))
    loaded = [carrier_moments(with_payload(arm.tree, link, e), link) for e in np.eye(10).tolist()]
    return own, np.array(loaded) - own
