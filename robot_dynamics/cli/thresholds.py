# SPDX-License-Identifier: Apache-2.0
"""The verb `thresholds`: thresholds of contact from a recording of free motion."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.cli.options import finite, new_file
from robot_dynamics.cli.output import concise_warnings
from robot_dynamics.cli.recording_options import (
    add_compensation,
    add_recording,
    add_robot_changes,
    add_scale,
    chosen,
    compensated,
    effort_scale,
    friction,
    payload_of,
    recorded,
    recorded_robot,
    recording_named,
    recording_of,
)
from robot_dynamics.common.files import write_file
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.yaml_text import parameters_text, quoted
from robot_dynamics.control.contact import UNKNOWN
from robot_dynamics.control.contact_thresholds import (
    FAST_POLES,
    SLOW_POLES,
    Learned,
)
from robot_dynamics.control.filters import VelocityFilter
from robot_dynamics.control.momentum_observer import MomentumObserver, ObserverSettings
from robot_dynamics.control.threshold_learning import ThresholdLearning
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.friction_settings import FrictionSettings
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.recordings import Recording, RecordingError
from robot_dynamics.recordings.effort_unit import UNSTATED
from robot_dynamics.recordings.plausibility import require_joints
from robot_dynamics.recordings.recording import efforts_of, scale_of
from robot_dynamics.ros.observer_parameters import ObserverParameters, threshold_values
from robot_dynamics.ros.parameter_files import identified_from, read_back
from robot_dynamics.ros.parameters import values
from robot_dynamics.ros.robot_parameters import MeasuredParameters

DIGITS = 4  # significant, of the thresholds


def add_thresholds_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `thresholds`."""
    add_recording(parser)
    add_robot_changes(parser)
    add_scale(add_compensation(parser))
    result = parser.add_argument_group('the result')
    result.add_argument(
        '--output', type=new_file, help='YAML file for momentum_observer_node (printed)'
    )
    result.add_argument(
        '--exclude',
        type=_interval,
        action='append',
        metavar='T0:T1',
        default=[],
        help='leave this time of the recording out, s from its first sample, such as a contact',
    )
    result.add_argument(
        '--force',
        action='store_true',
        help='write thresholds of a recording that is rejected, marked by thresholds.forced',
    )


def thresholds(options: argparse.Namespace) -> int:
    """Learn thresholds of contact from free motion, as parameters of momentum_observer_node.

    Prints the rate of false contacts, held out by motion, the smallest torque that is always felt
    and in half of the motion, and the largest torques, whose times --exclude leaves out. Less than
    ten minutes give provisional thresholds, raised by a margin. Where time stamps jitter, slower
    poles along the momentum are chosen. Velocities that were not recorded are derived as the node
    does. A recording of less than 30 s or three motions is rejected with exit code 2, and nothing
    is written. Needs rosbags: pip install rosbags, or in a checkout pip install '.[bags]'.
    """
    bag = recorded(options)
    with concise_warnings():
        arm = Dynamics(recorded_robot(options, bag))
    model = arm.model
    with recording_named(options.bag, model):
        read = recording_of(options, bag, model)
        require_joints(read, model)
        recording = _in_torques(options, arm, read)
        given: MeasuredParameters = options.params
        recording, lag = _with_velocities(recording, given)
        settings = ObserverParameters(
            effort_delay=given.effort_delay, velocity_lag=lag or given.velocity_lag
        ).observer_settings(model)
        factor = ObserverParameters().detection.contact_factor
        learned, why = _learned(options, arm, recording, settings, factor)
        if why and not options.force:
            raise RecordingError(f'{why}; --force writes its thresholds all the same')
        if learned.stamps_jitter:
            settings = replace(settings, poles=FAST_POLES, poles_along_momentum=SLOW_POLES)
            learned, _ = _learned(options, arm, recording, settings, factor)
    if why:
        print(f'rejected, overridden by --force: {why}', file=sys.stderr)
    print(comment(learned, model.joint_names, factor, model.effort_limit))
    remarks = _origin(options) + [UNSTATED] * (UNSTATED in recording.notes)
    robot = _robot_parameters(options, model)
    if lag:
        robot |= {'velocity_cutoff': given.velocity_cutoff, 'velocity_lag': lag}
        robot['missing_velocity'] = 'differentiate'
        remarks.append('no velocities: derived as by missing_velocity: differentiate')
    for remark in remarks:
        print(f'# {remark}'.replace('; ', '\n# '))
    text = node_parameters(model, robot, learned, settings, factor)
    if options.output is None:
        print(text, end='')
    else:
        write_file(options.output, text)
        print(f'written: {options.output}')
    return 0


