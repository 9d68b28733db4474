# SPDX-License-Identifier: Apache-2.0
"""Dynamics as differentiable functions of PyTorch's tensors.

    step = simulation_step(arm, time_step=1e-3)
    q, qd = step(q, qd, tau)

Tensors are float64 on the CPU; their memory is shared, not copied. Others raise TypeError:
convert them by `tensor.to('cpu', torch.float64)`. Leading axes are a batch, one call of compiled
code. First derivatives are analytic, by `backward`; second ones raise RuntimeError.
"""
# PyTorch is not installed wherever types are checked.
# mypy: disable-error-code="misc"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from robot_dynamics.common.extras import needed
from robot_dynamics.core.dynamics import DEFAULT_INTEGRATOR, Dynamics
from robot_dynamics.export.interop import differentiable
from robot_dynamics.export.interop.differentiable import Differentiable

with needed('torch', 'functions of PyTorch need PyTorch'):
    import torch


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
) -> Callable[..., tuple[torch.Tensor, torch.Tensor]]:
    """Return step(q, qd, tau) -> (q, qd), or with a payload step(q, qd, tau, payload).

    Arguments and errors: `differentiable.simulation_step`; tensors as of `inverse_dynamics`.
    """
    step = _function(
        differentiable.simulation_step(
            arm, time_step=time_step, integrator=integrator, friction=friction, payload=payload
        )
    )

    def split(*arguments: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        q, qd = step(*arguments).chunk(2, dim=-1)
        return q, qd

    return split


def _function(of: Differentiable) -> Callable[..., torch.Tensor]:
    """Return a function of tensors with its derivatives."""
    widths = list(of.inputs.values())

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
            # `once_differentiable` would return wrong second derivatives of sums silently.
            if torch.is_grad_enabled():
                raise RuntimeError(
                    f'{of.name} has first derivatives alone: call backward without create_graph'
                )
            result, *tensors = ctx.saved_tensors
            J = torch.from_numpy(of.jacobian(*(x.numpy() for x in (result, *tensors))))
            # dL/dx_k = (dy/dx_k)^T dL/dy, summed over the axes that x_k was broadcast to
            products = (gradient.unsqueeze(-2) @ J).squeeze(-2).split(widths, dim=-1)
            return tuple(
                part.sum_to_size(x.shape) if needed else None
                for part, x, needed in zip(products, tensors, ctx.needs_input_grad, strict=True)
            )

    def checked(*tensors: torch.Tensor) -> torch.Tensor:
        if len(tensors) != len(widths):
            raise TypeError(
                f'{of.name} got {len(tensors)} arguments, expected {", ".join(of.inputs)}'
            )
        for name, x in zip(of.inputs, tensors, strict=True):
            if x.dtype is not torch.float64 or not x.is_cpu:
                raise TypeError(
                    f'{of.name}: {name} is {x.dtype} on {x.device}, expected torch.float64 on '
                    "cpu: convert it by to('cpu', torch.float64)"
                )
        result: torch.Tensor = Function.apply(*tensors)
        return result

    return checked
