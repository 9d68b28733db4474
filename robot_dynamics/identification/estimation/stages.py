# SPDX-License-Identifier: Apache-2.0
"""Stages of an identification, from rows to fits: delay, friction law, fits.

Each stage takes a `Task` and returns it with what it has found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from robot_dynamics.common.spatial import Array
from robot_dynamics.identification.estimation.delay import CUTOFFS, Delay, delay_of, given
from robot_dynamics.identification.estimation.described_problem import (
    described_problem,
    other_scales,
    signs_of_gains,
)
from robot_dynamics.identification.estimation.equations import Problem, RecordingRows
from robot_dynamics.identification.estimation.excitation_check import Refusals, RefusedError
from robot_dynamics.identification.estimation.friction_choice import AUTO, CHOICES, choose_law
from robot_dynamics.identification.estimation.inputs import Inputs
from robot_dynamics.identification.estimation.parameter_fit import Fit, fit
from robot_dynamics.identification.estimation.payload_check import (
    contradiction,
    remark,
    shown_payload,
)
from robot_dynamics.identification.estimation.prepared_rows import PreparedRows
from robot_dynamics.recordings.periods import Averaged, averaged
from robot_dynamics.recordings.recording import Recording, RecordingError

Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Task:
    """An identification on its way: its rows, and what the stages have found so far.

    Attributes:
        inputs: recordings and options.
        rows: of the recordings.
        problem: of the rows that are fitted, with the friction law.
        sign: (n,) of the drive gains.
        remarks: on the efforts, beside the description.
        delay: of the efforts, which `adjusted` removes.
        periods: the average of repeated periods, if it is fitted.
        held_out: residual of each friction law, relative to the first.
        payload_agrees: the recording with the payload does not contradict what is given of it.
    """

    inputs: Inputs
    rows: PreparedRows
    problem: Problem
    sign: Array
    remarks: Sequence[str]
    delay: Delay
    periods: Averaged | None = None
    held_out: dict[str, float] = field(default_factory=dict)
    payload_agrees: bool = True

    def adjusted(self, rows: Sequence[RecordingRows]) -> list[RecordingRows]:
        """Return rows without the delay of the efforts, and with positive drive gains."""
        return [one.delayed(self.delay.removed, self.sign) for one in rows]

    def fitted_to(
        self, rows: Sequence[RecordingRows], recording: Recording, progress: Progress
    ) -> Task:
        """Return the task with the problem of other rows, and of those with the payload.

        Args:
            rows: of the recordings that are fitted.
            recording: the first of these; its repeated periods are averaged if it is the only one,
                and whole.
            progress: receives a line on periods.
        """
        preparation = self.inputs.preparation
        single = len(self.inputs.recordings.fitted) == 1 and self.rows.source != 'blocks'
        periods = averaged(recording, preparation.cutoff) if single else None
        if periods is not None:
            progress(f'average of {periods.number} periods of {periods.period:.4g} s')
            rows = [RecordingRows(preparation.rows(periods.recording))]
        independent = [one.independent() for one in (*rows, *self.rows.loaded)]
        problem = replace(self.problem, recordings=self.adjusted(independent))
        return replace(self, problem=problem, periods=periods)


def described(inputs: Inputs, rows: PreparedRows) -> Task:
    """Return the task as the description has it: efforts without delay, the default friction."""
    problem = described_problem(inputs, rows)
    return Task(
        inputs,
        rows,
        problem,
        sign=signs_of_gains(problem),
        remarks=other_scales(problem, inputs.arm.model.joint_names),
        delay=given(0.0),
    )


def with_delay(task: Task, progress: Progress) -> Task:
    """Return the task with the delay of the efforts, as given or estimated."""
    progress('delay of the efforts')
    known = task.inputs.delay
    return replace(task, delay=delay_of(_variants(task)) if known is None else given(known))


def _variants(task: Task) -> Iterator[Problem]:
    """Return the problem with several low-passes, and both sources of the velocities."""
    recordings, preparation = task.rows.used(), task.inputs.preparation
    for share in CUTOFFS:
        for source in (recordings, [replace(one, qd=None) for one in recordings]):
            if source is not recordings and all(one.qd is None for one in recordings):
                continue
            own = preparation._replace(cutoff=share * preparation.cutoff)
            try:
                rows = [RecordingRows(own.rows(one), k) for k, one in enumerate(source)]
            except RecordingError:  # too short for this low-pass
                continue
            yield replace(task.problem, recordings=rows)


def with_friction_law(task: Task, progress: Progress) -> Task:
    """Return the task, fitted to the first rows, with the friction law given or chosen."""
    names = CHOICES if task.inputs.friction == AUTO else [task.inputs.friction]
    task = task.fitted_to(task.rows.first, task.rows.used()[0], progress)
    problem, held_out = choose_law(task.problem, names, progress)
    return replace(task, problem=problem, held_out=held_out)


def with_checked_payload(task: Task, refusals: Refusals, progress: Progress) -> Task:
    """Return the task after a check of the payload, if one is given; with the friction law.

    Raises:
        RefusedError: the recording contradicts the payload.
    """
    payload = task.inputs.recordings.payload
    if payload is None:
        return task
    progress('payload that the recording shows')
    shown = shown_payload(task.problem, payload)
    reason = contradiction(shown, payload)
    with refusals():
        _require_none(reason)
    if reason:
        return replace(task, payload_agrees=False)
    return replace(task, remarks=[*task.remarks, *remark(shown, payload)])


def _require_none(reason: str) -> None:
    if reason:
        raise RefusedError(reason)


def fits_of_folds(task: Task, progress: Progress) -> list[tuple[Fit, list[RecordingRows]]]:
    """Return the fit of each fold, and the adjusted rows that validate it.

    Args:
        task: with the friction law, fitted to the first rows.
        progress: receives a line per fit.
    """
    folds, found = task.rows.folds, []
    for k, fold in enumerate(folds):
        progress(f'fit of {k + 1} of {len(folds)} parts, for the validation')
        own = task
        if task.rows.source == 'blocks':
            own = task.fitted_to(fold.fitted, task.rows.used()[0], progress)
        found.append((fit(own.problem, progress), task.adjusted(fold.held_out)))
    return found


def fitted_to_all(task: Task, progress: Progress) -> tuple[Task, Fit]:
    """Return the task of all rows, and its fit."""
    progress('fit of all samples')
    task = task.fitted_to(task.rows.whole, task.rows.velocities[0].recording, progress)
    return task, fit(task.problem, progress)
