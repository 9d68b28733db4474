"""An examination of our dynamics by other engines, in small steps that never block for long.

    examiner = Examiner(urdf, arm, states)
    while examiner.report is None:
        examiner.work()

First come states of our choice, all of them before the same judge; an engine that is missing, dies
twice, or holds another robot hands over to the next. After that single observations, whatever a
running system says about itself, may follow for as long as one likes (`observe`). Where the
torques differ, the report names what would explain it (`diagnosis`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.states import States
from robot_dynamics.spatial import Array
from robot_dynamics.urdf.loading import parse_urdf
from robot_dynamics.validation.diagnosis import (
    ENOUGH,
    Cause,
    explains,
    likely_cause,
    squared_distances,
)
from robot_dynamics.validation.engines.available import ENGINES
from robot_dynamics.validation.engines.engine import Answers, Judge
from robot_dynamics.validation.engines.process import EngineCrashed, EngineError, EngineMissing
from robot_dynamics.validation.faults import Reader, faulty_robots
from robot_dynamics.validation.report import QUANTITIES, Report, Residual, Verdict, residual

TOLERANCE = 1e-6  # of the largest torque; where all is right, 1e-10 is usual
BATCH = 5  # states per step of work
LIVES = 2  # an engine that dies as often over one task is given up
FIRST_DIAGNOSIS = 3  # differing observations after which their cause is looked for; then at twice
DIAGNOSIS_INTERVAL = 100  # differing observations between two diagnoses, at most


class Observation(NamedTuple):
    """What a system says about one moment; None for what it leaves out."""

    q: Array  # (n,) rad or m
    qd: Array | None  # (n,)
    gravity: Array  # (n,) N m or N, as all torques
    coriolis: Array | None
    inertia: Array | None
    inverse_dynamics: Array | None
    M: Array | None  # (n, n)


class Examiner:
    """Our dynamics of one robot before one judge after another.

    Attributes:
        report: None until all states are through.
        restarts: how often an engine had to be started again.
        misfortune: why it had to, the last time.
        observed: number of observations judged.
    """

    def __init__(
        self,
        urdf: str | bytes,
        arm: Dynamics,
        states: States,
        *,
        engines: Sequence[str] = ENGINES,
        tolerance: float = TOLERANCE,
        locked_joints: Mapping[str, float] | None = None,
        timeout: float = 60.0,
        read: Reader | None = None,
        who: str = 'the system',
    ):
        """Prepare; nothing is started yet.

        Args:
            urdf: the text the robot was read from.
            arm: what this package makes of it.
            states: where to compare.
            engines: whom to ask, in this order; a subset of `engines.ENGINES`.
            tolerance: largest difference relative to the largest value of the quantity.
            locked_joints: where joints stand that the model has locked.
            timeout: s, for each answer of an engine.
            read: how the robot was read from the text, to try other texts; `parse_urdf` with the
                same locked joints if omitted.
            who: whose words the observations are.
        """
        self.arm = arm
        self.report: Report | None = None
        self.restarts, self.misfortune, self.observed = 0, '', 0
        self._urdf, self._states, self._engines = urdf, states, list(engines)
        self._tolerance, self._locked, self._timeout = tolerance, locked_joints, timeout
        self._judge: Judge | None = None
        self._deaths = 0
        self._answers: list[Answers] = []
        self._notes: list[str] = []
        self._without = Verdict.NO_ENGINE  # the verdict if nobody can judge
        self._scale = 0.0  # largest torque seen, N m or N
        self._read = read or (lambda text: parse_urdf(text, locked_joints=locked_joints))
        self._who = who
        self._differing: list[Meaning] = []  # observations, at most ENOUGH
        self._found: Cause | None = None  # the cause of all of them, if it is certain
        self._different = 0  # observations of the present mistake so far
        self._diagnose_at = FIRST_DIAGNOSIS

    @property
    def engine_pid(self) -> int | None:
        """Process id of the engine at work, if there is one."""
        return None if self._judge is None else self._judge.pid

    def close(self) -> None:
        """End the engine's process."""
        if self._judge is not None:
            self._judge.close()
        self._judge = None

    # -- states of our choice ---------------------------------------------------------------

    def work(self) -> None:
        """Do the next small part of the examination, until there is a report."""
        done = BATCH * len(self._answers)
        try:
            if not self._engines:
                self.report = self._report(self._without)
            elif self._judge is None:
                self._start()
            elif done < len(self._states.q):
                batch = States(*(rows[done : done + BATCH] for rows in self._states))
                self._answers.append(self._judge.answers(batch))
            else:
                self._conclude(self._judge)
        except EngineError as error:
            self._recover(error)

    def _start(self) -> None:
        self._judge = Judge(
            self._engines[0],
            self._urdf,
            self.arm.model,
            locked_joints=self._locked,
            timeout=self._timeout,
        )

    def _recover(self, error: EngineError) -> None:
        """Start again after a crash, else go on without this engine."""
        self.close()
        if isinstance(error, EngineCrashed):
            self._deaths += 1
            if self._deaths < LIVES:
                self.restarts, self.misfortune = self.restarts + 1, str(error)
                return
        if not isinstance(error, EngineMissing):
            self._without = Verdict.NOT_COMPARABLE
        self._next([str(error)])

    def _next(self, notes: Sequence[str]) -> None:
        self.close()
        self._notes += notes
        self._answers, self._deaths = [], 0
        self._engines.pop(0)

    def _conclude(self, judge: Judge) -> None:
        """Report what the states came to, or hand over to the next engine."""
        theirs = Answers(*(np.concatenate(rows) for rows in zip(*self._answers, strict=True)))
        residuals = compared(our_answers(self.arm, self._states), theirs, self._names)
        # Written so that NaN fails.
        passed = all(found.relative <= self._tolerance for found in residuals)
        if not passed and judge.differences:
            self._next(judge.differences)
            self._without = Verdict.NOT_COMPARABLE
            return
        self._deaths, self._scale = 0, float(np.abs(theirs.tau).max())
        report = self._report(Verdict.PASS if passed else Verdict.FAIL)
        self.report = replace(
            report,
            engine=judge.version,
            residuals=residuals,
            states=len(self._states.q),
            cause='' if passed else self._explained(judge.version, self._states, theirs.tau),
        )

    def _report(self, verdict: Verdict) -> Report:
        return Report(
            verdict, self.arm.model.name, tolerance=self._tolerance, notes=tuple(self._notes)
        )

    def _explained(self, source: str, states: States, reported: Array) -> str:
        """Return in a sentence what would explain reported torques, '' if nothing simple does."""
        cause = self._cause(states, reported)
        return '' if cause is None else cause.sentence(source)

    def _cause(self, states: States, reported: Array) -> Cause | None:
        try:
            faults = faulty_robots(self._urdf, self.arm.model, self._read)
            return likely_cause(self.arm.model, states, reported, faults)
        except (RobotDynamicsError, np.linalg.LinAlgError):
            return None

    @property
    def _names(self) -> tuple[str, ...]:
        return self.arm.model.joint_names

    # -- what a running system says ---------------------------------------------------------

    def observe(self, seen: Observation) -> Array | None:
        """Return a system's torque minus the engine's (n,), and let the report know.

        None if nobody judges, or if the engine died over it; the next observation finds another
        process.
        """
        if self.report is None or not self.report.engine:
            return None
        try:
            if self._judge is None:
                self._start()
            assert self._judge is not None
            meant = understood(seen)
            theirs = self._judge.answers(States(*(row[None] for row in meant[:3])))
        except EngineError as error:
            self.close()
            self.restarts, self.misfortune = self.restarts + 1, str(error)
            return None
        self.observed += 1
        found = self._differences(seen, meant, theirs)
        self.report = self.report.with_observed(found)
        # Written so that NaN counts as a difference.
        if not found[0].relative <= self._tolerance:
            self._diagnose(meant)
        return np.asarray(meant.said - theirs.tau[0])

    def _differences(self, seen: Observation, meant: Meaning, theirs: Answers) -> list[Residual]:
        """Return the sizes of the differences: of the whole torque, and of each term."""
        self._scale = max(self._scale, float(np.abs(theirs.tau).max()))
        inertia = (theirs.M @ meant.qdd[:, None])[..., 0]
        terms = {
            'live torque': (meant.said, theirs.tau),
            'live gravity torque': (seen.gravity, theirs.g),
            'live Coriolis torque': (seen.coriolis, theirs.coriolis),
            'live inertia torque': (seen.inertia, inertia),
        }
        if seen.qd is None:
            del terms['live Coriolis torque']
        if seen.M is None or seen.inverse_dynamics is None:
            # Of which acceleration, nobody said.
            del terms['live inertia torque']
        found = [
            residual(name, ours[None], other, self._names, self._scale)
            for name, (ours, other) in terms.items()
            if ours is not None
        ]
        if seen.M is not None:
            found.append(residual('live mass matrix', seen.M[None], theirs.M, self._names))
        return found

    def _diagnose(self, new: Meaning) -> None:
        """Look for the cause of differences, and check it against every new one.

        A cause that does not explain a new difference is dropped: the system was started anew
        with another mistake, say.
        """
        assert self.report is not None
        self._differing = spread([*self._differing, new])
        self._different += 1
        *states, reported = (np.array(rows) for rows in zip(*self._differing, strict=True))
        if self._found is not None:
            if explains(self._found, self.arm.model, States(*states), reported):
                return
        elif self._different < self._diagnose_at:
            return
        self._diagnose_at += min(self._diagnose_at, DIAGNOSIS_INTERVAL)
        cause = self._cause(States(*states), reported)
        if self._found is not None and not (cause and cause.certain):
            cause, self._different, self._diagnose_at = None, 1, FIRST_DIAGNOSIS
        if cause is None:
            # The observations may be of different mistakes: begin with the newest.
            self._differing = [new]
        self._found = cause if cause is not None and cause.certain else None
        text = '' if cause is None else cause.sentence(self._who)
        self.report = replace(self.report, cause=text)


