# SPDX-License-Identifier: Apache-2.0
"""Comparison with the first reference engine that loads a robot, at states and in operation.

    report = validate(urdf_text)
    print(report)                    # PASS: kuka against PyBullet 3.2.7, 100 states, ...
    sys.exit(report.exit_code)

The first of the `engines` that is installed and loads the same robot is the reference: PyBullet,
and where it is missing or changes an inertia of the URDF, MuJoCo or Pinocchio. Each additional
engine is compared as well. An engine reads the robot's own text, and also its joints are compared:
axes, origins and masses. If torques differ, the report names the mistake that would explain it
(`diagnosis`).

`EngineComparison` does the same in steps that do not block for long, and then compares single
observations of a running system (`observation`).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.extras import install_line
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.model.states import States, chosen_states
from robot_dynamics.urdf.loading import parse_urdf
from robot_dynamics.validation.diagnosis import Cause, likely_cause
from robot_dynamics.validation.engine_report import (
    JOINT_QUANTITIES,
    QUANTITIES,
    Report,
    Residual,
    Verdict,
    residual,
)
from robot_dynamics.validation.engines import ENGINES, title
from robot_dynamics.validation.engines.process import EngineCrashed, EngineError, EngineMissing
from robot_dynamics.validation.engines.reference_engine import (
    JointFrames,
    ReferenceEngine,
    Results,
    our_joint_frames,
)
from robot_dynamics.validation.observation import (
    LiveDiagnosis,
    MotionComparison,
    Observation,
    live_residuals,
    mean_state,
    observed_state,
)

NEGLIGIBLE = 1e-6  # of the largest torque
TOLERANCE = 1e-6  # relative to the largest torque; correct models reach about 1e-10
BATCH = 5  # states per step of work
ATTEMPTS = 2  # starts of an engine that crashes, before the next engine is used


def validate(
    urdf: str | bytes,
    *,
    model: RobotModel | None = None,
    states: States | int = 100,
    seed: int = 0,
    tolerance: float = TOLERANCE,
    engines: Sequence[str] = ENGINES,
    additional_engines: Sequence[str] = (),
    locked_joints: Mapping[str, float] | None = None,
    timeout: float = 60.0,
) -> Report:
    """Compare our dynamics of a robot with the first available reference engine.

    Args:
        urdf: the robot's URDF text.
        model: the robot as read with options; `parse_urdf(urdf)` if omitted.
        states: where to compare; an integer is a number of random states within the limits.
        seed: of the random states.
        tolerance: largest difference relative to the largest value of the quantity.
        engines: candidates for the reference, in order of preference; a subset of ENGINES.
        additional_engines: engines to compare with as well.
        locked_joints: positions of joints that the model has locked.
        timeout: s, for each reply of an engine.

    Raises:
        ModelError: the URDF is rejected.
        ShapeError: the states are not (k, n) each, or there is none.
        ValueError: no engine has that name.
    """
    if model is None:
        model = parse_urdf(urdf, locked_joints=locked_joints)
    comparison = EngineComparison(
        urdf,
        Dynamics(model),
        chosen_states(model, states, np.random.default_rng(seed)),
        engines=EngineChoice(engines, additional_engines, timeout),
        tolerance=tolerance,
        locked_joints=locked_joints,
    )
    try:
        while comparison.report is None:
            comparison.work()
        return comparison.report
    finally:
        comparison.close()


class EngineChoice(NamedTuple):
    """The engines of a comparison."""

    candidates: Sequence[str] = ENGINES  # for the reference, in order of preference
    additional: Sequence[str] = ()  # compared with over the same states
    timeout: float = 60.0  # s, for each reply of an engine


ANY_ENGINE = EngineChoice()


class EngineComparison:
    """Comparison of the dynamics of one robot with a reference engine and additional ones.

    Attributes:
        restarts: number of engine restarts.
        last_error: the error that caused the last restart.
        observed: number of observations compared.
    """

    def __init__(
        self,
        urdf: str | bytes,
        arm: Dynamics,
        states: States,
        *,
        engines: EngineChoice = ANY_ENGINE,
        tolerance: float = TOLERANCE,
        locked_joints: Mapping[str, float] | None = None,
        source: str = 'the system',
        motions: MotionComparison | None = None,
    ):
        """Prepare the comparison; the first engine starts with the first step of work.

        Args:
            urdf: the text from which the robot was read.
            arm: its dynamics in this package.
            states: where to compare.
            engines: candidates for the reference and additional ones, of ENGINES.
            tolerance: largest difference relative to the largest value of the quantity.
            locked_joints: positions of joints that the model has locked.
            source: name of the system that is observed, for messages.
            motions: compares what depends on the motion of an observation; None: not compared.

        Raises:
            ValueError: no engine has that name.
        """
        for name in (*engines.candidates, *engines.additional):
            title(name)
        self.arm = arm
        self.restarts, self.last_error, self.observed = 0, '', 0
        self._urdf, self._states = urdf, states
        self._tolerance, self._locked, self._timeout = tolerance, locked_joints, engines.timeout
        self._source, self._motions = source, motions
        alone = ([name] for name in engines.additional)
        self._steps = self._all_steps([engines.candidates, *alone])
        self._reports: list[Report] = []  # the first on the reference engine
        self._complete = False
        self._engine: ReferenceEngine | None = None  # in use
        self._reference: ReferenceEngine | None = None  # the first one, for observations
        self._reference_name = ''
        self._largest_torque = 0.0  # of the reference engine, N m or N
        self._live = LiveDiagnosis(self._cause)

    @property
    def report(self) -> Report | None:
        """The report on all engines; None until the last of them is finished."""
        if not self._complete:
            return None
        first, *additional = self._reports
        return first.with_additional(additional) if additional else first

    @property
    def engine_pid(self) -> int | None:
        """Process id of the reference engine, or of the engine in use, if one is running."""
        engine = self._reference or self._engine
        return None if engine is None else engine.pid

    def close(self) -> None:
        """End the engines' processes."""
        self._close_engine()
        if self._reference is not None:
            self._reference.close()
        self._reference = None

    def _close_engine(self) -> None:
        if self._engine is not None:
            self._engine.close()
        self._engine = None

    def _started(self, name: str) -> ReferenceEngine:
        return ReferenceEngine(
            name, self._urdf, self.arm.model, locked_joints=self._locked, timeout=self._timeout
        )

    # -- random states --------------------------------------------------------------------------

    def work(self) -> None:
        """Do the next step of the comparison; without effect once there is a report."""
        next(self._steps, None)

    def _all_steps(self, candidates: Sequence[Sequence[str]]) -> Generator[None, None, None]:
        """Compare with one engine of each list; a step ends with each yield."""
        for engines in candidates:
            self._reports.append((yield from self._compare(engines)))
            self._close_engine()
        self._complete = True

    def _compare(self, engines: Sequence[str]) -> Generator[None, None, Report]:
        """Return the report on the first engine that loads the robot unchanged."""
        notes: list[str] = []
        verdict = Verdict.NO_ENGINE
        for name in engines:
            try:
                engine, reference = yield from self._results(name)
            except EngineError as error:
                notes.append(str(error))
                if not isinstance(error, EngineMissing):
                    verdict = Verdict.NOT_COMPARABLE
                continue
            model = self.arm.model
            ours = our_results(self.arm, self._states)
            residuals = (
                *compared(ours, reference, model.joint_names),
                *compared_joints(model, engine.joint_frames, engine.body_joints),
            )
            # Written so that NaN fails.
            passed = all(found.relative <= self._tolerance for found in residuals)
            if not passed and engine.differences:
                self._close_engine()
                notes += engine.differences
                verdict = Verdict.NOT_COMPARABLE
                continue
            notes += engine.notes
            if not self._reports:
                self._largest_torque = float(np.abs(reference.tau).max())
                self._reference, self._engine = engine, None
                self._reference_name = name
            cause = None if passed else self._cause(self._states, reference.tau)
            return replace(
                self._new_report(Verdict.PASS if passed else Verdict.FAIL, notes),
                engine=engine.version,
                residuals=residuals,
                states=len(self._states.q),
                cause='' if cause is None else cause.sentence(engine.version),
            )
        if verdict is Verdict.NO_ENGINE:
            notes.append(f'an engine is installed by {install_line("sim")}')
        return self._new_report(verdict, notes)

    def _results(self, name: str) -> Generator[None, None, tuple[ReferenceEngine, Results]]:
        """Return an engine and its results; it is restarted after its first crash."""
        for left in reversed(range(ATTEMPTS)):
            try:
                self._engine = engine = self._started(name)
                yield
                batches = []
                for k in range(0, len(self._states.q), BATCH):
                    batch = States(*(rows[k : k + BATCH] for rows in self._states))
                    batches.append(engine.results(batch))
                    yield
                return engine, Results(*map(np.concatenate, zip(*batches, strict=True)))
            except EngineError as error:
                self._close_engine()
                if not (isinstance(error, EngineCrashed) and left):
                    raise
                self.restarts, self.last_error = self.restarts + 1, str(error)
                yield
        raise AssertionError('the last attempt returns or raises')

    def _new_report(self, verdict: Verdict, notes: Sequence[str]) -> Report:
        return Report(verdict, self.arm.model.name, tolerance=self._tolerance, notes=tuple(notes))

    def _cause(self, states: States, reported: Array) -> Cause | None:
        """Return the mistake that explains reported torques, None if no single one does."""
        try:
            return likely_cause(self.arm.model, states, reported)
        except np.linalg.LinAlgError:
            return None

    # -- observations of a running system -------------------------------------------------------

    def observe(self, observation: Observation) -> Array | None:
        """Return an observed torque minus that of the engine (n,), and update the report.

        None without a reference engine, or if the engine crashed; the next observation starts it
        again.
        """
        if self.report is None or not self._reference_name:
            return None
        state, motion = observed_state(observation), observation.motion
        states = [state, *([] if motion is None else [mean_state(motion)])]
        try:
            if self._reference is None:
                self._reference = self._started(self._reference_name)
            rows = (np.array([getattr(s, name) for s in states]) for name in States._fields)
            reference = self._reference.results(States(*rows))
        except EngineError as error:
            self.close()
            self.restarts, self.last_error = self.restarts + 1, str(error)
            return None
        self.observed += 1
        self._largest_torque = max(self._largest_torque, float(np.abs(reference.tau[0]).max()))
        residuals = live_residuals(
            observation,
            state,
            Results(*(rows[:1] for rows in reference)),
            self.arm.model.joint_names,
            self._largest_torque,
        )
        if motion is not None and self._motions is not None:
            residuals += self._motions.residuals(
                observation.inertia, motion, reference, self._largest_torque
            )
        report = self._reports[0].with_observed(residuals)
        # Written so that NaN counts as a difference.
        if not residuals[0].relative <= self._tolerance:
            self._live.add(state)
            if self._live.changed:
                cause = self._live.cause
                sentence = '' if cause is None else cause.sentence(self._source)
                report = replace(report, cause=sentence)
        self._reports[0] = report
        return np.asarray(state.torque - reference.tau[0])


