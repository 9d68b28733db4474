"""A node that has a robot: its parameters, its description, its health.

A node of this package is this class, a parameter table, and a few methods: `use(arm)`, called with
the dynamics of the robot when the node is configured (and again when the description changes),
`start()` and `stop()` where it is activated and deactivated, and `trouble()` and `condition()`,
which say how it fares. Whatever arrives while the node is not `active` is for it to ignore.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock, ClockType
from sensor_msgs.msg import JointState

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.nodes import diagnostics, qos
from robot_dynamics.nodes.declaration import declare
from robot_dynamics.nodes.description import DescriptionSource, robot_from
from robot_dynamics.nodes.diagnostics import Health, diagnostic
from robot_dynamics.nodes.joint_states import JointStateReader
from robot_dynamics.nodes.managed_node import ManagedNode
from robot_dynamics.nodes.messages import SECOND
from robot_dynamics.nodes.namesakes import Namesakes
from robot_dynamics.nodes.parameters import ParameterError, RobotParameters, changed, specs

UNSTAMPED = 100  # messages in a row with stamp 0: more than a start needs
WARNING_PERIOD = 5.0  # s, between two warnings about a stream of messages
UNKNOWN_NODE = '_NODE_NAME_UNKNOWN_'  # while a publisher is known and its node is not yet
ANOTHER_CLOCK = 1e6  # s; stamps further off than this are those of a simulation, or of no clock
PATIENCE = 10.0  # s; who asks to configure may not wait longer for the description
TASK = 'health'  # of the status on /diagnostics
LOOK = 0.1  # s, between two looks at who publishes commands


class RobotNode(ManagedNode):
    """Base of the nodes: a robot from its description, parameters, diagnostics."""

    table: ClassVar[type] = RobotParameters

    def __init__(self, name: str, **kwargs: Any):
        """Declare the parameters; the keywords are those of rclpy's LifecycleNode.

        Raises:
            RobotDynamicsError: a parameter is refused.
        """
        super().__init__(name, **kwargs)
        self.base: Dynamics | None = None  # the robot of the description
        self.arm: Dynamics | None = None  # and as it is at present
        self.health = Health()
        self._unstamped = 0
        self._starts_itself = False  # as soon as the description is there
        self._deadline: Any = None  # for the description
        self._trouble: tuple[bytes, str] | None = None  # at the last diagnostics
        self._warned: dict[str, float] = {}  # s, when a kind of message was last warned about
        self._namesakes = Namesakes(self)
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.parameters = declare(self, self.table, self.accept)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', qos.STREAM_OUT)
        self._report_timer = self.create_steady_timer(
            self.parameters.diagnostics_period, self._on_diagnostics
        )

    # -- for the nodes to say ---------------------------------------------------------------

    def use(self, arm: Dynamics) -> None:
        """Work with this robot from now on; a RobotDynamicsError refuses it.

        The first call of a function compiles it: make it here, before a message waits for it.
        """
        raise NotImplementedError

    def model_of(self, parameters: Any, text: str) -> RobotModel:
        """Return the robot of a URDF, or of the file the parameters name if that is empty."""
        return robot_from(parameters, text)

    def vary(self, base: Dynamics, parameters: Any) -> Dynamics:
        """Return the dynamics to work with: `base` under what parameters may change any time."""
        return base

    def accept(self, parameters: Any) -> None:
        """Refuse parameter values by raising a RobotDynamicsError; called before they change."""
        if self.arm is None:
            return
        for name in changed(self.parameters, parameters):
            if specs(self.table)[name].description_of_robot:
                raise ParameterError(
                    f'{name} may change only while the node is unconfigured; it is {self.state}'
                )

    def adopt(self, parameters: Any) -> None:
        """Work with accepted parameter values from now on."""
        period = round(parameters.diagnostics_period * SECOND)
        if period != self._report_timer.timer_period_ns:
            self._report_timer.timer_period_ns = period
            self._report_timer.reset()
        self.parameters = parameters
        if self._starts_itself and self._source.is_there:
            self._on_description()

    def trouble(self) -> tuple[bytes, str] | None:
        """Return the level and the sentence for what is wrong at present, None if nothing is.

        It goes to the diagnostics, and into the log when it begins.
        """
        return None

    def condition(self) -> tuple[bytes, str]:
        """Return the level and the sentence for the diagnostics of a node without trouble."""
        news = self.health.news()
        if news:
            return diagnostics.WARN, ', '.join(f'{what}: {n}' for what, n in sorted(news.items()))
        return diagnostics.OK, 'running'

    def figures(self) -> dict[str, str]:
        """Return more values for the diagnostics."""
        return {}

    # -- for the nodes to use ---------------------------------------------------------------

    def find_robot(self) -> None:
        """Look for the description: the last thing a node does in its constructor.

        Raises:
            RobotDynamicsError: the description is there, and is refused.
        """
        self._source = DescriptionSource(self, self._on_description)
        if self.parameters.autostart:
            self._await_description()
        else:
            self.get_logger().info('unconfigured: waiting for a lifecycle manager')

    def listen_to_joint_states(self, heard: Callable[[JointState], None]) -> None:
        """Hear both kinds of publisher, or whatever `qos_overrides` asks for."""
        self.create_subscription(
            JointState,
            'joint_states',
            heard,
            qos.JOINT_STATES_IN,
            qos_overriding_options=qos.overridable(),
        )

    def hear(self, stamp: int) -> None:
        """Count an input message with this stamp, ns."""
        self._unstamped = self._unstamped + 1 if stamp == 0 else 0
        if self.health.inputs:
            return self.health.heard()
        # Once in every report: the clock is slow to read.
        age = (self.get_clock().now().nanoseconds - stamp) / SECOND
        self.health.heard(age if abs(age) < ANOTHER_CLOCK else None)

    def input_condition(self, reader: JointStateReader) -> tuple[bytes, str] | None:
        """Return what is wrong with the joint states, or None."""
        missing = reader.missing()
        if self._unstamped > UNSTAMPED:
            return diagnostics.WARN, 'the stamps of joint_states stay at 0: no motion can be timed'
        if not self.health.inputs:
            return diagnostics.WARN, 'no joint_states'
        if missing:
            return diagnostics.WARN, f'joint_states without {", ".join(missing)}'
        return None

    def refuse(self, what: str, reason: Any) -> None:
        """Count a refused message and say why, at most every few seconds for each kind."""
        self.health.counts[f'{what} refused'] += 1
        now = time.monotonic()
        if now - self._warned.get(what, -WARNING_PERIOD) >= WARNING_PERIOD:
            self._warned[what] = now
            self.get_logger().warning(f'{what} refused: {reason}')

    def publishers_of(self, topic: str) -> list[str]:
        """Return the full name of the node behind each publisher of a topic."""
        return [
            f'{info.node_namespace.rstrip("/")}/{info.node_name}'
            for info in self.get_publishers_info_by_topic(topic)
            if info.node_name != UNKNOWN_NODE
        ]

    def create_steady_timer(self, period: float, callback: Any) -> Any:
        """Return a timer [s] that neither simulated time nor a clock's jump can stop."""
        return self.create_timer(period, callback, clock=self._steady)

    # -- the robot --------------------------------------------------------------------------

    def configure(self) -> None:
        """Take the robot of the description.

        Raises:
            RobotDynamicsError: there is none in time, or it is refused.
        """
        timeout = self.parameters.description_timeout
        self._source.wait(min(timeout, PATIENCE) if timeout else PATIENCE)
        self._take_robot()
        self._stop_waiting()

    def forget(self) -> None:
        """Drop the robot."""
        self.base = self.arm = None

    def _await_description(self) -> None:
        """Configure and activate now, or when the topic says which robot it is."""
        if self._source.is_there:
            return self.configure_and_activate()
        timeout = self.parameters.description_timeout
        self._starts_itself = True
        if timeout:
            self._deadline = self.create_steady_timer(timeout, self._on_deadline)
        self.get_logger().info(f'waiting for {self._source.topic}')

    def _stop_waiting(self) -> None:
        self._starts_itself = False
        if self._deadline is not None:
            self._deadline.cancel()

    def _on_deadline(self) -> None:
        if self._starts_itself:
            self.fail(self._source.missing(self.parameters.description_timeout))
        self._stop_waiting()

    def _on_description(self) -> None:
        """Take in a new text: the first, if the node starts itself, or that of another robot."""
        if self._starts_itself:
            self._stop_waiting()
            try:
                self.configure_and_activate()
            except RobotDynamicsError as error:
                self.fail(error)
        elif self.arm is not None:
            try:
                self._take_robot()
            except RobotDynamicsError as error:
                self.health.counts['robot_description refused'] += 1
                self.get_logger().error(f'robot_description refused, the last one stays: {error}')

    def _take_robot(self) -> None:
        text = self._source.text_for(self.parameters)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always')
            model = self.model_of(self.parameters, text)
        for warning in caught:
            self.get_logger().warning(str(warning.message))
        base = Dynamics(model)
        arm = self.vary(base, self.parameters)
        self.use(arm)
        self.base, self.arm, self._source.text = base, arm, text
        self.get_logger().info(
            f'robot {model.name!r}, joints {", ".join(model.joint_names)}, '
            f'model {model.fingerprint()[:12]}'
        )

    # -- diagnostics ------------------------------------------------------------------------

    def _present(self) -> tuple[bytes, str]:
        """Return the level and the sentence for what the node does in its lifecycle state."""
        if self.active:
            return self._notice(self.trouble()) or self.condition()
        if self._starts_itself:
            return diagnostics.STALE, 'waiting for robot_description'
        if self.refusal is not None:
            return diagnostics.ERROR, f'not configured: {self.refusal}'
        return diagnostics.OK, self.state

    def _on_diagnostics(self) -> None:
        level, message = self._namesakes.added_to(*self._present())
        robot, figures = '', {'lifecycle': self.state}
        if self.base is not None:
            robot = self.base.model.name
            figures |= {'model': self.base.model.fingerprint()[:12], **self.figures()}
        figures.update(self.health.report(time.monotonic()))
        self._diagnostics.publish(
            diagnostic(
                self.get_clock().now().to_msg(),
                f'{self.get_fully_qualified_name()}: {TASK}',
                robot,
                level,
                message,
                figures,
            )
        )

    def _notice(self, trouble: tuple[bytes, str] | None) -> tuple[bytes, str] | None:
        """Log a trouble that is new, and return it; mere silence goes to the diagnostics only."""
        if trouble is not None and trouble != self._trouble:
            level, message = trouble
            if level == diagnostics.ERROR:
                self.get_logger().error(message)
            elif self.health.inputs:
                self.get_logger().warning(message)
        self._trouble = trouble
        return trouble
