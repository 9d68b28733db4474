"""Every way a simulator can make a step.

| integrator | order | energy of a conservative arm |
|---|---|---|
| explicit_euler | 1 | grows: for study, and as the textbooks' algorithm |
| semi_implicit_euler | 1 | off by O(h); what physics engines do |
| rk4 | 4 | drifts by O(h^4): accurate, the default |
| implicit_midpoint | 2 | oscillates by O(h^2), no trend |
| discrete_gradient | 2 | constant to rounding |

The first three are compiled: `algorithms.integrators`. The others solve an equation in every step,
which takes twenty to fifty times longer: `midpoint`.
"""

from __future__ import annotations

from robot_dynamics.algorithms import integrators
from robot_dynamics.algorithms.integrators import Integrator
from robot_dynamics.simulation.steps.midpoint import (
    ImplicitIntegrator,
    discrete_gradient,
    implicit_midpoint,
)

IMPLICIT_INTEGRATORS: dict[str, ImplicitIntegrator] = {
    'implicit_midpoint': implicit_midpoint,
    'discrete_gradient': discrete_gradient,
}

AnyIntegrator = Integrator | ImplicitIntegrator

INTEGRATORS: dict[str, AnyIntegrator] = {**integrators.INTEGRATORS, **IMPLICIT_INTEGRATORS}


def as_integrator(integrator: AnyIntegrator | str) -> AnyIntegrator:
    """Return an integrator given by itself or by name. Raises ValueError for any other."""
    return INTEGRATORS[integrator_name(integrator)]


def integrator_name(integrator: AnyIntegrator | str) -> str:
    """Return the name of an integrator. Raises ValueError unless it is one of `INTEGRATORS`."""
    if isinstance(integrator, str) and integrator in INTEGRATORS:
        return integrator
    name = getattr(integrator, '__name__', repr(integrator))
    if name not in INTEGRATORS or INTEGRATORS[name] is not integrator:
        raise ValueError(f'integrator is {name!r}; it must be one of {", ".join(INTEGRATORS)}')
    return name
