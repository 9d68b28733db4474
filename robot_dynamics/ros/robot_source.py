# SPDX-License-Identifier: Apache-2.0
"""The robot of a node: from a parameter, a file, or the latched topic `robot_description`.

`RobotSource` reads it when the node is configured. A description that arrives later is parsed and
compiled in a background thread, which takes up to a second for an arm and seconds for hundreds of
joints; the node uses its present robot until then, and keeps it if the new one is
rejected. Python runs one thread at a time and switches every 5 ms, and a node yields with every
message that it publishes; so the interval is shortened while both threads run.
"""

from __future__ import annotations

import math
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

from std_msgs.msg import String
from typing_extensions import override

from robot_dynamics.codegen.backends import machine_code
from robot_dynamics.common.errors import ModelError, RobotDynamicsError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.parameters import given
from robot_dynamics.ros.part import Part
from robot_dynamics.ros.robot_parameters import RobotParameters
from robot_dynamics.urdf.loading import urdf_text
from robot_dynamics.urdf.robot_files import named
from robot_dynamics.urdf.xacro_process import xacro_arguments

POLL = 0.01  # s, between two polls of the queue, or of the background thread
LONGEST_WAIT = 10.0  # s; a `configure` request waits no longer for the description
SWITCH_INTERVAL = 1e-4  # s, of Python's threads while one computes for long


class DescriptionTimeout(RobotDynamicsError, TimeoutError):  # noqa: N818  (as TimeoutError)
    """No robot_description arrived in time."""


class ReadyRobot(NamedTuple):
    """A robot whose programs are compiled."""

    text: str | bytes  # the URDF
    parameters: Any
    base: Dynamics  # as described
    arm: Dynamics  # with the gravity and payload of the parameters
    warnings: list[str]  # about the description


# Of the computations in progress, in several nodes of one process: the interval before each.
_intervals: list[float] = []
_intervals_lock = threading.Lock()


@contextmanager
def frequent_switches() -> Iterator[None]:
    """Let other threads run more often while this one computes for long."""
    with _intervals_lock:
        _intervals.append(sys.getswitchinterval())
        sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        yield
    finally:
        with _intervals_lock:
            if len(_intervals) == 1:
                sys.setswitchinterval(_intervals[0])
            _intervals.pop()


