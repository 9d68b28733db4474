# SPDX-License-Identifier: Apache-2.0
"""Identified servos as text, JSON and a picture: lag first, then ratios, then torques."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.common.reporting.figures import joint_panels, save
from robot_dynamics.common.reporting.numbers import measured
from robot_dynamics.common.reporting.tables import aligned
from robot_dynamics.core.model.joint_values import unit_of
from robot_dynamics.identification.servo.certainty import WHOLE_LAG
from robot_dynamics.identification.servo.servo_result import (
    NOT_IDENTIFIABLE,
    ServoIdentification,
)

DETERMINED = 0.2  # relative error: a ratio with more is not identifiable
UNKNOWN = 0.5  # s: a lag with a larger error is not identifiable
NO = 'not identifiable'
LITTLE = 0.05  # of the variance of tracking errors: gravity that explains less is named
# Columns of ratios: head, name, factor to the unit of the head
RATIOS = (
    ('D/kp [ms]', 'lag', 1e3),
    ('A/kp [ms^2]', 'armature', 1e6),
    ('fc/kp [m{}]', 'coulomb', 1e3),
    ('tmax/kp [m{}]', 'limit', 1e3),
)
TORQUES = (
    ('kp', 'stiffness'),
    ('D', 'damping'),
    ('armature', 'armature'),
    ('fc', 'coulomb'),
    ('tmax', 'torque_limit'),
)


def text(found: ServoIdentification) -> str:
    """Return lag, ratios, torques, tracking errors and remarks as text."""
    lines = ['lag D/kp + d: by how much each joint follows its command later [ms]']
    lines += [*aligned(_lag_rows(found)), '', 'ratios to kp', *aligned(_ratio_rows(found)), '']
    lines += ['torques, N m, rad, s (N, m, s)', *aligned(_torque_rows(found)), '']
    where = {'test': 'the test recordings', 'last third': 'the last third of each recording'}
    lines += [
        f'tracking error on {where[found.validation.source]}, not fitted, simulated from commands '
        f'alone, root mean square [m{_unit(found)}]',
        *aligned(_error_rows(found)),
        '',
    ]
    return '\n'.join([*lines, *remarks(found)])


def _fitted(found: ServoIdentification) -> list[tuple[int, str]]:
    return [(j, n) for j, n in enumerate(found.model.joint_names) if n not in found.refused]


def _unit(found: ServoIdentification) -> str:
    """Return the unit of positions, of all joints."""
    angular = [bool(found.model.angular[j]) for j, _ in _fitted(found)]
    return 'rad, mm' if any(angular) and not all(angular) else unit_of(all(angular), 'rad')


def _lag_rows(found: ServoIdentification) -> list[list[str]]:
    rows = [['joint', 'D/kp + d', 'D/kp', 'd']]
    e = found.errors
    for j, name in _fitted(found):
        lag, delay = found.ratios['lag'][j], found.delay[j]
        pairs = ((lag + delay, e[WHOLE_LAG][j]), (lag, e['lag'][j]), (delay, e['delay'][j]))
        rows.append([name, *(measured(1e3 * x, 1e3 * s) if s < UNKNOWN else NO for x, s in pairs)])
    return rows


def _ratio_rows(found: ServoIdentification) -> list[list[str]]:
    unit = _unit(found)
    rows = [['joint', *(head.format(unit) for head, _, _ in RATIOS)]]
    for j, name in _fitted(found):
        row = [name]
        for _, key, factor in RATIOS:
            x, error = found.ratios[key][j], found.errors[key][j]
            if key == 'limit' and not np.isfinite(x):
                row.append(f'> {factor * found.bounds[j]:.3g}')
            elif not error < DETERMINED * x:
                row.append(NO)
            else:
                row.append(measured(factor * x, factor * error))
        rows.append(row)
    return rows


def _torque_rows(found: ServoIdentification) -> list[list[str]]:
    rows = [['joint', *(head for head, _ in TORQUES), 'scale']]
    for j, name in _fitted(found):
        row = [name]
        for _, key in TORQUES:
            known = found.absolute is not None and np.isfinite(found.absolute[key][j])
            if known and found.absolute is not None and found.absolute_errors is not None:
                row.append(measured(found.absolute[key][j], found.absolute_errors[key][j]))
            else:
                row.append('-')
        rows.append([*row, found.scale[j].partition(':')[0]])
    return rows


def _error_rows(found: ServoIdentification) -> list[list[str]]:
    v = found.validation
    rows = [['joint', 'before: q = command', 'description', 'after', 'R^2']]
    for j, name in _fitted(found):
        errors = (v.before_rms[j], v.described_rms[j], v.after_rms[j])
        words = [f'{1e3 * x:.3g}' if np.isfinite(x) else 'diverges' for x in errors]
        rows.append([name, *words, f'{v.explained[j]:.3f}'])
    return rows


def remarks(found: ServoIdentification) -> list[str]:
    """Return what is not identified, and what the motion does not show."""
    lines = [f'{name}: not identified: {reason}' for name, reason in found.refused.items()]
    lines += [
        f'{name}: no better than q = command and an offset: do not use' for name in found.worse
    ]
    lines += list(found.notes)
    period = 1e3 * float(np.median(np.diff(found.validation.t)))
    lines.append(
        f'assumed: commands change at samples alone, every {period:.3g} ms; if more were sent, '
        f'D/kp + d is larger, by up to {period / 2:.3g} ms'
    )
    zeros = zip(found.model.joint_names, found.zero, found.errors['zero'], strict=True)
    lines += [
        f'{name}: the joint is {measured(1e3 * x, 1e3 * e)} mrad beyond its encoder; the files '
        'do not contain it'
        for name, x, e in zeros
        if np.isfinite(e)
    ]
    gains = [one['gravity'] for one in found.gains if 'gravity' in one]
    if gains and max(gains) < LITTLE:
        lines.append(
            f'varying gravity explains {100 * max(0.0, max(gains)):.1g} % of the variance of the '
            'tracking error or less on every joint: gravity compensation will hardly reduce it, '
            'beyond a constant droop; delay, lag and friction cause it'
        )
    lines += [
        f'{name}: {found.scale[j]}; its ratios hold'
        for j, name in _fitted(found)
        if found.scale[j].startswith(NOT_IDENTIFIABLE)
    ]
    if any(scale == 'gravity' for scale in found.scale):
        lines.append('errors of torques contain 10 % for the masses of the description')
    return lines


def as_json(found: ServoIdentification) -> dict[str, Any]:
    """Return the figures of a result, by joint."""
    v = found.validation

    def by_joint(values: Any) -> dict[str, Any]:
        return {n: None if isinstance(x, float) and not np.isfinite(x) else x
                for n, x in zip(found.model.joint_names, values, strict=True)}  # fmt: skip

    def tables(groups: Any) -> dict[str, Any] | None:
        if groups is None:
            return None
        return {key: by_joint(np.asarray(x).tolist()) for key, x in groups.items()}

    return {
        'lag': by_joint((found.ratios['lag'] + found.delay).tolist()),
        'ratios': tables(found.ratios),
        'delay': by_joint(found.delay.tolist()),
        'errors': tables(found.errors),
        'scale': by_joint(found.scale),
        'absolute': tables(found.absolute),
        'absolute_errors': tables(found.absolute_errors),
        'torque_limit_above': by_joint(found.bounds.tolist()),
        'zero': by_joint(found.zero.tolist()),
        'tracking_error': {
            'source': v.source,
            'before': by_joint(v.before_rms.tolist()),
            'description': by_joint(v.described_rms.tolist()),
            'after': by_joint(v.after_rms.tolist()),
            'explained': by_joint(v.explained.tolist()),
        },
        'remarks': remarks(found),
    }


def plot(found: ServoIdentification, file: str | Path | None = None) -> Any:
    """Return a figure of the tracking errors before and after, written to a file if one is named.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    v, joints = found.validation, _fitted(found)
    figure, axes = joint_panels([name for _, name in joints], 10.0, 1.5)
    # Runs follow one another.
    t = np.concatenate([[0.0], np.cumsum(np.maximum(np.diff(v.t), 0.0))])
    for panel, (j, _) in zip(axes[:, 0], joints, strict=True):
        for predicted, color, word in ((v.command, '0.6', 'before'), (v.after, 'C0', 'after')):
            error = np.where(v.used[:, j], 1e3 * (predicted - v.q)[:, j], np.nan)
            rms = v.before_rms[j] if word == 'before' else v.after_rms[j]
            unit = unit_of(bool(found.model.angular[j]), 'rad')
            panel.plot(t, error, color=color, lw=0.8, label=f'{word}: {1e3 * rms:.3g} m{unit} rms')
        panel.legend(loc='upper right', fontsize='small', ncols=2)
    figure.suptitle(
        f'error of the predicted position [m{_unit(found)}]: by the command, by the servos'
    )
    return save(figure, file)