def comment(
    learned: Learned,
    joint_names: tuple[str, ...],
    contact_factor: float,
    effort_limit: ArrayLike = np.inf,
) -> str:
    """Return how far thresholds can be relied on, as a comment of YAML; arguments as `text`."""
    # Quoted, a name is one line; another would be read as YAML.
    text = learned.text(tuple(map(quoted, joint_names)), contact_factor, effort_limit)
    return f'# {text}'.replace('; ', '\n# ')


def node_parameters(
    model: RobotModel,
    robot: dict[str, Any],
    learned: Learned,
    settings: ObserverSettings,
    contact_factor: float,
) -> str:
    """Return the parameters of the node as YAML; it accepts them.

    Args:
        model: the robot.
        robot: parameters of the robot and its efforts, lists in the model's order.
        learned: the thresholds.
        settings: of the observer that they were learned with.
        contact_factor: that belongs to them.
    """
    parameters = robot | {
        'observer.poles': settings.poles,
        'observer.poles_along_momentum': settings.poles_along_momentum,
        'detection.contact_factor': contact_factor,
    }
    kept = 'thresholds.' if not learned.bank else ''
    thresholds = {k: x for k, x in threshold_values(learned).items() if k.startswith(kept)}
    parameters |= {name: _rounded(value) for name, value in thresholds.items()}
    text = parameters_text(parameters, '/**/momentum_observer_node')
    written = read_back(text, ObserverParameters)
    written.contact_thresholds(model)
    written.bank_thresholds(model)
    return text


def _origin(options: argparse.Namespace) -> list[str]:
    """Return what the parameters of the model were identified from, as lines."""
    if options.params_file is None or not (names := identified_from(options.params_file)):
        return []
    lines = [f'model identified from {", ".join(map(quoted, names))}']
    if options.bag.resolve().name in names:
        lines.append(
            'a recording of this name was fitted: if it is this one, other motion has larger '
            'torques; expected another recording'
        )
    return lines


def _robot_parameters(options: argparse.Namespace, model: RobotModel) -> dict[str, Any]:
    """Return the parameters of the options and their `--params`, but those that are defaults."""
    given: MeasuredParameters = options.params
    locked: dict[str, float] = chosen(options, given)['locked_joints']
    drives = friction(options, model) or FrictionSettings().of(model)
    per_joint = {f'friction.{term}': x for term, x in drives.coefficients.items()} | {
        'friction.presliding': drives.presliding,
        'rotor_inertia': model.reflected_inertia,
        'effort_scale': scale_of(model, effort_scale(options, model)),
        'effort_offset': given.of_joints('effort_offset', model),
    }
    parameters: dict[str, Any] = {
        'tip_link': options.tip_link or given.tip_link,
        'locked_joints': list(locked) or [''],
        'locked_positions': list(locked.values()) or [0.0],
        'joints': list(model.joint_names),
        'gravity': list(options.gravity or given.gravity),
        'base_orientation': list(options.base_orientation or given.base_orientation),
        'friction.law': drives.law.name,
        'effort_delay': given.effort_delay,
        'velocity_lag': given.velocity_lag,
        'effort_gravity_compensated': compensated(options),
    }
    if options.payload is not None:
        loaded = zip(('link', 'mass', 'com'), payload_of(options.payload), strict=True)
        parameters |= {f'payload.{name}': value for name, value in loaded}
    parameters |= {name: np.broadcast_to(x, model.n).tolist() for name, x in per_joint.items()}
    defaults = values(ObserverParameters())
    return {
        name: value
        for name, value in parameters.items()
        if (tuple(value) if isinstance(value, list) else value) != defaults[name]
    }


def _rounded(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, list):
        return [_rounded(x) for x in value]
    return float(f'{value:.{DIGITS}g}')


