# SPDX-License-Identifier: Apache-2.0
"""Report of an evaluation: text, JSON and figure; curves as CSV."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.common.reporting.figures import save
from robot_dynamics.common.reporting.findings import Finding
from robot_dynamics.common.reporting.numbers import measured, three_digits
from robot_dynamics.common.reporting.tables import aligned, write_curves
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.joint_values import unit_of
from robot_dynamics.evaluation.evaluation import Evaluation
from robot_dynamics.evaluation.hypotheses import Cause
from robot_dynamics.evaluation.search_numbers import CERTAIN, LIMITS
from robot_dynamics.recordings.effort_curves import effort_curves

HEAD = (
    *('joint', 'unit', 'effort', 'removed', 'residual', 'largest', 'bias', 'explained', 'moving'),
    'unexplained',
)
MAX_SHARE = 1e3  # larger ones are written with an exponent
OF_BODIES = ('load', 'centre of mass', 'inertia')  # their errors assume the other links
WORSE = -0.5  # R^2 of the model of another robot


def text(found: Evaluation) -> str:
    """Return the findings as text."""
    lines = [_samples(found), *found.notes, '', *_table(found), '']
    if found.causes:
        lines += ['likely causes, ordered by the share of the residual they explain']
        lines += _grouped(found)
        if any(cause.kind == 'load' for cause in found.causes):
            lines += ['  (± of a payload is conditional on the other links: see `payload`)']
        if found.doubtful:
            lines += ['  a further error is not determined by this recording']
    elif found.doubtful:
        lines += ['not determined by this recording: no cause is valid in all parts of it']
    elif found.searched:
        lines += ['no cause exceeds the noise']
    else:
        lines += ['not determined by this recording: joints hardly move, or see above']
    delay, error = found.delay
    if abs(delay) > CERTAIN * error and not any(cause.kind == 'delay' for cause in found.causes):
        lines += [f'delay of the efforts: {measured(1e3 * delay, 1e3 * error)} ms']
    if found.searched and found.undetermined:
        lines += [f'errors of 5 % of the effort would not be seen in: {_undetermined(found)}']
    if (found.explained < WORSE).all():
        lines += ['nothing is explained: check robot, signs, and the unit of efforts']
    return '\n'.join(lines)


def sentence(cause: Cause, found: Evaluation) -> str:
    """Return a cause as a sentence, with its share of the residual."""
    unit = found.units[found.joint_names.index(cause.joint)]
    at = '' if cause.place == cause.joint else f' of {cause.joint}'
    return f'{statement(cause, found)} ({cause.size:.3g} {unit} of the residual{at})'


def statement(cause: Cause, found: Evaluation) -> str:
    """Return a cause in words."""
    said, value = WORDS[cause.kind](cause, found)
    return f'{cause.place or "all joints"}: {said}{value}' if said else value


def _grouped(found: Evaluation) -> list[str]:
    """Return the lines of the causes; one line for those that say the same of several joints."""
    groups: dict[str, list[Cause]] = {}
    for k, cause in enumerate(found.causes):
        said, _ = WORDS[cause.kind](cause, found)
        alone = not said or not cause.place or cause.alternatives
        groups.setdefault(f'{k}' if alone else said, []).append(cause)
    lines = []
    for said, group in groups.items():
        if len(group) == 1:
            lines.append(f'  {sentence(group[0], found)}')
            for other in group[0].alternatives:
                lines.append(f'    or {statement(other, found)}')
        else:
            each = (f'{one.place} {WORDS[one.kind](one, found)[1]}'.rstrip() for one in group)
            lines.append(f'  {said.rstrip(", ").removesuffix(" by")}: {", ".join(each)}')
    return lines


def _undetermined(found: Evaluation) -> str:
    places: dict[str, list[str]] = {}
    for kind, place in found.undetermined:
        places.setdefault(kind, []).append(place)
    return '; '.join(f'{kind} of {", ".join(names)}' for kind, names in places.items())


def as_json(found: Evaluation) -> dict[str, Any]:
    """Return the figures for JSON."""
    return {
        'robot': found.robot,
        'rate': found.rate,
        'cutoff': found.cutoff,
        'samples': len(found.curves.t),
        'stretches': found.stretches,
        'left_out': dict(found.left_out),
        'notes': list(found.notes),
        'joints': _joints_as_json(found),
        'causes': [
            {
                **_cause_as_json(cause, found),
                'alternatives': [_cause_as_json(other, found) for other in cause.alternatives],
            }
            for cause in found.causes
        ],
        'searched': found.searched,
        'doubtful': found.doubtful,
        'delay': {
            'value': found.delay[0],
            'standard_deviation': found.delay[1],
        },
        'undetermined': [{'kind': kind, 'subject': place} for kind, place in found.undetermined],
    }


def _joints_as_json(found: Evaluation) -> dict[str, Any]:
    columns = {
        'rms_effort': found.rms_effort,
        'rms_residual': found.rms_residual,
        'largest_residual': found.largest,
        'bias': found.bias,
        'explained': found.explained,
        'removed': found.removed,
        'moving': found.moving,
        'rms_left': found.unexplained,
    }
    return {
        name: {
            'unit': found.units[j],
            **{key: x[j] for key, x in columns.items()},
            'correlations': {key: x[j] for key, x in found.correlations.items()},
        }
        for j, name in enumerate(found.joint_names)
    }


def finding(cause: Cause, found: Evaluation) -> Finding:
    """Return a cause in the form of all tools; its size is an RMS at a joint, N m or N."""
    return Finding(cause.kind, cause.place, sentence(cause, found), cause.size)


def _cause_as_json(cause: Cause, found: Evaluation) -> dict[str, Any]:
    return {
        **finding(cause, found).to_json(),
        'value': cause.value,
        'standard_deviation': cause.error,
        'conditional_on': ['description'] if cause.kind in OF_BODIES else [],
        'joint': cause.joint,
    }


def write_csv(found: Evaluation, file: Path) -> None:
    """Write the curves, a row per sample: t, then by joint the motion and the efforts."""
    curves = found.curves
    columns = {
        'position': curves.q,
        'velocity': curves.qd,
        'acceleration': curves.qdd,
        'effort': curves.effort,
        'model': curves.model,
        'residual': curves.residual,
        'corrected': curves.corrected,
    }
    write_curves(file, found.joint_names, curves.t, columns)


# -- the table ------------------------------------------------------------------------------


def _samples(found: Evaluation) -> str:
    left_out = ', '.join(f'{count} {reason}' for reason, count in found.left_out.items())
    return (
        f'{found.robot}: {len(found.curves.t)} samples, {found.rate:.4g} per second, in '
        f'{found.stretches} {"stretch" if found.stretches == 1 else "stretches"}, low-pass at '
        f'{found.cutoff:g} Hz; omitted: {left_out or "none"}'
    )


def _table(found: Evaluation) -> list[str]:
    rows = zip(
        found.joint_names,
        found.units,
        map(three_digits, found.rms_effort),
        map(three_digits, found.removed),
        map(three_digits, found.rms_residual),
        map(three_digits, found.largest),
        map(three_digits, found.bias),
        [_percent(x) for x in found.explained],
        [f'{100 * x:.0f} %' for x in found.moving],
        map(three_digits, found.unexplained),
        strict=True,
    )
    return aligned([HEAD, *rows], '<<>')


def _percent(share: float) -> str:
    if math.isnan(share):
        return '-'
    return f'{100 * share:.2f} %' if abs(share) < MAX_SHARE else f'{100 * share:.2e} %'


# -- causes ---------------------------------------------------------------------------------


Words = tuple[str, str]  # what a cause says of its place, empty if it names none; the value


UNITS = {'viscous friction': 'N m s/rad', 'rotor inertia': 'kg m^2'}


def _friction(cause: Cause, found: Evaluation) -> Words:
    angular = found.units[found.joint_names.index(cause.place)] == 'N m'
    unit = unit_of(angular, UNITS.get(cause.kind, 'N m'))
    size = measured(abs(cause.value[0]), cause.error[0])
    return f'the model {_estimates(cause)} {cause.kind} by ', f'{size} {unit}'


def _offset(cause: Cause, found: Evaluation) -> Words:
    unit = found.units[found.joint_names.index(cause.place)]
    value = f'{measured(cause.value[0], cause.error[0])} {unit}'
    return 'constant offset of the efforts, ', value


def _scale(cause: Cause, found: Evaluation) -> Words:
    factor = 1 + cause.value[0]
    value = f'{measured(factor, cause.error[0])} times the torque'
    if factor != 0:
        value += f' (multiply effort_scale by {1 / factor:.4g})'
    return 'efforts are ', value


def _load(cause: Cause, found: Evaluation) -> Words:
    m, c = cause.value[0], cause.value[1:]
    size = measured(abs(m), cause.error[0])
    payload = 'payload missing from the model' if m > 0 else 'mass in excess in the model'
    return f'{payload}, ', f'{size} kg at {_vector(c)} m in its frame'


def _centre_of_mass(cause: Cause, found: Evaluation) -> Words:
    return 'error of mass times centre of mass, ', f'{_vector(cause.value)} kg m in its frame'


def _inertia(cause: Cause, found: Evaluation) -> Words:
    m, error = float(cause.value[0]), float(cause.error[0])
    said = 'wrong mass, centre of mass or inertia tensor'
    if abs(m) > CERTAIN * error:
        side = 'too light' if m > 0 else 'too heavy'
        said += f'; the link is {measured(abs(m), error)} kg {side}'
    return said, ''


def _gravity(cause: Cause, found: Evaluation) -> Words:
    gravity = found.gravity + cause.value
    if np.linalg.norm(gravity) < LIMITS.no_gravity * np.linalg.norm(found.gravity):
        return '', 'the efforts do not include gravity: set effort_gravity_compensated to true'
    if not found.gravity.any():
        return '', (
            f'the efforts include gravity of {_vector(gravity)} m/s^2 in the base frame: set '
            'gravity to it, and effort_gravity_compensated to false'
        )
    return '', (
        f'gravity is {_vector(gravity)} m/s^2 in the base frame instead of '
        f'{_vector(found.gravity)}: check the mounting of the base'
    )


def _delay(cause: Cause, found: Evaluation) -> Words:
    side = 'later' if cause.value[0] > 0 else 'earlier'
    size = measured(1e3 * abs(cause.value[0]), 1e3 * cause.error[0])
    return '', f'the efforts are {size} ms {side} than the motion'


def _estimates(cause: Cause) -> str:
    return 'underestimates' if cause.value[0] > 0 else 'overestimates'


def _vector(values: Array) -> str:
    # Adding 0.0 removes the sign of -0.0.
    return '(' + ', '.join(f'{round(value, 3) + 0.0:.3f}' for value in values.tolist()) + ')'


WORDS: dict[str, Callable[[Cause, Evaluation], Words]] = {
    'dry friction': _friction,
    'Stribeck friction': _friction,
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


# -- figure ---------------------------------------------------------------------------------


def plot(found: Evaluation, file: str | Path | None = None) -> Any:
    """Draw effort, model, model with the causes and residual of each joint over time.

    Args:
        found: the evaluation.
        file: to save the figure.

    Returns:
        The matplotlib Figure.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    drawn = {'measured effort': found.curves.effort, 'model': found.curves.model}
    if found.causes:
        drawn['model with the causes'] = found.curves.corrected
    drawn['residual'] = found.curves.residual
    title = f'{found.robot}: efforts below {found.cutoff:g} Hz'
    figure = effort_curves(found.curves.t, drawn, found.joint_names, found.units, title)
    return save(figure, file)
