"""A node that has a robot: its parameters, its description, its health.

A node of this package is this class, a parameter table, and a few methods: `use(arm)`, called with
the dynamics of the robot as soon as it is known (and again when the description changes), and
`trouble()` and `condition()`, which say how the node fares.
"""

from __future__ import annotations

import time
from typing import Any, ClassVar

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.nodes import diagnostics, messages, qos
from robot_dynamics.nodes.declaration import declare
from robot_dynamics.nodes.description import DescriptionSource
from robot_dynamics.nodes.diagnostics import Health, diagnostic
from robot_dynamics.nodes.joint_states import JointStateReader
from robot_dynamics.nodes.parameters import RobotParameters

UNSTAMPED = 100  # messages in a row with stamp 0: more than a start needs
WARNING_PERIOD = 5.0  # s, between two warnings about a stream of messages
UNKNOWN_NODE = '_NODE_NAME_UNKNOWN_'  # while a publisher is known and its node is not yet
ANOTHER_CLOCK = 1e6  # s; stamps further off than this are those of a simulation, or of no clock
LOOK = 0.1  # s, between two looks at who publishes commands


class RobotNode(Node):
    """Base of the nodes: a robot from its description, parameters, diagnostics."""

    table: ClassVar[type] = RobotParameters

    def __init__(self, name: str, **kwargs: Any):
        """Declare the parameters; the keywords are those of rclpy's Node.

        Raises:
            RobotDynamicsError: a parameter or the description is refused.
        """
        super().__init__(name, **kwargs)
        self.failure: RobotDynamicsError | None = None  # set: the process ends with exit code 1
        self.arm: Dynamics | None = None
        self.health = Health()
        self._unstamped = 0
        self._trouble: tuple[bytes, str] | None = None  # at the last diagnostics
        self._warned: dict[str, float] = {}  # s, when a kind of message was last warned about
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.parameters = declare(self, self.table, self.accept)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', qos.STREAM_OUT)
        self.create_steady_timer(self.parameters.diagnostics_period, self._on_diagnostics)

    # -- for the nodes to say ---------------------------------------------------------------

    def use(self, arm: Dynamics) -> None:
        """Work with this robot from now on; a RobotDynamicsError refuses it.

        The first call of a function compiles it: make it here, before a message waits for it.
        """
        raise NotImplementedError

    def accept(self, parameters: Any) -> None:
        """Refuse parameter values by raising a RobotDynamicsError; called before they change."""

    def adopt(self, parameters: Any) -> None:
        """Work with accepted parameter values from now on."""
        self.parameters = parameters

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
        """Look for the description; `use` is called when it is there."""
        self._source = DescriptionSource(self, self.parameters, self._on_robot, self.fail)

    def fail(self, error: RobotDynamicsError) -> None:
        """End the process: the node cannot do its work."""
        self.failure = error

    def hear(self, stamp: int) -> None:
        """Count an input message with this stamp, ns."""
        self._unstamped = self._unstamped + 1 if stamp == 0 else 0
        age = (self.get_clock().now().nanoseconds - stamp) / messages.SECOND
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

    def _on_robot(self, model: RobotModel) -> None:
        arm = Dynamics(model)
        self.use(arm)
        self.arm = arm
        self.get_logger().info(
            f'robot {model.name!r}, joints {", ".join(model.joint_names)}, '
            f'model {model.fingerprint()[:12]}'
        )

    def _on_diagnostics(self) -> None:
        if self.arm is None:
            level, message, robot = diagnostics.STALE, 'waiting for robot_description', ''
            figures = {}
        else:
            level, message = self._notice(self.trouble()) or self.condition()
            robot = self.arm.model.name
            figures = {'model': self.arm.model.fingerprint()[:12], **self.figures()}
        figures.update(self.health.report(time.monotonic()))
        self._diagnostics.publish(
            diagnostic(
                self.get_clock().now().to_msg(),
                self.get_fully_qualified_name(),
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