def _in_torques(options: argparse.Namespace, arm: Dynamics, recording: Recording) -> Recording:
    """Return a recording with the efforts that the node would compute, N m or N."""
    offset = options.params.of_joints('effort_offset', arm.model)
    scale = scale_of(arm.model, effort_scale(options, arm.model), recording.effort_unit)
    effort: Array = scale * efforts_of(recording) - offset
    if compensated(options):
        effort = effort + arm.gravity_torque(recording.q)
    return replace(recording, effort=effort)


def _learned(
    options: argparse.Namespace,
    arm: Dynamics,
    recording: Recording,
    settings: ObserverSettings,
    factor: float,
) -> tuple[Learned, str]:
    """Return the thresholds from an observer along a recording, and why it is rejected, or ''.

    Raises:
        RecordingError: no joint moves, or samples are too rare.
    """
    own = friction(options, arm.model) or FrictionSettings().of(arm.model)
    observer, learning = MomentumObserver(arm, own, settings), ThresholdLearning(arm.model.n)
    kept = _kept(recording.t, options.exclude)
    assert recording.qd is not None  # of `_with_velocities`
    columns = recording.t, recording.q, recording.qd, efforts_of(recording), kept
    for t, q, qd, effort, used in zip(*columns, strict=True):
        if observer.update(float(t), q, qd, effort) and used:
            learning.add(float(t), q, observer, UNKNOWN)
    intervals = np.diff(recording.t)[kept[1:]]
    gaps = int((intervals > settings.max_gap).sum())
    if gaps and not learning.seconds:
        raise RecordingError(
            f'intervals of {np.median(intervals):g} s between samples; expected at most '
            f'{settings.max_gap:g} s'
        )
    learned = learning.learned(factor)
    if learned.missing == tuple(range(arm.model.n)):
        raise RecordingError('no joint moves; expected free motion')
    why = learning.rejection(arm.model.joint_names)
    if why and gaps:
        why += (
            f'; {gaps} intervals between samples are longer than {settings.max_gap:g} s: not '
            'counted'
        )
    return learned._replace(thresholds=replace(learned.thresholds, forced=bool(why))), why


def _kept(t: Array, excluded: list[tuple[float, float]]) -> Array:
    """Return which samples (k,) at the times t (k,) are in none of the intervals.

    Raises:
        RecordingError: an interval has no sample, or none is left.
    """
    kept = np.ones(len(t), dtype=bool)
    for first, last in excluded:
        inside = (t >= first) & (t <= last)
        if not inside.any():
            raise RecordingError(
                f'--exclude {first:g}:{last:g} has no sample; expected times within '
                f'{t.min():g} to {t.max():g} s'
            )
        kept &= ~inside
    if not kept.any():
        raise RecordingError('--exclude leaves no sample; expected free motion beside it')
    return kept


def _interval(word: str) -> tuple[float, float]:
    """Return the times of T0:T1, s."""
    first, _, last = word.partition(':')
    try:
        interval = finite(first), finite(last)
    except argparse.ArgumentTypeError:
        interval = 0.0, 0.0
    if not interval[0] < interval[1]:
        raise argparse.ArgumentTypeError(
            f'{word!r} is no interval; expected T0:T1 with T0 < T1, s'
        )
    return interval


def _with_velocities(recording: Recording, given: MeasuredParameters) -> tuple[Recording, float]:
    """Return a recording with velocities, and the lag [s] of those that the node would derive.

    The lag is 0 of recorded ones.

    Raises:
        RecordingError: they are not finite, or too few samples to derive them.
    """
    if recording.qd is not None:
        if not np.isfinite(recording.qd).all():
            raise RecordingError('velocities are not finite; expected numbers')
        return recording, 0.0
    derive = VelocityFilter(cutoff=given.velocity_cutoff)
    rows = [derive.update(t, q) for t, q in zip(recording.t, recording.q, strict=True)]
    known = np.array([qd is not None for qd in rows])
    if known.sum() < 2:
        raise RecordingError(
            'no velocities, and too few samples to derive them; expected one in 0.1 s or more'
        )
    # Of the filter, and of the difference quotient.
    lag = 1 / (2 * np.pi * derive.cutoff) + float(np.median(np.diff(recording.t))) / 2
    columns = {name: getattr(recording, name)[known] for name in ('t', 'q', 'effort')}
    qd = np.array([qd for qd in rows if qd is not None])
    return replace(recording, qd=qd, **columns), _rounded(lag)
