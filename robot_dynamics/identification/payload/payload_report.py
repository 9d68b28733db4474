# SPDX-License-Identifier: Apache-2.0
"""A payload as text and JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.identification.payload.payload import Payload
from robot_dynamics.reporting.numbers import measured

TENSOR = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')


def text(found: Payload) -> str:
    """Return the payload in a few lines."""
    if found.postures:
        how = f'from {found.postures} postures at rest; bounds set by dry friction'
        sign = 'within'
    else:
        how = (
            f'from {found.seconds:.3g} s of motion; standard errors of noise, friction and the '
            'scales of the efforts'
        )
        sign = '±'
    lines = [
        f'payload on {found.link}, {how}',
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
        'notes': list(found.notes),
    }
