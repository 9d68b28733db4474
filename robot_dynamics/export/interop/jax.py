# SPDX-License-Identifier: Apache-2.0
"""Dynamics as differentiable functions of JAX's arrays.

    step = simulation_step(arm, time_step=1e-3)
    q, qd = jax.jit(step)(q, qd, tau)

The compiled code runs on the CPU, in the memory of JAX's arrays: one call for a batch, whether its
axes are leading ones or those of `jax.vmap`. On other devices arrays are copied, by
`jax.pure_callback`. First derivatives are analytic, in forward and reverse mode, as are the second
ones of poses and energies; those of other functions raise ValueError. Arrays are float64, which
JAX allows after `jax.config.update('jax_enable_x64', True)`; those of other types raise TypeError.
"""
# JAX is not installed wherever types are checked.
# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from robot_dynamics.codegen.calls.arguments import leading_shape
from robot_dynamics.common.errors import ShapeError
from robot_dynamics.common.extras import needed
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms.coriolis import Terms
from robot_dynamics.core.dynamics import DEFAULT_INTEGRATOR, Dynamics
from robot_dynamics.export.interop import differentiable
from robot_dynamics.export.interop.differentiable_function import Differentiable

with needed('jax', 'functions of JAX need JAX'):
    import jax
    import jax.numpy as jnp
    from jax.experimental.buffer_callback import buffer_callback

Outputs = Sequence[Array | None]


def forward_kinematics(arm: Dynamics, frame: str) -> Callable[..., jax.Array]:
    """Return T(q), the pose (..., 4, 4) of a frame, with second derivatives.

    Raises:
        FrameNotFound: the model has no such frame.
    """
    return _function(differentiable.forward_kinematics(arm, frame))


def jacobian(arm: Dynamics, frame: str) -> Callable[..., jax.Array]:
    """Return J(q) (..., 6, n) of a frame, angular part first, world-aligned.

    Raises:
        FrameNotFound: the model has no such frame.
    """
    return _function(differentiable.jacobian(arm, frame))


def mass_matrix(arm: Dynamics, *, payload: str | None = None) -> Callable[..., jax.Array]:
    """Return M(q) (..., n, n), or with a payload M(q, payload)."""
    return _function(differentiable.mass_matrix(arm, payload=payload))


def gravity_torque(arm: Dynamics, *, payload: str | None = None) -> Callable[..., jax.Array]:
    """Return g(q) (..., n), or with a payload g(q, payload)."""
    return _function(differentiable.gravity_torque(arm, payload=payload))


def kinetic_energy(arm: Dynamics, *, payload: str | None = None) -> Callable[..., jax.Array]:
    """Return K(q, qd) (...), with second derivatives, or with a payload K(q, qd, payload)."""
    return _function(differentiable.kinetic_energy(arm, payload=payload))


def potential_energy(arm: Dynamics, *, payload: str | None = None) -> Callable[..., jax.Array]:
    """Return P(q) (...), with second derivatives, or with a payload P(q, payload)."""
    return _function(differentiable.potential_energy(arm, payload=payload))


def terms(arm: Dynamics, *, payload: str | None = None) -> Callable[..., Terms]:
    """Return Terms(M, C, g) of (q, qd), or with a payload of (q, qd, payload)."""
    return _function(differentiable.terms(arm, payload=payload))


def inverse_dynamics(arm: Dynamics, *, payload: str | None = None) -> Callable[..., jax.Array]:
    """Return tau(q, qd, qdd), or with a payload tau(q, qd, qdd, payload).

    Arguments and errors: `differentiable.inverse_dynamics`. The function takes float64 arrays
    (..., n), and (..., 10) of the payload, whose leading axes broadcast.
    """
    return _function(differentiable.inverse_dynamics(arm, payload=payload))


def forward_dynamics(
    arm: Dynamics, *, friction: str = 'none', payload: str | None = None
) -> Callable[..., jax.Array]:
    """Return qdd(q, qd, tau), or with a payload qdd(q, qd, tau, payload).

    Arguments and errors: `differentiable.forward_dynamics`; arrays as of `inverse_dynamics`.
    """
    return _function(differentiable.forward_dynamics(arm, friction=friction, payload=payload))


def simulation_step(
    arm: Dynamics,
    *,
    time_step: float,
    integrator: str = DEFAULT_INTEGRATOR,
    friction: str = 'model',
    payload: str | None = None,
    check_finite: bool = True,
) -> Callable[..., tuple[jax.Array, jax.Array]]:
    """Return step(q, qd, tau) -> (q, qd), or with a payload step(q, qd, tau, payload).

    Arguments and errors: `differentiable.simulation_step`; arrays as of `inverse_dynamics`. JAX
    raises JaxRuntimeError or ValueError for FloatingPointError, whose text is the last line.
    """
    return _function(
        differentiable.simulation_step(
            arm,
            time_step=time_step,
            integrator=integrator,
            friction=friction,
            payload=payload,
            check_finite=check_finite,
        )
    )