class Meaning(NamedTuple):
    """An observation as a state, and the torque it says of it."""

    q: Array  # (n,)
    qd: Array
    qdd: Array
    said: Array  # the sum of the terms that were said


def understood(seen: Observation) -> Meaning:
    """Return the state that an observation's torques are of."""
    rest = np.zeros_like(seen.q)
    qd = rest if seen.qd is None else seen.qd
    if seen.M is not None and seen.inertia is not None and seen.inverse_dynamics is not None:
        # The acceleration the system had in mind: tau_inertia = M qdd.
        qdd = np.linalg.lstsq(seen.M, seen.inertia, rcond=None)[0]
        return Meaning(seen.q, qd, qdd, seen.inverse_dynamics)
    if seen.coriolis is not None:
        return Meaning(seen.q, qd, rest, seen.gravity + seen.coriolis)
    return Meaning(seen.q, rest, rest, seen.gravity)


def spread(observations: Sequence[Meaning]) -> list[Meaning]:
    """Return at most ENOUGH observations, without the older of the two that are most alike."""
    kept = list(observations)
    if len(kept) > ENOUGH:
        apart = squared_distances(States(*(np.array([o[k] for o in kept]) for k in range(3))))
        apart[np.tril_indices(len(kept))] = np.inf
        del kept[np.argmin(apart) // len(kept)]
    return kept


def our_answers(arm: Dynamics, states: States) -> Answers:
    """Return what this package finds for k states."""
    return Answers(
        arm.inverse_dynamics(*states),
        arm.mass_matrix(states.q),
        arm.gravity_torque(states.q),
        arm.coriolis_torque(states.q, states.qd),
    )


def compared(ours: Answers, theirs: Answers, joint_names: tuple[str, ...]) -> tuple[Residual, ...]:
    """Return the largest difference of each quantity."""
    return tuple(
        residual(quantity, mine, other, joint_names)
        for quantity, mine, other in zip(QUANTITIES, ours, theirs, strict=True)
    )
