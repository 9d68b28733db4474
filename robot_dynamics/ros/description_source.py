"""The URDF of a node that is not converted yet."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from std_msgs.msg import String

from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.parameters import RobotParameters
from robot_dynamics.ros.robot_source import DescriptionTimeout

LOOK = 0.01


class DescriptionSource:
    """The URDF as it is given now: by a parameter, a file, else the newest message on the topic.

    Attributes:
        text: the URDF that the node took its robot from; empty if that was a file.
    """

    def __init__(self, node: Any, heard: Callable[[], None]):
        """Begin to listen.

        Args:
            node: whose parameters, namespace and log.
            heard: called when a text arrives that is not that of the present robot.
        """
        self._node, self._heard = node, heard
        self.text = self._newest = ''
        self._subscription = node.create_subscription(
            String, 'robot_description', self._on_description, qos.LATCHED
        )

    @property
    def _is_given(self) -> bool:
        parameters = self._node.parameters
        return bool(parameters.robot_description or parameters.robot_description_file)

    @property
    def is_there(self) -> bool:
        """Whether there is something to read."""
        return self._is_given or bool(self._newest)

    @property
    def topic(self) -> str:
        """The topic that is listened to, in full."""
        return self._subscription.topic_name

    def text_for(self, parameters: RobotParameters) -> str:
        """Return the URDF to read now; empty if that is the file."""
        if parameters.robot_description or parameters.robot_description_file:
            return parameters.robot_description
        return self._newest

    def wait(self, patience: float) -> None:
        """Wait for the topic, in the middle of a callback.

        The executor is waiting too, so that the message has to be taken from the queue by hand.

        Raises:
            DescriptionTimeout: nothing came within `patience` seconds.
        """
        end = time.monotonic() + patience
        while not self.is_there:
            taken = self._take()
            if taken is not None:
                self._newest = taken.data
            elif time.monotonic() >= end or self._node.is_ending():
                raise self.missing(patience)
            else:
                time.sleep(LOOK)

    def missing(self, waited: float) -> DescriptionTimeout:
        """Return the error that says where nothing was heard."""
        return DescriptionTimeout(
            f'no robot_description on {self.topic} (namespace {self._node.get_namespace()}) '
            f'within {waited:g} s: start robot_state_publisher there, or set the parameter '
            'robot_description or robot_description_file'
        )

    def _take(self) -> Any:
        queue = self._subscription.handle
        with queue:
            taken = queue.take_message(self._subscription.msg_type, self._subscription.raw)
        if taken is None:
            return None
        try:
            return messages.decode(taken[0], String)
        except messages.MalformedMessage as error:
            return self._node.refuse('robot_description', error)

    def _on_description(self, message: Any) -> None:
        if message.data in (self.text, self._newest):
            self._newest = message.data
            return
        self._newest = message.data
        if not self._is_given:
            self._heard()