def _function(of: Differentiable) -> Callable[..., Any]:
    """Return a function of JAX's arrays with its derivatives."""
    _require_float64_in_threads()
    function = _differentiated(of)
    ends = np.cumsum(of.sizes)[:-1].tolist()

    # Outside of a caller's jit, too, JAX keeps what it makes for arguments of the same shapes.
    @jax.jit
    def shaped(*arguments: jax.Array) -> Any:
        rows = jnp.split(function(*arguments), ends, axis=-1)
        both = zip(rows, of.shapes, strict=True)
        parts = [x.reshape((*x.shape[:-1], *shape)) for x, shape in both]
        return of.collected(parts) if len(parts) > 1 else parts[0]

    def checked(*arguments: Any) -> Any:
        return shaped(*_arguments(of, arguments))

    return checked


def _differentiated(of: Differentiable) -> Callable[..., jax.Array]:
    """Return a function of JAX's arrays, its entries in one vector, with its derivatives."""
    columns = np.cumsum(list(of.inputs.values()))[:-1].tolist()

    def value(*arguments: Array, out: Outputs = (None,)) -> tuple[Array, ...]:
        return (of.value(*arguments, out=out[0]),)

    @jax.custom_jvp
    def function(*arguments: jax.Array) -> Any:
        return _called(value, (of.size,), arguments=arguments)[0]

    with_jacobian = _with_jacobian(of, function)

    @function.defjvp
    def derivative(primals: Any, tangents: Any) -> Any:
        result, J = with_jacobian(*primals)
        parts = zip(jnp.split(J, columns, axis=-1), tangents, strict=True)
        # dy = sum_k dy/dx_k dx_k
        return result, sum(jnp.einsum('...ij,...j->...i', part, dx) for part, dx in parts)

    differentiated: Callable[..., jax.Array] = function
    return differentiated


def _with_jacobian(of: Differentiable, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what returns the value and the Jacobian; its derivatives are the second ones."""
    shape = of.size, sum(of.inputs.values())
    if of.derivative is not None:
        slopes = _differentiated(of.derivative)

        def composed(*arguments: jax.Array) -> Any:
            J = slopes(*arguments)
            return function(*arguments), J.reshape((*J.shape[:-1], *shape))

        return composed

    def both(*arguments: Array, out: Outputs = (None, None)) -> tuple[Array, ...]:
        result = of.value(*arguments, out=out[0])
        return result, of.jacobian(result, *arguments, out=out[1])

    def at_once(*arguments: jax.Array) -> Any:
        return _called(both, (of.size,), shape, arguments=arguments)

    def second(_primals: Any, _tangents: Any) -> Any:
        raise ValueError(of.without_second)

    function_pair = jax.custom_jvp(at_once)
    function_pair.defjvp(second)
    guarded: Callable[..., Any] = function_pair
    return guarded


def _called(numeric: Callable[..., Any], *shapes: tuple[int, ...], arguments: Any) -> Any:
    """Return the results of a function of NumPy arrays, with these shapes after leading axes.

    All arguments get the same number of axes: `jax.vmap` adds one in front.

    Args:
        numeric: takes arrays and `out`, the arrays to fill; returns a tuple of arrays.
        shapes: of the results, without the leading axes.
        arguments: whose leading axes broadcast.
    """
    leading = np.broadcast_shapes(*(x.shape[:-1] for x in arguments))
    padded = [x.reshape((1,) * (len(leading) + 1 - x.ndim) + x.shape) for x in arguments]
    results = tuple(jax.ShapeDtypeStruct((*leading, *shape), np.float64) for shape in shapes)

    def fill(_: Any, out: Any, *buffers: Any) -> None:
        numeric(*map(np.asarray, buffers), out=tuple(map(np.asarray, out)))

    def copied(*arrays: Any) -> Any:
        return numeric(*map(np.asarray, arrays))

    return jax.lax.platform_dependent(
        *padded,
        cpu=buffer_callback(fill, results, vmap_method='expand_dims'),
        default=lambda *x: jax.pure_callback(copied, results, *x, vmap_method='expand_dims'),
    )


def _arguments(of: Differentiable, arguments: tuple[Any, ...]) -> list[jax.Array]:
    """Return the arguments as arrays. Raises TypeError or ShapeError, which names one."""
    _require_float64()
    if len(arguments) != len(of.inputs):
        raise TypeError(
            f'{of.name} got {len(arguments)} arguments, expected {", ".join(of.inputs)}'
        )
    arrays = [jnp.asarray(x) for x in arguments]
    for (name, size), x in zip(of.inputs.items(), arrays, strict=True):
        if x.dtype != np.float64:
            raise TypeError(
                f'{of.name}: {name} has dtype {x.dtype}, expected float64: convert it by '
                'astype(jnp.float64)'
            )
        if x.shape[-1:] != (size,):
            raise ShapeError(f'{of.name}: {name} has shape {x.shape}, expected (..., {size})')
    leading_shape(of.name, list(of.inputs), arrays)
    return arrays


def _require_float64() -> None:
    """Raise TypeError if JAX has no float64 here."""
    if not jax.config.jax_enable_x64:
        raise TypeError(
            'float64 is off in JAX, expected on: call '
            "jax.config.update('jax_enable_x64', True) before the first array, or set "
            'JAX_ENABLE_X64=1'
        )


def _require_float64_in_threads() -> None:
    """Raise TypeError if JAX has no float64 in other threads, in which callbacks may run.

    `with jax.enable_x64(True)` leaves those as they are.
    """
    with ThreadPoolExecutor(1) as threads:
        threads.submit(_require_float64).result()
