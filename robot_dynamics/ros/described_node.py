"""A node that takes its robot from the description: the first, and every other that follows.

The first one is waited for, and made ready while the node is configured. Another one is made ready
in the background, while the node goes on with the robot it has; one that is refused changes
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.clock import Clock, ClockType

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.ros.description_source import DescriptionSource
from robot_dynamics.ros.health import Health
from robot_dynamics.ros.managed_node import ManagedNode
from robot_dynamics.ros.preparation import Preparation, ReadyRobot, ready_robot
from robot_dynamics.ros.robot_source import robot_from

PATIENCE = 10.0  # s; who asks to configure may not wait longer for the description


class DescribedNode(ManagedNode):
    """Base of a node with a robot.

    Attributes:
        parameters: a filled RobotParameters, which is there before `find_robot` is called.
        base: the robot of the description; None while unconfigured.
        arm: that robot as it is at present.
        health: what the node counts.
    """

    parameters: Any

    def __init__(self, name: str, **kwargs: Any):
        """Begin without a robot; the keywords are those of rclpy's LifecycleNode."""
        super().__init__(name, **kwargs)
        self.base: Dynamics | None = None
        self.arm: Dynamics | None = None
        self.health = Health()
        self._fingerprint = ''  # of the model
        self._starts_itself = False  # as soon as the description is there
        self._deadline: Any = None  # for the description
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._preparation = Preparation(self, self._on_prepared)

    # -- for the nodes to say ---------------------------------------------------------------

    def prepare(self, arm: Dynamics) -> None:
        """Call the functions that will be needed: a first call compiles.

        While the node works with another robot this is done in another thread, which must change
        nothing of the node. A RobotDynamicsError refuses the robot.
        """

    def use(self, arm: Dynamics) -> None:
        """Work with this robot from now on; a RobotDynamicsError refuses it."""
        raise NotImplementedError

    def model_of(self, parameters: Any, text: str) -> RobotModel:
        """Return the robot of a URDF, or of the file the parameters name if that is empty."""
        return robot_from(parameters, text)

    def vary(self, base: Dynamics, parameters: Any) -> Dynamics:
        """Return the dynamics to work with: `base` under what parameters may change any time."""
        return base

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
        text = self._source.text_for(self.parameters)
        self._take_robot(ready_robot(self, self.parameters, text))
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
        elif self.arm is not None and not self._preparation.is_busy:
            self._prepare_newest()

    def _prepare_newest(self) -> None:
        text = self._source.text_for(self.parameters)
        self._preparing = self.base, text
        self._preparation.begin(self.parameters, text)

    def _on_prepared(self, ready: Callable[[], ReadyRobot]) -> None:
        """Go on with another robot, or with the one there is."""
        base, text = self._preparing
        if self.base is base:  # else it was cleaned up meanwhile
            try:
                self._take_robot(ready())
            except RobotDynamicsError as error:
                self.health.counts['robot_description rejected'] += 1
                self.get_logger().error(
                    f'robot_description rejected, the last one is kept: {error}'
                )
        newest = self._source.text_for(self.parameters)
        if self.arm is not None and newest not in (text, self._source.text):
            self._prepare_newest()

    def _take_robot(self, ready: ReadyRobot) -> None:
        for warning in ready.warnings:
            self.get_logger().warning(warning)
        base, arm = ready.base, ready.arm
        if ready.parameters is not self.parameters:  # they changed meanwhile
            arm = self.vary(base, self.parameters)
        self.use(arm)
        self.base, self.arm, self._source.text = base, arm, ready.text
        model = base.model
        self._fingerprint = model.fingerprint()[:12]
        self.get_logger().info(
            f'robot {model.name!r}, joints {", ".join(model.joint_names)}, '
            f'model {self._fingerprint}'
        )
