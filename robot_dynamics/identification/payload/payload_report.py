# SPDX-License-Identifier: Apache-2.0
"""A payload as text and JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.common.reporting.numbers import measured
from robot_dynamics.identification.payload.payload import Payload

TENSOR = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')


def text(found: Payload) -> str:
    """Return the payload in a few lines."""
    sign = 'within' if found.postures else '±'
    lines = [
        f'payload on {found.link}, {_source(found)}',
        f'mass: {measured(found.mass, found.mass_error, sign)} kg',
        'centre of mass in its frame, m: '
        + ', '.join(
            f'{axis} {measured(c, error, sign)}'
            if np.isfinite(error)
            else f'{axis} not determined'
            for axis, c, error in zip('xyz', found.com, found.com_error, strict=True)
        ),
    ]
    if np.isfinite(found.inertia_error).all():
        upper = np.triu_indices(3)
        entries = zip(TENSOR, found.inertia[upper], found.inertia_error[upper], strict=True)
        shown = ', '.join(f'{name} {measured(x, error)}' for name, x, error in entries)
        lines.append(f'inertia about it, kg m^2: {shown}')
    return '\n'.join([*lines, *(f'note: {note}' for note in found.notes)])


def _source(found: Payload) -> str:
    """Return where the figures come from, what their errors are, and what these depend on."""
    if found.postures:
        return (
            f'from {found.postures} postures at rest; bounds set by dry friction, conditional on '
            'the description'
        )
    how = f'from {found.seconds:.3g} s of motion; '
    if 'description' in found.conditional_on:
        return f'{how}the description is not identified: ± is conditional on it'
    if 'friction' in found.conditional_on:
        return f'{how}± is conditional on the friction of the model'
    return f'{how}standard errors of noise, friction, the scales of the efforts and the model'


def as_json(found: Payload) -> dict[str, Any]:
    """Return the payload for a JSON file."""
    upper = np.triu_indices(3)
    return {
        'link': found.link,
        'from': 'postures' if found.postures else 'motion',
        'postures': found.postures,
        'seconds_of_motion': found.seconds,
        'mass': found.mass,
        'mass_error': found.mass_error,
        'com': found.com,
        'com_error': found.com_error,
        'inertia': dict(zip(TENSOR, found.inertia[upper], strict=True)),
        'inertia_error': dict(zip(TENSOR, found.inertia_error[upper], strict=True)),
        'residual_rms': found.residual,
        'determined': found.determined,
        'conditional_on': list(found.conditional_on),
        'model_error': found.model_error,
        'notes': list(found.notes),
    }
