# SPDX-License-Identifier: Apache-2.0
"""Dynamics as differentiable functions of PyTorch's tensors.

    step = simulation_step(arm, time_step=1e-3)
    q, qd = step(q, qd, tau)

Tensors are float64 on the CPU; their memory is shared, not copied. Others raise TypeError:
convert them by `tensor.to('cpu', torch.float64)`. Leading axes are a batch, one call of compiled
code. First derivatives are analytic, by `backward`, as are the second ones of poses and energies;
those of other functions raise RuntimeError.
"""
# PyTorch is not installed wherever types are checked.
# mypy: disable-error-code="misc"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from robot_dynamics.common.extras import needed
from robot_dynamics.core.algorithms.coriolis import Terms
from robot_dynamics.core.dynamics import DEFAULT_INTEGRATOR, Dynamics
from robot_dynamics.export.interop import differentiable
from robot_dynamics.export.interop.differentiable_function import Differentiable

with needed('torch', 'functions of PyTorch need PyTorch'):
    import torch


def forward_kinematics(arm: Dynamics, frame: str) -> Callable[..., torch.Tensor]:
    """Return T(q), the pose (..., 4, 4) of a frame, with second derivatives.

    Raises:
        FrameNotFound: the model has no such frame.
    """
    return _function(differentiable.forward_kinematics(arm, frame))


def jacobian(arm: Dynamics, frame: str) -> Callable[..., torch.Tensor]:
    """Return J(q) (..., 6, n) of a frame, angular part first, world-aligned.

    Raises:
        FrameNotFound: the model has no such frame.
    """
    return _function(differentiable.jacobian(arm, frame))


def mass_matrix(arm: Dynamics, *, payload: str | None = None) -> Callable[..., torch.Tensor]:
    """Return M(q) (..., n, n), or with a payload M(q, payload)."""
    return _function(differentiable.mass_matrix(arm, payload=payload))


def gravity_torque(arm: Dynamics, *, payload: str | None = None) -> Callable[..., torch.Tensor]:
    """Return g(q) (..., n), or with a payload g(q, payload)."""
    return _function(differentiable.gravity_torque(arm, payload=payload))


def kinetic_energy(arm: Dynamics, *, payload: str | None = None) -> Callable[..., torch.Tensor]:
    """Return K(q, qd) (...), with second derivatives, or with a payload K(q, qd, payload)."""
    return _function(differentiable.kinetic_energy(arm, payload=payload))


def potential_energy(arm: Dynamics, *, payload: str | None = None) -> Callable[..., torch.Tensor]:
    """Return P(q) (...), with second derivatives, or with a payload P(q, payload)."""
    return _function(differentiable.potential_energy(arm, payload=payload))


def terms(arm: Dynamics, *, payload: str | None = None) -> Callable[..., Terms]:
    """Return Terms(M, C, g) of (q, qd), or with a payload of (q, qd, payload)."""
    return _function(differentiable.terms(arm, payload=payload))


def inverse_dynamics(arm: Dynamics, *, payload: str | None = None) -> Callable[..., torch.Tensor]:
    """Return tau(q, qd, qdd), or with a payload tau(q, qd, qdd, payload).

    Arguments and errors: `differentiable.inverse_dynamics`. The function takes float64 tensors
    (..., n), and (..., 10) of the payload, whose leading axes broadcast.
    """
    return _function(differentiable.inverse_dynamics(arm, payload=payload))


def forward_dynamics(
    arm: Dynamics, *, friction: str = 'none', payload: str | None = None
) -> Callable[..., torch.Tensor]:
    """Return qdd(q, qd, tau), or with a payload qdd(q, qd, tau, payload).

    Arguments and errors: `differentiable.forward_dynamics`; tensors as of `inverse_dynamics`.
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
) -> Callable[..., tuple[torch.Tensor, torch.Tensor]]:
    """Return step(q, qd, tau) -> (q, qd), or with a payload step(q, qd, tau, payload).

    Arguments and errors: `differentiable.simulation_step`; tensors as of `inverse_dynamics`.
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
    """Return a function of tensors with its derivatives."""
    function = _differentiated(of)

    def checked(*tensors: torch.Tensor) -> Any:
        if len(tensors) != len(of.inputs):
            raise TypeError(
                f'{of.name} got {len(tensors)} arguments, expected {", ".join(of.inputs)}'
            )
        for name, x in zip(of.inputs, tensors, strict=True):
            if x.dtype is not torch.float64 or not x.is_cpu:
                raise TypeError(
                    f'{of.name}: {name} is {x.dtype} on {x.device}, expected torch.float64 on '
                    "cpu: convert it by to('cpu', torch.float64)"
                )
        entries = function(*tensors)
        # A view takes 2 us, and the most common result is one vector.
        if len(of.shapes) == 1:
            (shape,) = of.shapes
            return entries if len(shape) == 1 else entries.reshape((*entries.shape[:-1], *shape))
        rows = zip(entries.split(of.sizes, dim=-1), of.shapes, strict=True)
        return of.collected(x.reshape((*x.shape[:-1], *shape)) for x, shape in rows)

    return checked


def _differentiated(of: Differentiable) -> Callable[..., torch.Tensor]:
    """Return a function of tensors, its entries in one vector, with its derivatives."""
    widths = list(of.inputs.values())
    slopes = None if of.derivative is None else _differentiated(of.derivative)

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *tensors: torch.Tensor) -> torch.Tensor:
            # By force, because they may require gradients: the memory of tensors on the CPU.
            result = torch.from_numpy(of.value(*[x.numpy(force=True) for x in tensors]))
            if any(ctx.needs_input_grad):
                # Saved tensors tell whether they were changed in place since.
                ctx.save_for_backward(result, *tensors)
            return result

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
            result, *tensors = ctx.saved_tensors
            if not torch.is_grad_enabled():
                J = torch.from_numpy(of.jacobian(*(x.numpy() for x in (result, *tensors))))
            elif slopes is not None:
                J = slopes(*tensors).unflatten(-1, (of.size, sum(widths)))
            else:
                # `once_differentiable` would return wrong second derivatives of sums silently.
                raise RuntimeError(f'{of.without_second}; call backward without create_graph')
            # dL/dx_k = (dy/dx_k)^T dL/dy, summed over the axes that x_k was broadcast to
            products = (gradient.unsqueeze(-2) @ J).squeeze(-2).split(widths, dim=-1)
            return tuple(
                part.sum_to_size(x.shape) if needed else None
                for part, x, needed in zip(products, tensors, ctx.needs_input_grad, strict=True)
            )

    applied: Callable[..., torch.Tensor] = Function.apply
    return applied
