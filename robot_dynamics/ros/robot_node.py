"""A node that has a robot: its parameters, its description, its health.

A node of this package is this class, a parameter table, and a few methods: `use(arm)`, called with
the dynamics of the robot when the node is configured (and again when the description changes),
`start()` and `stop()` where it is activated and deactivated, and `trouble()` and `condition()`,
which say how it fares. Whatever arrives while the node is not `active` is for it to ignore.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, ClassVar

from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState

from robot_dynamics.control.joint_state import JointDataError, JointStateReader
from robot_dynamics.ros import diagnostics, messages, qos
from robot_dynamics.ros.described_node import DescribedNode
from robot_dynamics.ros.diagnostics import diagnostic
from robot_dynamics.ros.duplicate_names import Namesakes
from robot_dynamics.ros.joint_state_bytes import JointStateDecoder, JointStateValues
from robot_dynamics.ros.messages import SECOND
from robot_dynamics.ros.parameter_declaration import declare
from robot_dynamics.ros.parameters import ParameterError, RobotParameters, changed, specs

UNSTAMPED = 100  # messages in a row with stamp 0: more than a start needs
WARNING_PERIOD = 5.0  # s, between two warnings about a stream of messages
UNKNOWN_NODE = '_NODE_NAME_UNKNOWN_'  # while a publisher is known and its node is not yet
ANOTHER_CLOCK = 1e6  # s; stamps further off than this are those of a simulation, or of no clock
TASK = 'health'  # of the status on /diagnostics
LOOK = 0.1  # s, between two looks at who publishes commands


class RobotNode(DescribedNode):
    """Base of the nodes: a robot from its description, parameters, diagnostics."""

    table: ClassVar[type] = RobotParameters

    def __init__(self, name: str, **kwargs: Any):
        """Declare the parameters; the keywords are those of rclpy's LifecycleNode.

        Raises:
            RobotDynamicsError: a parameter is refused.
        """
        super().__init__(name, **kwargs)
        self._unstamped = 0
        self._trouble: tuple[bytes, str] | None = None  # at the last diagnostics
        self._warned: dict[str, float] = {}  # s, when a kind of message was last warned about
        self._namesakes = Namesakes(self)
        self.parameters = declare(self, self.table, self.accept, lambda new: self.adopt(new))
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', qos.STREAM_OUT)
        self._report_timer = self.create_steady_timer(
            self.parameters.diagnostics_period, self._on_diagnostics
        )

    # -- for the nodes to say ---------------------------------------------------------------

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

    def create_subscription(
        self,
        msg_type: type,
        topic: str,
        callback: Callable[[Any], None],
        *args: Any,
        raw: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Subscribe as rclpy does, but drop and count messages that cannot be decoded.

        rclpy decodes in the executor, where the error would end the process; here messages are
        taken as bytes and decoded before the callback. rclpy's own subscriptions, as that to
        /clock, are made by this method as well.
        """

        def on_bytes(data: bytes) -> None:
            try:
                message = messages.decode(data, msg_type)
            except messages.MalformedMessage as error:
                return self.refuse(f'message on {topic}', error)
            callback(message)

        taken = callback if raw else on_bytes
        return super().create_subscription(msg_type, topic, taken, *args, raw=True, **kwargs)

    def listen_to_joint_states(self, heard: Callable[[JointStateValues], None]) -> None:
        """Call `heard` with every joint state while the node is active.

        Both kinds of publisher are heard, or whatever `qos_overrides` asks for.
        """
        decode = JointStateDecoder()

        def on_bytes(data: bytes) -> None:
            if not self.active:
                return
            try:
                state = decode(data)
            except JointDataError as error:
                return self.refuse('joint state', error)
            self.hear(state.stamp)
            heard(state)

        self.create_subscription(
            JointState,
            'joint_states',
            on_bytes,
            qos.JOINT_STATES_IN,
            raw=True,
            qos_overriding_options=qos.overridable(),
        )

    def hear(self, stamp: int) -> None:
        """Count an input message with this stamp, ns."""
        self._unstamped = self._unstamped + 1 if stamp == 0 else 0
        if self.health.inputs:
            return self.health.received()
        # Once in every report: the clock is slow to read.
        age = (self.get_clock().now().nanoseconds - stamp) / SECOND
        self.health.received(age if abs(age) < ANOTHER_CLOCK else None)

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
        self.health.counts[f'{what} rejected'] += 1
        now = time.monotonic()
        if now - self._warned.get(what, -WARNING_PERIOD) >= WARNING_PERIOD:
            self._warned[what] = now
            self.get_logger().warning(f'{what} rejected: {reason}')

    def publishers_of(self, topic: str) -> list[str]:
        """Return the full name of the node behind each publisher of a topic."""
        return [
            f'{info.node_namespace.rstrip("/")}/{info.node_name}'
            for info in self.get_publishers_info_by_topic(topic)
            if info.node_name != UNKNOWN_NODE
        ]

    def own_frame(self, frame_id: str) -> str:
        """Return the link or frame that a message means, which may say it with `frame_prefix`."""
        return frame_id.removeprefix(self.parameters.frame_prefix)

    # -- diagnostics ------------------------------------------------------------------------

    def _present(self) -> tuple[bytes, str]:
        """Return the level and the sentence for what the node does in its lifecycle state."""
        if self.active:
            return self._notice(self.trouble()) or self.condition()
        if self._starts_itself:
            return diagnostics.STALE, 'waiting for robot_description'
        if self.configure_error is not None:
            return diagnostics.ERROR, f'not configured: {self.configure_error}'
        return diagnostics.OK, self.state

    def _on_diagnostics(self) -> None:
        level, message = self._namesakes.added_to(*self._present())
        robot, figures = '', {'lifecycle': self.state}
        if self.base is not None:
            robot = self.base.model.name
            figures |= {'model': self._fingerprint, **self.figures()}
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
