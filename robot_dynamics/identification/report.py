"""The findings as text and JSON, the curves as CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.identification.causes import WEAK, Cause
from robot_dynamics.identification.evaluation import Evaluation
from robot_dynamics.spatial import Array

HEAD = (
    *('joint', 'unit', 'effort', 'noise', 'residual', 'largest', 'bias', 'explained', 'moving'),
    'left',
)
MANY = 1e3  # of a share: more is written with an exponent
WORSE = -0.5  # R^2 of a model of something else


def text(found: Evaluation) -> str:
    """Return what was found, to be read by people."""
    lines = [_what_was_used(found), *found.notes, '', *_table(found)]
    if found.causes:
        lines += ['', 'likely causes, what explains most first']
        lines += [f'  {sentence(cause, found)}' for cause in found.causes]
        if found.doubtful:
            lines += ['  the recording cannot tell what else is wrong']
    elif found.doubtful:
        lines += ['', 'the recording cannot tell what is wrong: no cause holds throughout']
    elif found.told:
        lines += ['', 'no cause stands out of the noise']
    else:
        lines += ['', 'the recording cannot tell what is wrong: joints hardly move, or see above']
    if (found.explained < WORSE).all():
        lines += ['nothing is explained: another robot, other signs, or efforts in another unit?']
    return '\n'.join(lines)


def sentence(cause: Cause, found: Evaluation) -> str:
    """Return a cause in words, and how much of the residual it is."""
    words = _SENTENCES[cause.kind](cause, found)
    unit = found.units[found.joint_names.index(cause.joint)]
    at = '' if cause.place == cause.joint else f' of {cause.joint}'
    return f'{words} ({cause.size:.3g} {unit} of the residual{at})'


def as_json(found: Evaluation) -> dict[str, Any]:
    """Return the figures as what JSON can hold: numbers that are none become None."""
    columns = {
        'rms_effort': found.rms_effort,
        'rms_residual': found.rms_residual,
        'largest_residual': found.largest,
        'bias': found.bias,
        'explained': found.explained,
        'noise': found.noise,
        'moving': found.moving,
        'rms_left': found.left,
    }
    joints = {
        name: {
            'unit': found.units[j],
            **{key: _number(x[j]) for key, x in columns.items()},
            'correlations': {key: _number(x[j]) for key, x in found.correlations.items()},
        }
        for j, name in enumerate(found.joint_names)
    }
    return {
        'robot': found.robot,
        'rate': found.rate,
        'cutoff': found.cutoff,
        'samples': len(found.curves.t),
        'stretches': found.stretches,
        'left_out': dict(found.left_out),
        'notes': list(found.notes),
        'joints': joints,
        'causes': [
            {
                'kind': cause.kind,
                'place': cause.place,
                'value': cause.value.tolist(),
                'standard_deviation': cause.error.tolist(),
                'joint': cause.joint,
                'rms': cause.size,
                'text': sentence(cause, found),
            }
            for cause in found.causes
        ],
    }


def write_csv(found: Evaluation, file: Path) -> None:
    """Write the curves, a row per sample: t, then q, qd, qdd, effort, model, residual by joint."""
    curves = found.curves
    columns = {
        'position': curves.q,
        'velocity': curves.qd,
        'acceleration': curves.qdd,
        'effort': curves.effort,
        'model': curves.model,
        'residual': curves.residual,
    }
    with file.open('w', newline='') as stream:
        writer = csv.writer(stream)
        writer.writerow(['t', *(f'{n} {what}' for what in columns for n in found.joint_names)])
        writer.writerows(np.column_stack([curves.t, *columns.values()]).tolist())


# -- the table ------------------------------------------------------------------------------


def _what_was_used(found: Evaluation) -> str:
    left_out = ', '.join(f'{count} {reason}' for reason, count in found.left_out.items())
    return (
        f'{found.robot}: {len(found.curves.t)} samples, {found.rate:.4g} per second, in '
        f'{found.stretches} {"stretch" if found.stretches == 1 else "stretches"}, low-passed at '
        f'{found.cutoff:g} Hz; left out: {left_out or "none"}'
    )


def _table(found: Evaluation) -> list[str]:
    rows = zip(
        found.joint_names,
        found.units,
        _figures(found.rms_effort),
        _figures(found.noise),
        _figures(found.rms_residual),
        _figures(found.largest),
        _figures(found.bias),
        [_percent(x) for x in found.explained],
        [f'{100 * x:.0f} %' for x in found.moving],
        _figures(found.left),
        strict=True,
    )
    lines = [HEAD, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        '  '.join(
            f'{cell:<{width}}' if k < 2 else f'{cell:>{width}}'
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]


def _figures(values: Array) -> list[str]:
    """Return three digits of each, the last zeros kept, and nothing of what is nearly none."""
    return [f'{value:#.3g}'.rstrip('.') if abs(value) >= 1e-9 else '0' for value in values]


def _percent(share: float) -> str:
    if math.isnan(share):
        return '-'
    return f'{100 * share:.2f} %' if abs(share) < MANY else f'{100 * share:.2e} %'


def _number(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None


# -- causes in words ------------------------------------------------------------------------


def _friction(cause: Cause, found: Evaluation) -> str:
    prismatic = found.units[found.joint_names.index(cause.place)] == 'N'
    unit = {
        ('dry friction', False): 'N m',
        ('dry friction', True): 'N',
        ('viscous friction', False): 'N m s/rad',
        ('viscous friction', True): 'N s/m',
        ('rotor inertia', False): 'kg m^2',
        ('rotor inertia', True): 'kg',
    }[cause.kind, prismatic]
    size = _measured(abs(cause.value[0]), cause.error[0])
    return f'{cause.place}: the model has {size} {unit} too {_little(cause)} {cause.kind}'


def _offset(cause: Cause, found: Evaluation) -> str:
    unit = found.units[found.joint_names.index(cause.place)]
    side = 'high' if cause.value[0] > 0 else 'low'
    return (
        f'{cause.place}: the efforts are {_measured(abs(cause.value[0]), cause.error[0])} {unit} '
        f'too {side}, whatever the arm does'
    )


def _scale(cause: Cause, found: Evaluation) -> str:
    factor = 1 + cause.value[0]
    words = f'{cause.place}: the efforts are {_measured(factor, cause.error[0])} times the torque'
    return words if factor == 0 else f'{words}: effort_scale should be {1 / factor:.4g} times it'


def _load(cause: Cause, found: Evaluation) -> str:
    m, c = cause.value[0], cause.value[1:]
    size = _measured(abs(m), cause.error[0])
    return (
        f'{cause.place}: the model carries {size} kg too {_little(cause)}, at {_vector(c)} m in '
        'its frame'
    )


def _centre_of_mass(cause: Cause, found: Evaluation) -> str:
    return (
        f'{cause.place}: mass times its distance is off by {_vector(cause.value)} kg m in its '
        'frame'
    )


def _inertia(cause: Cause, found: Evaluation) -> str:
    return (
        f'{cause.place}: mass, centre of mass or inertia tensor is wrong, of this link or of one '
        'next to it'
    )


def _gravity(cause: Cause, found: Evaluation) -> str:
    gravity = found.gravity + cause.value
    if np.linalg.norm(gravity) < WEAK * np.linalg.norm(found.gravity):
        return 'the efforts leave gravity out: effort_gravity_compensated should be true'
    return (
        f'gravity is {_vector(gravity)} m/s^2 in the base, not {_vector(found.gravity)}: how is '
        'the base mounted?'
    )


def _delay(cause: Cause, found: Evaluation) -> str:
    side = 'later' if cause.value[0] > 0 else 'earlier'
    size = _measured(1e3 * abs(cause.value[0]), 1e3 * cause.error[0])
    return f'the efforts are {size} ms {side} than the motion'


def _little(cause: Cause) -> str:
    return 'little' if cause.value[0] > 0 else 'much'


def _vector(values: Array) -> str:
    # 0.0 is added since -0.0 would keep its sign.
    return '(' + ', '.join(f'{round(value, 3) + 0.0:.3f}' for value in values.tolist()) + ')'


def _measured(value: float, error: float) -> str:
    """Return a value with its standard deviation, both to two digits of the latter."""
    digits = 3 if error <= 0 else min(6, max(0, 1 - math.floor(math.log10(error))))
    return f'{value:.{digits}f} ± {error:.{digits}f}'


_SENTENCES: dict[str, Callable[[Cause, Evaluation], str]] = {
    'dry friction': _friction,
    'viscous friction': _friction,
    'rotor inertia': _friction,
    'offset': _offset,
    'scale': _scale,
    'load': _load,
    'centre of mass': _centre_of_mass,
    'inertia': _inertia,
    'gravity': _gravity,
    'delay': _delay,
}
