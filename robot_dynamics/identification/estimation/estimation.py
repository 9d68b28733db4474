# SPDX-License-Identifier: Apache-2.0
"""Identification of an arm: a physically consistent model that predicts the recorded efforts.

1. The recordings are filtered without lag and decimated (`prepared_rows`, `observations`).
2. A constant delay of the efforts is estimated and, if certain, removed (`delay`); repeated
   periods are averaged (`periods`).
3. The friction law is chosen, if not given, by the residual held out (`friction_choice`).
4. A payload that is given is compared with the one that its recording shows (`payload_check`).
5. All parameters are fitted at once, closest to the description (`parameter_fit`,
   `pseudo_inertia`).
6. The result is validated on data that were not fitted: the last third, or blocks of a short
   recording, or another recording (`identified_validation`). Then all data are fitted.
7. The result is converted to SI units (`identification_result`); base parameters by least squares
   are reported beside it (`base_fit`).

`stages` has steps 2 to 6, each by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from numpy.typing import ArrayLike

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.identification.estimation.excitation_check import (
    Refusals,
    RefusedError,
    refused,
    require_prediction,
)
from robot_dynamics.identification.estimation.friction_choice import AUTO
from robot_dynamics.identification.estimation.friction_regressions import with_unlike_motions
from robot_dynamics.identification.estimation.identification_records import (
    Identification,
    PayloadRecording,
)
from robot_dynamics.identification.estimation.identification_result import identification
from robot_dynamics.identification.estimation.identified_validation import validate
from robot_dynamics.identification.estimation.inputs import (
    EffortOptions,
    FitOptions,
    Recordings,
    checked_inputs,
)
from robot_dynamics.identification.estimation.prepared_rows import prepared_rows
from robot_dynamics.identification.estimation.solver import single_thread
from robot_dynamics.identification.estimation.stages import (
    described,
    fits_of_folds,
    fitted_to_all,
    with_checked_payload,
    with_delay,
    with_friction_law,
)
from robot_dynamics.recordings.coupling import Coupling
from robot_dynamics.recordings.recording import Recording


@single_thread()
def identify(
    arm: Dynamics,
    recordings: Recording | Sequence[Recording],
    *,
    efforts: str | None = None,
    friction: str = AUTO,
    test: Recording | None = None,
    effort_scale: ArrayLike | Mapping[str, float] | None = None,
    effort_gravity_compensated: bool = False,
    cutoff: float | None = None,
    delay: float | None = None,
    payload: PayloadRecording | None = None,
    kept: Array | None = None,
    coupling: Coupling | None = None,
    refuse: Callable[[RefusedError], None] = refused,
    progress: Callable[[str], None] = lambda _: None,
) -> Identification:
    """Return the parameters of an arm that predict recorded efforts, closest to its description.

    Args:
        arm: the dynamics of the description.
        recordings: of its joints, as `by_joint` makes them. Several are fitted together, each with
            offsets of its own; errors include the variance of friction between them.
        efforts: 'torques' of the drives; 'currents' of the motors, one unknown gain per joint; or
            'link-side' torques, measured behind the rotors. None: by the unit of the recordings,
            torques if it is unknown.
        friction: a name of `core.friction.laws.LAWS`, or 'auto': the law with the least residual
            held out.
        test: another recording for the validation; the last third of each if None, or, if they are
            short, blocks.
        effort_scale: recorded effort times this is N m or N; one number or (n,). With currents it
            fixes the gains; by joint name, it fixes those of some, and the others follow.
        effort_gravity_compensated: the efforts do not include the gravity torque.
        cutoff: Hz, of the low-pass; by default where the motion ends.
        delay: s, by which the efforts are later than the motion; estimated if None.
        payload: a recording of currents with a payload of known mass.
        kept: (nb, 10) inertial parameters within each body that are not estimated, such as those
            of links fixed to it; zeros if None.
        coupling: of motors that turn by several joints. Currents, and effort_scale with them, are
            those of the motors then.
        refuse: called with each refusal; where it returns, the recording is identified from
            all the same.
        progress: receives a line per step.

    Raises:
        RefusedError: the recording excites too little, or its efforts do not follow from the
            motion, or the one with the payload contradicts it.
        RecordingError: the recording does not fit the robot, or its unit the efforts.
        FrictionLawError: no such law.
        SolverError: cvxpy or clarabel is missing, or fails.
    """
    several = [recordings] if isinstance(recordings, Recording) else list(recordings)
    inputs = checked_inputs(
        arm,
        Recordings(several, test, payload),
        EffortOptions(efforts, effort_scale, effort_gravity_compensated, delay),
        FitOptions(friction, cutoff, kept),
        coupling,
    )
    refusals = Refusals(refuse)
    rows = prepared_rows(inputs, refusals, progress)
    task = with_delay(described(inputs, rows), progress)
    task = with_friction_law(task, progress)
    task = with_checked_payload(task, refusals, progress)
    fits = fits_of_folds(task, progress)
    validation = validate(fits, rows.source)
    with refusals():
        require_prediction(inputs.arm, validation)
    result = fits[0][0]
    if rows.source != 'test':
        task, result = fitted_to_all(task, progress)
    return identification(task, with_unlike_motions(result), validation, refusals.overridden)
