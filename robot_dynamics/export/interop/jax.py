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
from dataclasses import dataclass
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
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir

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

    def derivative(primals: Any, tangents: Any) -> Any:
        result, J = with_jacobian(*primals)
        parts = zip(jnp.split(J, columns, axis=-1), tangents, strict=True)
        # dy = sum_k dy/dx_k dx_k
        return [result], [sum(jnp.einsum('...ij,...j->...i', part, dx) for part, dx in parts)]

    call = _Call(value, ((of.size,),), derivative)

    def function(*arguments: jax.Array) -> Any:
        return _evaluated.bind(*arguments, call=call)[0]

    with_jacobian = _with_jacobian(of, function)
    return function


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

    def second(_primals: Any, _tangents: Any) -> Any:
        raise ValueError(of.without_second)

    call = _Call(both, ((of.size,), shape), second)
    return lambda *arguments: _evaluated.bind(*arguments, call=call)


@dataclass(frozen=True, eq=False)
class _Call:
    """A function of NumPy arrays, as the parameter of a primitive of JAX.

    Attributes:
        numeric: takes arrays, whose leading axes broadcast, and `out`, the arrays to fill; returns
            a tuple of arrays.
        shapes: of the results, without the leading axes.
        derivative: takes arguments and their tangents; returns the results and their tangents.
    """

    numeric: Callable[..., tuple[Array, ...]]
    shapes: tuple[tuple[int, ...], ...]
    derivative: Callable[[Any, Any], Any]


# A primitive, since reverse derivatives of lax.scan drop the rules of jax.custom_jvp: they keep
# the callback inside, which has no derivatives. JAX's caches keep what a primitive is called with.
_evaluated = Primitive('robot_dynamics')
_evaluated.multiple_results = True


def _results(call: _Call, arguments: Any) -> list[tuple[int, ...]]:
    """Return the shapes of the results."""
    leading = np.broadcast_shapes(*(x.shape[:-1] for x in arguments))
    return [(*leading, *shape) for shape in call.shapes]


def _called(*arguments: jax.Array, call: _Call) -> Any:
    """Return the results, by a callback."""
    shapes = _results(call, arguments)
    results = tuple(jax.ShapeDtypeStruct(shape, np.float64) for shape in shapes)

    def fill(_: Any, out: Any, *buffers: Any) -> None:
        call.numeric(*map(np.asarray, buffers), out=tuple(map(np.asarray, out)))

    def copied(*arrays: Any) -> Any:
        return call.numeric(*map(np.asarray, arrays))

    return jax.lax.platform_dependent(
        *arguments,
        cpu=buffer_callback(fill, results),
        default=lambda *x: jax.pure_callback(copied, results, *x),
    )


def _abstract(*arguments: Any, call: _Call) -> list[jax.core.ShapedArray]:
    return [jax.core.ShapedArray(x, np.dtype(np.float64)) for x in _results(call, arguments)]


def _differentiate(primals: Any, tangents: Any, *, call: _Call) -> Any:
    return call.derivative(primals, [ad.instantiate_zeros(dx) for dx in tangents])


def _batch(arguments: Any, axes: Any, *, call: _Call) -> Any:
    """Make the axis of `jax.vmap` the first of the leading ones."""
    mapped = [axis is not None for axis in axes]
    most = max(x.ndim - batch for x, batch in zip(arguments, mapped, strict=True))

    def moved(x: jax.Array, axis: int) -> jax.Array:
        x = jnp.moveaxis(x, axis, 0)
        return x.reshape((x.shape[0], *(1,) * (most + 1 - x.ndim), *x.shape[1:]))

    parts = zip(arguments, axes, mapped, strict=True)
    results = _evaluated.bind(*(moved(x, i) if batch else x for x, i, batch in parts), call=call)
    return results, [0] * len(results)


_evaluated.def_impl(_called)
_evaluated.def_abstract_eval(_abstract)
mlir.register_lowering(_evaluated, mlir.lower_fun(_called, multiple_results=True))
ad.primitive_jvps[_evaluated] = _differentiate
batching.primitive_batchers[_evaluated] = _batch


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