def our_results(arm: Dynamics, states: States) -> Results:
    """Return the dynamics of k states as computed by this package."""
    return Results(
        arm.inverse_dynamics(*states),
        arm.mass_matrix(states.q),
        arm.gravity_torque(states.q),
        arm.coriolis_torque(states.q, states.qd),
    )


def compared(
    ours: Results, reference: Results, joint_names: tuple[str, ...]
) -> tuple[Residual, ...]:
    """Return the largest difference of each quantity.

    A term of the torque that is smaller than NEGLIGIBLE times the largest torque is compared with
    that: one that is zero consists of the rounding of others.
    """
    terms = zip(QUANTITIES, ours, reference, strict=True)
    least = NEGLIGIBLE * np.abs([ours.tau, reference.tau]).max()
    return tuple(
        residual(
            quantity,
            mine,
            other,
            joint_names,
            # Inertias of M are no torques.
            None if mine is ours.M else max(least, np.abs([mine, other]).max()),
        )
        for quantity, mine, other in terms
    )


def compared_joints(
    model: RobotModel, reference: JointFrames | None, names: tuple[str, ...]
) -> tuple[Residual, ...]:
    """Return the largest difference of axes, origins and moved masses of joints of these names."""
    if reference is None:
        return ()
    return tuple(
        residual(quantity, mine[None], other[None], names)
        for quantity, mine, other in zip(
            JOINT_QUANTITIES, our_joint_frames(model), reference, strict=True
        )
    )
