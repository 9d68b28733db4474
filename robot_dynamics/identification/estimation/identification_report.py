# SPDX-License-Identifier: Apache-2.0
"""An identification as text and JSON: verdict, residuals, parameters, what is not identified."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.common.reporting.numbers import measured, three_digits
from robot_dynamics.common.reporting.tables import aligned
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.friction.coulomb import COULOMB_SPEED
from robot_dynamics.core.friction.laws import STRIBECK_SPEED, TERMS
from robot_dynamics.core.model.joint_values import unit_of
from robot_dynamics.identification.estimation.base_fit import (
    DETERMINED,
    PARAMETERS,
    PREDICTED,
    BaseEstimate,
)
from robot_dynamics.identification.estimation.covariance import INEXACT
from robot_dynamics.identification.estimation.described_problem import SCALE_CERTAIN
from robot_dynamics.identification.estimation.identification_records import (
    DERIVED,
    Identification,
    IdentifiedFriction,
)
from robot_dynamics.identification.estimation.identified_files import rounded
from robot_dynamics.identification.estimation.identified_validation import (
    CONFIDENCE,
    SAME,
    UNKNOWN,
    Validation,
)
from robot_dynamics.identification.estimation.parameter_fit import FEWEST
from robot_dynamics.recordings.periods import Averaged

CERTAIN = 4.0  # standard deviations
STOPS = 3  # of a joint, at least: fewer hardly test friction at standstill


def text(found: Identification) -> str:
    """Return verdict, residuals, drives and remarks as text."""
    residuals = aligned([RESIDUALS, *residual_rows(found.validation, found)])
    lines = [verdict(found), '', 'residuals, root mean square', *residuals, '']
    lines += [
        f'friction law {found.friction.law.name}: {found.friction.law.formula}',
        drive_units(found),
        *aligned(drive_rows(found)),
    ]
    return '\n'.join([*lines, '', *remarks(found)])


def verdict(found: Identification) -> str:
    """Return the verdict as a sentence."""
    v = found.validation
    where = {
        'last third': 'the last third of the recording',
        'blocks': 'each quarter of the recording, by a fit of the others,',
        'test': 'the test recording',
    }[v.source]
    lowest, highest = (f'{100 * x:.3g}' for x in v.interval)
    change = (
        f'{100 * v.ratio:.3g} % of that of the description (geometric mean of the joints; '
        f'{lowest} to {highest} % with a probability of {100 * CONFIDENCE:g} %)'
    )
    worse = np.array(found.model.joint_names)[v.worse_joints]
    sentence = f'on {where} the residual is {change}'
    if v.verdict == SAME and v.improves:
        return f'better on the whole, worse on {", ".join(worse)}: {sentence}'
    if v.verdict == UNKNOWN:
        sentence = f'record longer: {sentence}'
    return f'{v.verdict}: {sentence}' + (f'; larger on {", ".join(worse)}' if len(worse) else '')


def units(found: Identification) -> list[str]:
    """Return the unit of the validated efforts of each joint."""
    if found.validation.unit != 'SI':
        return [found.validation.unit] * found.model.n
    return list(found.model.effort_units)


RESIDUALS = ('joint', 'unit', 'effort', 'before', 'after', 'in motion', 'at rest', 'noise')


def residual_rows(v: Validation, found: Identification) -> list[tuple[str, ...]]:
    """Return the rows of the table with the head RESIDUALS."""
    moving, resting = v.rms_where(True)[1], v.rms_where(False)[1]
    columns = (v.effort_rms, v.before_rms, v.after_rms, moving, resting, v.noise)
    return [
        (name, unit, *(three_digits(column[j]) for column in columns))
        for j, (name, unit) in enumerate(zip(found.model.joint_names, units(found), strict=True))
    ]


def drive_units(found: Identification) -> str:
    """Return the units of the table of friction and drives, and what follows ±."""
    kinds = np.unique(found.model.angular)[::-1].tolist()
    shown = []
    for angular in kinds:
        of = {term: term_unit(term, angular) for term in found.friction.law.terms}
        of['offset'] = unit_of(angular)
        of['rotor inertia'] = unit_of(angular, 'kg m^2')
        of['effort scale'] = f'{unit_of(angular)} per recorded unit'
        where = f'{"revolute" if angular else "prismatic"} joints: ' if len(kinds) > 1 else ''
        shown.append(where + ', '.join(f'{name} [{unit}]' for name, unit in of.items()))
    return f'{"; ".join(shown)}; ± is one standard error'


def drive_rows(found: Identification) -> list[tuple[str, ...]]:
    """Return head and rows of the table of friction, offset, rotor and scale with their errors."""
    drives, law = found.drives, found.friction.law
    coefficients, error = found.friction.coefficients, found.friction.error
    head = ('joint', *law.terms, 'offset', 'rotor inertia', 'effort scale')
    rows = [head]
    for j, name in enumerate(found.model.joint_names):
        friction = [
            measured(coefficients[j, i], error[j, i]) if drives.excited[j] else '-'
            for i in range(len(law.terms))
        ]
        rotor = measured(drives.rotor_inertia[j], drives.rotor_error[j])
        scale = measured(drives.effort_scale[j], drives.scale_error[j])
        rows.append(
            (
                name,
                *friction,
                measured(drives.offset[j], drives.offset_error[j]),
                rotor if drives.excited[j] and found.efforts != 'link-side' else '-',
                scale if drives.scale_known[j] else 'not identifiable',
            )
        )
    return rows


def remarks(found: Identification) -> list[str]:
    """Return how the data were used, and what could not be identified."""
    drift, names = found.drift, found.model.joint_names
    warming = [
        f'{names[j]}: friction changes by {100 * drift.friction[j]:.2g} % over '
        f'{drift.duration:.3g} s (warm-up)'
        for j in np.flatnonzero(drift.significant)
    ]
    return [*_usage(found), *_reservations(found), *warming, *found.signals.notes]


def _usage(found: Identification) -> list[str]:
    """Return how the signals were used: samples, periods, lag and delay."""
    signals, base = found.signals, found.inertia.base
    after = '' if found.validation.source == 'test' else ', all of them after the validation'
    lines = [
        f'{signals.samples} samples fitted{after}, low-pass at {signals.cutoff:.3g} Hz; '
        f'{int(base.determined.sum())} of {len(base.value)} base parameters determined: their '
        f'standard errors change no effort by more than {100 * PREDICTED:g} % of its deviation; '
        f'{int(base.surpasses.sum())} alone are known {1 / DETERMINED:g} times better than by the '
        f'description; condition number {base.condition:.3g}'
    ]
    if (periods := signals.periods) is not None:
        lines.append(
            f'{periods.number} periods of {periods.period:.4g} s averaged; spread of '
            'the efforts between them, in the recorded unit: '
            f'{", ".join(map(three_digits, periods.spread))}'
        )
    if signals.velocity_lag:
        lines.append(
            f'velocities {1e3 * abs(signals.velocity_lag):.3g} ms '
            f'{"later" if signals.velocity_lag > 0 else "earlier"} than the positions: '
            f'{"not used" if DERIVED in signals.notes else "aligned"}'
        )
    if signals.delay.value:
        lines.append(
            f'efforts {measured(1e3 * abs(signals.delay.value), 1e3 * signals.delay.error)} ms '
            f'{"later" if signals.delay.value > 0 else "earlier"} than the motion: '
            f'{signals.delay.reason}'
        )
    return lines


def _reservations(found: Identification) -> list[str]:
    """Return what could not be identified, and what the standard errors assume."""
    drives, names, lines = found.drives, np.array(found.model.joint_names), []
    if not drives.excited.all():
        lines.append(
            f'{", ".join(names[~drives.excited])}: hardly moves; friction and rotor inertia are '
            "the URDF's"
        )
    if not drives.scale_known.all():
        lines.append(
            f'{_unknown_scale(found)}; the figures in N m hold for the effort scale shown in the '
            'files, residuals are in the recorded unit'
        )
    if found.load is not None and found.scaled_by_payload:
        lines.append(
            f'every N m and kg is proportional to the mass given with --payload, '
            f'{found.load.mass:g} kg: an error of 1 % of it is one of 1 %'
        )
    if not found.fit.problem.gains:
        lines.append(
            'standard errors allow for an unknown scale of the efforts of each joint: 1 ± '
            f'{INEXACT:g}'
        )
    stops = int(_stops(found.fit.terms.moving).max())
    if found.friction.law.memory and stops < STOPS:
        lines.append(
            f'the joints come to rest {stops} times at most: friction at standstill, which the '
            'law keeps from the motion before, is hardly tested; record a motion with several '
            'stops if the arm rests in its work'
        )
    if late := _lagging(found):
        chosen = len(found.friction.held_out) > 1
        lines.append(
            f'{", ".join(late)}: rotor inertia below zero by least squares, friction follows '
            f'another law than {found.friction.law.name}{"" if chosen else " (--friction auto)"}; '
            'standard errors of inertial parameters assume this law'
        )
    return lines


def _unknown_scale(found: Identification) -> str:
    """Return why the scale of some joints is not known, and what is expected instead."""
    load, names = found.load, np.array(found.model.joint_names)
    if load is None:
        return (
            'the scale of the efforts is not identifiable from currents alone: record the same '
            'motion with a known payload (--payload-bag, --payload) or give --effort-scale'
        )
    if not load.agrees:
        return (
            'the scale of the efforts is not identifiable: the recording with the payload '
            f'contradicts a payload of {load.mass:g} kg; expected the right mass and centre'
        )
    return (
        f'the scale of the efforts of {", ".join(names[~found.drives.scale_known])} is not '
        f'identifiable with {load.mass:g} kg on {load.link}: its standard error is over '
        f'{100 * SCALE_CERTAIN:g} %; expected a heavier payload, or one farther from these axes, '
        'or --effort-scale JOINT=X'
    )


def _stops(moving: Array) -> Array:
    """Return how often each joint (n,) rests for FEWEST rows after motion, by a mask (K, n)."""
    windows = np.lib.stride_tricks.sliding_window_view(~moving[1:], FEWEST, axis=0)
    still = np.asarray(windows.all(axis=-1))
    return np.asarray((moving[: len(still)] & still).sum(axis=0))


def _lagging(found: Identification) -> list[str]:
    """Return the joints whose rotor inertia, by least squares, is certainly negative.

    Friction that lags behind the velocity has the phase of a negative inertia.
    """
    rotor, base = '.rotor_inertia', found.inertia.base
    return [
        name.removesuffix(rotor)
        for name, value, error in zip(base.names, base.value, base.error, strict=True)
        if name.endswith(rotor) and value < -CERTAIN * error
    ]


def term_unit(term: str, angular: bool) -> str:
    """Return the unit of a coefficient of friction."""
    return unit_of(angular, TERMS[term][1])


# -- JSON -----------------------------------------------------------------------------------


def as_json(found: Identification) -> dict[str, Any]:
    """Return the figures for JSON."""
    v, signals, joints = found.validation, found.signals, range(found.model.n)
    return {
        'robot': found.model.name,
        'verdict': v.verdict,
        'residual_ratio': v.ratio,
        'residual_ratio_interval': v.interval,
        'joints': [_joint(found, j) for j in joints],
        'friction_law': _friction_law(found.friction),
        'effort_scale_identifiable': bool(found.drives.scale_known.all()),
        'payload': None if found.load is None else _payload(found),
        'assumed_scale_error': None if found.fit.problem.gains else INEXACT,
        'test': [_tested(found, j) for j in joints],
        'test_data': v.source,
        'base_parameters': _base_parameters(found.inertia.base),
        'links': [_link(found, i) for i in range(found.model.nb)],
        'excitation': _excitation(found),
        'delay': {
            'value': signals.delay.value,
            'standard_error': signals.delay.error,
            'applied': signals.delay.applied,
        },
        'velocity_lag': signals.velocity_lag,
        'drift': [_drift(found, j) for j in joints],
        'periods': None if signals.periods is None else _periods(signals.periods),
        'cutoff': signals.cutoff,
        'samples': signals.samples,
        'notes': list(signals.notes),
    }


def _joint(found: Identification, j: int) -> dict[str, Any]:
    law = found.friction.law
    errors = {term: found.friction.error[j, i] for i, term in enumerate(law.terms)}
    return {
        'name': found.model.joint_names[j],
        **{term: found.friction.coefficients[j, i] for i, term in enumerate(law.terms)},
        **({'presliding': found.friction.presliding[j]} if law.memory else {}),
        'offset': found.drives.offset[j],
        'rotor_inertia': found.drives.rotor_inertia[j],
        'effort_scale': found.drives.effort_scale[j],
        'effort_scale_known': found.drives.scale_known[j],
        'moves': found.drives.excited[j],
        'standard_error': {
            **errors,
            'offset': found.drives.offset_error[j],
            'rotor_inertia': found.drives.rotor_error[j],
            'effort_scale': found.drives.scale_error[j],
        },
    }


def _payload(found: Identification) -> dict[str, Any]:
    load = found.load
    return (
        {}
        if load is None
        else {
            'link': load.link,
            'mass': load.mass,
            'com': load.com,
            'com_standard_error': load.com_error,
            'agrees': load.agrees,
            'sets_effort_scale': found.scaled_by_payload,
        }
    )


def _tested(found: Identification, j: int) -> dict[str, Any]:
    v = found.validation
    moving, resting = v.rms_where(True), v.rms_where(False)
    return {
        'name': found.model.joint_names[j],
        'effort_rms': v.effort_rms[j],
        'before_rms': v.before_rms[j],
        'after_rms': v.after_rms[j],
        'noise_rms': v.noise[j],
        'unit': units(found)[j],
        'in_motion': {'before_rms': moving[0][j], 'after_rms': moving[1][j]},
        'at_rest': {'before_rms': resting[0][j], 'after_rms': resting[1][j]},
    }


def _friction_law(friction: IdentifiedFriction) -> dict[str, Any]:
    law = friction.law
    return {
        'name': law.name,
        'formula': law.formula,
        'terms': {term: TERMS[term][0] for term in law.terms},
        'smoothing': {
            'coulomb_speed': COULOMB_SPEED,
            'stribeck_speed': STRIBECK_SPEED,
            'memory': law.memory,
        },
        'held_out_residual': friction.held_out,
    }


def _base_parameters(base: BaseEstimate) -> list[dict[str, Any]]:
    return [
        {
            'name': name,
            'combination': base.combination(k),
            'value': base.value[k],
            'standard_error': base.error[k],
            'urdf': base.prior[k],
            'physical': base.physical[k],
            'determined': base.determined[k],
            'effect': base.effect[k],
            'surpasses_description': base.surpasses[k],
        }
        for k, name in enumerate(base.names)
    ]


def _link(found: Identification, i: int) -> dict[str, Any]:
    inertia, described = found.inertia, found.fit.problem.start.theta
    return {
        'name': found.model.body_names[i],
        'parameters': {
            name: {
                'value': inertia.theta[k],
                'standard_error': inertia.error[k],
                'urdf': described[k],
                'determined': inertia.determined[k],
            }
            for k, name in enumerate(PARAMETERS, 10 * i)
        },
    }


def _excitation(found: Identification) -> dict[str, Any]:
    base, names = found.inertia.base, np.array(found.model.joint_names)
    return {
        'condition': base.condition,
        'base_parameters': len(base.value),
        'determined': base.determined.sum(),
        'surpassing_description': base.surpasses.sum(),
        'moving': names[found.drives.excited].tolist(),
    }


def _drift(found: Identification, j: int) -> dict[str, Any]:
    drift = found.drift
    return {
        'name': found.model.joint_names[j],
        'friction': drift.friction[j],
        'friction_standard_error': drift.friction_error[j],
        'offset': drift.offset[j],
        'offset_standard_error': drift.offset_error[j],
    }


def _periods(periods: Averaged) -> dict[str, Any]:
    return {
        'number': periods.number,
        'period': periods.period,
        'effort_spread': rounded(periods.spread),
    }
