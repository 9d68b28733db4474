# SPDX-License-Identifier: Apache-2.0
"""Lifecycle node that compares published torques with a reference engine.

The reference is PyBullet, or MuJoCo or Pinocchio where PyBullet is missing or changes an inertia
of the URDF; it runs in a process of its own. Random states within the joint limits are compared
first and give the verdict: PASS, FAIL, NOT COMPARABLE or NO ENGINE. Then, a few times per second,
one joint state and the torques that the dynamics node published for it are compared, the sum and
each term; then its inertia torque and the measured efforts with the motion of the joint states.

Subscribes
    joint_states                             sensor_msgs/JointState
    dynamics_node/gravity_torque, dynamics_node/coriolis_torque,
    dynamics_node/inertia_torque, dynamics_node/inverse_dynamics_torque
                                             sensor_msgs/JointState          compared by stamp
    dynamics_node/mass_matrix                std_msgs/Float64MultiArray
    dynamics_node/payload, ~/set_payload     geometry_msgs/InertiaStamped
    robot_description                        std_msgs/String                 if no parameter is set
Publishes
    ~/residual      sensor_msgs/JointState            torque of the node minus the engine's
    ~/report        diagnostic_msgs/DiagnosticArray   verdict, largest differences, likely cause
    ~/payload       geometry_msgs/InertiaStamped      the present payload, latched
    /diagnostics    diagnostic_msgs/DiagnosticArray
Services
    ~/reset         std_srvs/Trigger                  discard the verdict and compare again

With `one_shot: true` the process ends after the random states, with exit code 1 for FAIL, else 0.
"""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from typing_extensions import override

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.states import random_states
from robot_dynamics.ros import health, qos
from robot_dynamics.ros.diagnostics import Diagnostics, diagnostic
from robot_dynamics.ros.health import Status
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.node_parameters import ValidatorParameters
from robot_dynamics.ros.nodes.pybullet_validator_parts.term_input import TermInput
from robot_dynamics.ros.parameters import ParameterError, given
from robot_dynamics.ros.payload_input import PayloadInput
from robot_dynamics.ros.robot_source import RobotSource
from robot_dynamics.ros.serialization import joint_state_writer
from robot_dynamics.urdf.physics_only import for_engines
from robot_dynamics.validation.comparison import EngineChoice, EngineComparison
from robot_dynamics.validation.engine_report import Report, Verdict
from robot_dynamics.validation.engines import ENGINES
from robot_dynamics.validation.engines.original_text import with_payload
from robot_dynamics.validation.observation import MotionComparison

STEP_PERIOD = 0.02  # s, between two steps of the comparison
LEVEL = {
    Verdict.PASS: health.OK,
    Verdict.FAIL: health.ERROR,
    Verdict.NOT_COMPARABLE: health.WARN,
    Verdict.NO_ENGINE: health.WARN,
}


class ValidationFailed(RobotDynamicsError):  # noqa: N818  (says what happened)
    """The torques differ from those of a reference engine."""


