"""A node with a lifecycle: configured, activated, deactivated and cleaned up, by others or itself.

    unconfigured --configure--> inactive --activate--> active
         ^-------cleanup---------'  ^-----deactivate-----'

A node of this package fills in four methods and the transitions follow: `configure` (a
RobotDynamicsError refuses, and the node stays unconfigured), `start`, `stop` and `forget`. What
rclpy leaves open is closed here: a callback that raises is logged before the node goes to error
processing, and a transition that is impossible in the present state is answered with a refusal
instead of ending the process.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn

from robot_dynamics.errors import RobotDynamicsError

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE


class ManagedNode(LifecycleNode):  # type: ignore[misc]
    """Base of a node that is configured and activated before it works.

    Attributes:
        active: whether it may work at present.
        failure: set if the process has to end with exit code 1, and why.
        refusal: why the last `configure` was refused; None after one that was not.
    """

    def __init__(self, name: str, **kwargs: Any):
        """Begin unconfigured; the keywords are those of rclpy's LifecycleNode."""
        super().__init__(name, **kwargs)
        self.active = False
        self.failure: RobotDynamicsError | None = None
        self.configure_error: RobotDynamicsError | None = None
        # The `stop` of the executable, for what takes its time: see `_main`.
        self.is_ending: Callable[[], bool] = lambda: False
        self._change_state = self._service_change_state.callback  # rclpy's own
        self._service_change_state.callback = self._on_change_state

    # -- for the nodes to say ---------------------------------------------------------------

    def configure(self) -> None:
        """Get ready; a RobotDynamicsError refuses, and says why."""

    def start(self) -> None:
        """Begin to work, with nothing left over from the last time."""

    def stop(self) -> None:
        """Say the last word, and leave the machine safe: nothing is sent after it."""

    def forget(self) -> None:
        """Drop what `configure` made."""

    # -- by itself --------------------------------------------------------------------------

    @property
    def state(self) -> str:
        """The lifecycle state: unconfigured, inactive, active or finalized."""
        return str(self._state_machine.current_state[1])

    def fail(self, error: RobotDynamicsError) -> None:
        """End the process: the node cannot do its work."""
        self.failure = error

    def configure_and_activate(self) -> None:
        """Do what a lifecycle manager would do.

        Raises:
            RobotDynamicsError: why the node cannot be configured or activated.
        """
        if self.trigger_configure() != SUCCESS:
            raise self.configure_error or RobotDynamicsError(
                'could not be configured: see the log'
            )
        if self.trigger_activate() != SUCCESS:
            raise RobotDynamicsError('could not be activated: see the log')

    def end(self) -> None:
        """Stop working before the process ends."""
        if self.active:
            self.trigger_shutdown()

    # -- transitions ------------------------------------------------------------------------

    def on_configure(self, state: Any) -> TransitionCallbackReturn:
        """Configure; FAILURE if the node refuses."""
        try:
            self.configure()
        except RobotDynamicsError as error:
            self.configure_error = error
            return FAILURE
        except Exception:
            self._log_exception('configure')
            raise
        self.configure_error = None
        return super().on_configure(state)

    def on_activate(self, state: Any) -> TransitionCallbackReturn:
        """Begin to work."""
        result = super().on_activate(state)
        self._do('activate', self.start)
        self.active = result == SUCCESS
        return result

    def on_deactivate(self, state: Any) -> TransitionCallbackReturn:
        """Stop working, safely."""
        self._halt('deactivate')
        return super().on_deactivate(state)

    def on_cleanup(self, state: Any) -> TransitionCallbackReturn:
        """Return to where the node was before `configure`."""
        self._do('cleanup', self.forget)
        return super().on_cleanup(state)

    def on_shutdown(self, state: Any) -> TransitionCallbackReturn:
        """Stop working for good."""
        self._halt('shutdown')
        self._do('shutdown', self.forget)
        return super().on_shutdown(state)

    def on_error(self, state: Any) -> TransitionCallbackReturn:
        """Return to unconfigured after a transition that raised."""
        self._halt('error processing')
        self._do('error processing', self.forget)
        return super().on_error(state)

    def _halt(self, transition: str) -> None:
        if self.active:
            self.active = False
            self._do(transition, self.stop)

    def _do(self, transition: str, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception:
            self._log_exception(transition)
            raise

    def _log_exception(self, transition: str) -> None:
        # rclpy turns the exception into error processing, and would keep it to itself.
        self.get_logger().error(f'{transition} failed: {traceback.format_exc()}')

    def _on_change_state(self, request: Any, response: Any) -> Any:
        before = self.state
        try:
            response = self._change_state(request, response)
        except rclpy_implementation.RCLError:
            response.success = False
        what = request.transition.label or f'transition {request.transition.id}'
        if response.success:
            self.get_logger().info(f'{before} -> {self.state}')
        elif self.configure_error is not None and before == 'unconfigured':
            self.get_logger().error(f'not configured: {self.configure_error}')
        else:
            self.get_logger().error(f'{what} rejected: the node is {self.state}')
        return response