class RobotSource(Part):
    """Part of a node: reads its robot, and replaces it when the description changes.

    Attributes:
        text: the URDF of the present robot.
    """

    def __init__(self, node: RobotNode):
        """Subscribe to robot_description."""
        self._node = node
        self.text: str | bytes = ''
        self._newest = self._preparing = self._fingerprint = ''
        self._deadline = math.inf  # s, for the description
        self._thread = ThreadPoolExecutor(max_workers=1)  # started with the first task
        self._task: Future[ReadyRobot] | None = None
        self._replaced: Dynamics | None = None  # the robot that the task is to replace
        self._poll_timer = node.create_steady_timer(POLL, self._poll)
        self._poll_timer.cancel()
        self._subscription = node.create_subscription(
            String, 'robot_description', self._on_description, qos.LATCHED
        )

    def newest_text(self) -> str:
        """Return the newest URDF text; empty if the parameters name a file."""
        parameters = self._node.parameters
        return str(parameters.robot_description) if self._is_given else self._newest

    # -- start ------------------------------------------------------------------------------

    def begin(self) -> None:
        """Start the node if `autostart`: now, or when the description arrives.

        The last call in a node's constructor.

        Raises:
            RobotDynamicsError: the description is available and rejected.
        """
        node = self._node
        if not node.parameters.autostart:
            node.get_logger().info('unconfigured: waiting for a lifecycle manager')
            return
        if self._is_available:
            return node.configure_and_activate()
        node.waiting = 'robot_description'
        timeout = node.parameters.description_timeout
        self._deadline = time.monotonic() + timeout if timeout else math.inf
        self._poll_timer.reset()
        node.get_logger().info(f'waiting for {self._subscription.topic_name}')

    def _await_description(self) -> None:
        """Start the node once its description is available; end it at the deadline."""
        node = self._node
        if self._is_available:
            node.waiting = ''
            try:
                node.configure_and_activate()
            except RobotDynamicsError as error:
                node.fail(error)
        elif time.monotonic() >= self._deadline:
            node.waiting = ''
            node.fail(self._missing(node.parameters.description_timeout))

    # -- the first robot --------------------------------------------------------------------

    @override
    def configure(self) -> None:
        """Read the robot, waiting for the topic if no parameter gives it.

        Raises:
            RobotDynamicsError: there is no description in time, or it is rejected.
        """
        missing = machine_code.why_not()
        if missing:
            self._node.get_logger().warning(
                f'{missing}: results are computed in Python, for 7 joints 0.2 ms later with each '
                'state, and a simulated step takes 1.6 ms; with llvmlite it takes microseconds'
            )
        timeout = self._node.parameters.description_timeout
        self._wait(min(timeout, LONGEST_WAIT) if timeout else LONGEST_WAIT)
        self._take(self._ready_robot(self._node.parameters, self.newest_text()))
        self._node.waiting = ''

    @override
    def cleanup(self) -> None:
        """Drop the robot."""
        self._node.base = self._node.arm = None

    def _ready_robot(self, parameters: Any, text: str) -> ReadyRobot:
        """Return the robot of a URDF, compiled; change nothing of the node."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always')
            urdf, model = _read(parameters, text)
        base = Dynamics(model)
        arm = parameters.varied(base)
        for part in self._node.parts:
            part.prepare(arm)
        return ReadyRobot(urdf, parameters, base, arm, [str(w.message) for w in caught])

    def _take(self, ready: ReadyRobot) -> None:
        """Use a robot from now on. Raises RobotDynamicsError if a part rejects it."""
        node = self._node
        for warning in ready.warnings:
            node.get_logger().warning(warning)
        base, arm = ready.base, ready.arm
        if ready.parameters is not node.parameters:  # they changed meanwhile
            arm = node.parameters.varied(base)
        for part in node.parts:
            part.check(node.parameters, arm)
        self.text = ready.text
        for part in node.parts:
            part.use(arm)
        node.base, node.arm = base, arm
        model = base.model
        self._fingerprint = model.fingerprint()[:12]
        node.get_logger().info(
            f'robot {model.name!r}, joints {", ".join(model.joint_names)}, '
            f'model {self._fingerprint}'
        )

    @override
    def figures(self) -> dict[str, str]:
        """Return the identity of the model, for the diagnostics."""
        return {'model': self._fingerprint}

    # -- another robot ----------------------------------------------------------------------

    def _on_description(self, message: Any) -> None:
        is_known = message.data in (self.text, self._newest)
        self._newest = message.data
        if is_known or self._is_given:
            return
        if self._node.arm is not None and self._task is None:
            self._prepare_newest()

    def _prepare_newest(self) -> None:
        self._preparing, self._replaced = self.newest_text(), self._node.base
        self._task = self._thread.submit(
            self._in_background, self._node.parameters, self._preparing
        )
        self._poll_timer.reset()

    def _in_background(self, parameters: Any, text: str) -> ReadyRobot:
        with frequent_switches():
            return self._ready_robot(parameters, text)

    def _poll(self) -> None:
        """Start the node that waits, or take the robot that was compiled."""
        if self._node.waiting:
            self._await_description()
        elif self._task is None:
            self._poll_timer.cancel()
        elif self._task.done():
            self._take_prepared(self._task)

    def _take_prepared(self, task: Future[ReadyRobot]) -> None:
        """Use the robot that was compiled, or keep the present one."""
        node, self._task = self._node, None
        if node.base is self._replaced:  # else the node was cleaned up meanwhile
            try:
                self._take(task.result())
            except RobotDynamicsError as error:
                node.count_event('robot_description rejected')
                node.get_logger().error(
                    f'robot_description rejected, the last one is kept: {error}'
                )
        is_other = self.newest_text() not in (self._preparing, self.text)
        if node.arm is not None and is_other and not self._is_given:
            self._prepare_newest()

    # -- the topic --------------------------------------------------------------------------

    @property
    def _is_given(self) -> bool:
        parameters = self._node.parameters
        return bool(parameters.robot_description or parameters.robot_description_file)

    @property
    def _is_available(self) -> bool:
        return self._is_given or bool(self._newest)

    def _wait(self, longest: float) -> None:
        """Wait for the topic, at most `longest` [s], within a callback.

        The executor waits as well, so the message is taken from the queue here.
        """
        end = time.monotonic() + longest
        self._take_queued()
        while not self._is_available:
            if time.monotonic() >= end or self._node.is_ending():
                raise self._missing(longest)
            time.sleep(POLL)
            self._take_queued()

    def _take_queued(self) -> None:
        if self._is_available:
            return
        for data, _ in messages.queued(self._subscription):
            try:
                self._newest = str(messages.decode(data, String).data)
            except messages.MalformedMessage as error:
                self._node.reject('robot_description', error)

    def _missing(self, waited: float) -> DescriptionTimeout:
        return DescriptionTimeout(
            f'no robot_description on {self._subscription.topic_name} (namespace '
            f'{self._node.get_namespace()}) within {waited:g} s: start robot_state_publisher '
            'there, or set the parameter robot_description or robot_description_file'
        )


def _read(parameters: RobotParameters, text: str) -> tuple[str | bytes, RobotModel]:
    """Return the URDF and its robot: `text`, or if it is empty the file of the parameters."""
    file, words = parameters.robot_description_file, given(parameters.xacro_arguments)
    if text or not file:
        if words:
            raise ModelError(
                f'xacro_arguments is {", ".join(words)}; expected robot_description_file, a '
                '.xacro file: a description in robot_description is never expanded'
            )
        return text, parameters.robot(text)
    with named(file):
        urdf = urdf_text(file, xacro_arguments(words))
        return urdf, parameters.robot(urdf)