class PyBulletValidatorNode(RobotNode):
    """Compares torques of the dynamics node with those of a reference engine."""

    table = ValidatorParameters

    def __init__(self, **kwargs: Any):
        # destroy_node is called even if a parameter is rejected here.
        self._comparison: EngineComparison | None = None
        self._terms: TermInput | None = None
        super().__init__('pybullet_validator_node', **kwargs)
        self.diagnostics = self.add(Diagnostics(self))
        parameters: ValidatorParameters = self.parameters
        for name in ('engines', 'additional_engines'):
            unknown = [e for e in given(getattr(parameters, name)) if e not in ENGINES]
            if unknown:
                raise ParameterError(
                    f'{name} holds {", ".join(map(repr, unknown))}; known are {", ".join(ENGINES)}'
                )
        self._residual_out = self.create_publisher(JointState, '~/residual', qos.STREAM_OUT)
        self._report_out = self.create_publisher(DiagnosticArray, '~/report', qos.LATCHED)
        self.robot = self.add(RobotSource(self))
        # The payload is that of the node whose torques are compared.
        topic = f'{parameters.dynamics_node}/payload'
        self.payload = self.add(PayloadInput(self, topic, varied=self._restart))
        self._terms = self.add(TermInput(self, parameters.dynamics_node))
        self.create_service(Trigger, '~/reset', self._on_reset)
        self._step_timer = self.create_steady_timer(STEP_PERIOD, self._on_step)
        self.create_steady_timer(parameters.diagnostics_period, self._publish_report)
        if parameters.check_rate > 0:
            self.create_steady_timer(1 / parameters.check_rate, self._on_check)
        self.robot.begin()

    @override
    def check(self, parameters: ValidatorParameters, arm: Dynamics) -> None:
        """Reject lists that have neither one value nor one per joint."""
        parameters.check_drives(arm.model)

    @override
    def use(self, arm: Dynamics) -> None:
        """Restart the comparison with this robot."""
        self._residual = joint_state_writer(arm.model, self.parameters.frame_prefix)
        self._restart()

    @override
    def cleanup(self) -> None:
        """End the engine."""
        self._end_comparison()

    def _restart(self) -> None:
        """Restart the comparison: the terms received before are of another arm."""
        self._end_comparison()
        if self._terms is not None:
            self._terms.drop()
        self._restarts = 0
        self._announced: tuple[Verdict, str] | None = None
        self._step_timer.reset()

    def _on_reset(self, _request: Any, response: Any) -> Any:
        response.success = self.active
        if self.active:
            self._restart()
            response.message = 'the comparison starts anew with random states'
        else:
            response.message = f'nothing to reset: the node is {self.state}'
        return response

    @override
    def condition(self) -> Status:
        """Return the verdict as a status."""
        report = self._report
        if report is None:
            return health.OK, 'comparing random states'
        if report.verdict is not Verdict.PASS:
            return LEVEL[report.verdict], str(report).splitlines()[0]
        if self.parameters.check_rate > 0 and not self.health.inputs:
            return (
                health.WARN,
                f'no new states with torques of {self.parameters.dynamics_node}',
            )
        return health.OK, 'running'

    @override
    def figures(self) -> dict[str, str]:
        """Return the verdict and the figures that it follows from."""
        report = self._report
        if report is None or self._comparison is None:
            return {}
        return {
            'verdict': report.verdict.value,
            'engine': report.engine,
            'random states': str(report.states),
            'live states': str(self._comparison.observed),
            'engine restarts': str(self._comparison.restarts),
            'tolerance': f'{report.tolerance:g}',
            **({'likely cause': report.cause} if report.cause else {}),
            **{found.quantity: str(found) for found in report.residuals},
            **{f'note {k}': note for k, note in enumerate(report.notes, start=1)},
            **{f'additional engine {k}': str(r) for k, r in enumerate(report.additional, start=1)},
        }

    @override
    def destroy_node(self) -> None:
        """End the engine's process as well."""
        self._end_comparison()
        if self._terms is not None:
            self._terms.close()
        super().destroy_node()

    # -- comparison --------------------------------------------------------------------------

    @property
    def _report(self) -> Report | None:
        return None if self._comparison is None else self._comparison.report

    def _end_comparison(self) -> None:
        if self._comparison is not None:
            self._comparison.close()
        self._comparison = None

    def _new_comparison(self, arm: Dynamics) -> EngineComparison:
        """Return the comparison of this robot with the engines of the parameters."""
        parameters: ValidatorParameters = self.parameters
        load, urdf = parameters.payload(), self.robot.text
        if load.mass or load.inertia_com.any():
            # The payload is a link of its own.
            link = parameters.payload_link(self.base.model)
            urdf = with_payload(for_engines(urdf)[0], link, load)
        return EngineComparison(
            urdf,
            arm,
            random_states(
                arm.model, parameters.random_states, np.random.default_rng(parameters.seed)
            ),
            engines=EngineChoice(
                parameters.engines,
                given(parameters.additional_engines),
                parameters.engine_timeout,
            ),
            tolerance=parameters.tolerance,
            locked_joints=parameters.locked(),
            source=parameters.dynamics_node,
            motions=MotionComparison(
                arm.model, parameters.friction(arm.model), parameters.effort_tolerance
            ),
        )

    def _on_step(self) -> None:
        """Do one step of the comparison at random states; end the process if `one_shot`."""
        if not self.active:
            return
        if self._comparison is None:
            self._comparison = self._new_comparison(self.arm)
        self._comparison.work()
        self._report_restarts(self._comparison)
        report = self._comparison.report
        if report is None:
            return
        self._step_timer.cancel()
        self._announce(report)
        if self.parameters.one_shot and report.verdict is Verdict.FAIL:
            self.fail(ValidationFailed(str(report)))
        elif self.parameters.one_shot:
            # Ends the process with exit code 0: see ros/executable.py.
            signal.raise_signal(signal.SIGINT)

    def _on_check(self) -> None:
        """Compare the torques of the newest joint state that the dynamics node has answered."""
        comparison, terms = self._comparison, self._terms
        if self._report is None or comparison is None or terms is None or not self.active:
            return
        found = terms.newest()
        if found is None:
            return
        stamp, observation = found
        self.count_input(stamp)
        residual = comparison.observe(observation)
        self._report_restarts(comparison)
        if residual is not None:
            self._residual_out.publish(self._residual.fill(stamp, residual))
            self._announce(self._report)

    # -- report ------------------------------------------------------------------------------

    def _report_restarts(self, comparison: EngineComparison) -> None:
        if comparison.restarts != self._restarts:
            self._restarts = comparison.restarts
            self.count_event('engine restarted')
            self.get_logger().warning(f'{comparison.last_error}; started again')

    def _announce(self, report: Report) -> None:
        """Log and publish a verdict or a likely cause that is new."""
        if (report.verdict, report.cause) == self._announced:
            return
        known = self._announced is not None and self._announced[0] is report.verdict
        self._announced = report.verdict, report.cause
        self._publish_report()
        if known and not report.cause:
            return  # a cause was dropped: the next one is logged
        log = self.get_logger()
        if report.verdict is Verdict.PASS:
            log.info(str(report))
        elif report.verdict is Verdict.FAIL:
            log.error(str(report))
        else:
            log.warning(str(report))

    def _publish_report(self) -> None:
        report = self._report
        if report is None or not self.active:
            return
        stamp, name = self.get_clock().now().to_msg(), self.get_fully_qualified_name()
        line = str(report).splitlines()[0]
        self._report_out.publish(
            diagnostic(stamp, name, report.robot, LEVEL[report.verdict], line, self.figures())
        )
