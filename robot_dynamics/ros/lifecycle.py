# SPDX-License-Identifier: Apache-2.0
"""Base of the nodes: lifecycle transitions, parameters, and the parts that a node owns.

    unconfigured --configure--> inactive --activate--> active
         ^-------cleanup---------'  ^-----deactivate-----'

Beyond rclpy: a callback that raises is logged before the node goes to error processing, a
transition that is impossible in the present state is answered with `success: false` instead of
ending the process, and a message that cannot be decoded is dropped and counted. An exception of a
service, timer or subscription callback rejects its input: it is logged, counted, and answered as
failed. Only the answer to a checked joint state may end the process, by an error of the program.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.clock import Clock, ClockType
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.qos import QoSProfile
from rclpy.qos_overriding_options import InvalidQosOverridesError
from std_srvs.srv import SetBool, Trigger
from typing_extensions import override

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.common.yaml_text import nearest
from robot_dynamics.ros import health, messages, qos
from robot_dynamics.ros.health import Health, Status
from robot_dynamics.ros.parameters import ParameterError, changed, declare, specs
from robot_dynamics.ros.part import Part
from robot_dynamics.ros.robot_parameters import RobotParameters

if TYPE_CHECKING:

    class LifecycleNode:
        """That of rclpy has no types; below an unknown class mypy finds no misspelt hook."""

        def __init__(self, name: str, **kwargs: Any): ...
        def __getattr__(self, name: str) -> Any: ...
        def _overridden(self, *args: Any, **kwargs: Any) -> Any: ...

        create_service = create_publisher = create_subscription = destroy_node = _overridden
        on_configure = on_activate = on_deactivate = _overridden
        on_cleanup = on_shutdown = on_error = _overridden
else:
    from rclpy.lifecycle import LifecycleNode

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE
SIMILAR = 0.7  # names: ratio of difflib from which one may be a misspelt other
OF_TOPICS = 'qos_overrides.'  # names of parameters of topics
WARNING_PERIOD = 5.0  # s, between two warnings of one kind
ANOTHER_CLOCK = 1e6  # s; stamps further from now belong to a simulation, or are not set
P = TypeVar('P', bound=Part)
T = TypeVar('T')


class RobotNode(Part, LifecycleNode):
    """Base of the nodes: lifecycle transitions, a parameter table, and a list of parts.

    Attributes:
        table: the dataclass of its parameters.
        parameters: their present values.
        parts: in the order in which they were added, and last the node itself.
        active: whether it is in the lifecycle state active.
        base: the robot of the description, a Dynamics; None while unconfigured.
        arm: that robot with its present payload, and under the present gravity.
        steady: a clock that neither simulated time nor a jump of the time can stop.
        health: counts and latencies.
        failure: set if the process has to end with exit code 1, and why.
        configure_error: why the last `configure` failed; None if it succeeded.
        waiting: the topic that the node waits for before it configures itself, or ''.
        companions: kinds of all nodes of the process if there are several; the executable sets it.
    """

    table: ClassVar[type] = RobotParameters
    companions: ClassVar[Sequence[type[RobotNode]]] = ()
    _has_overrides = False  # the topics of rclpy itself come first, before parameters can exist

    def __init__(self, name: str, **kwargs: Any):
        """Declare the parameters; the keywords are those of rclpy's LifecycleNode.

        Raises:
            RobotDynamicsError: the value of a parameter is rejected.
        """
        super().__init__(name, **kwargs)
        self._has_overrides = True
        self.active = False
        self.base: Any = None
        self.arm: Any = None
        self.health = Health()
        self.failure: RobotDynamicsError | None = None
        self.configure_error: RobotDynamicsError | None = None
        self.waiting = ''
        # Set by the executable: whether the process is about to end.
        self.is_ending: Callable[[], bool] = lambda: False
        self.parts: list[Part] = [self]
        self._warned: dict[str, float] = {}  # s, time of the last warning of each kind
        self.steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._change_state = self._service_change_state.callback  # rclpy's own
        self._service_change_state.callback = self._on_change_state
        self.parameters: Any = declare(self, self.table, self._accept, self._adopt)

    # -- parts ------------------------------------------------------------------------------

    def add(self, part: P) -> P:
        """Add a part and return it."""
        self.parts.insert(-1, part)
        return part

    # -- for parts and nodes ----------------------------------------------------------------

    @property
    def state(self) -> str:
        """The lifecycle state: unconfigured, inactive, active or finalized."""
        return str(self._state_machine.current_state[1])

    def create_steady_timer(self, period: float, callback: Callable[[], None]) -> Any:
        """Return a timer [s] that neither simulated time nor a jump of the clock can stop.

        An exception of its callback is logged and counted, then `timer_failed` is called.
        """
        name = callback.__qualname__
        failed = partial(self.timer_failed, name)
        guarded = self.guarded(f'input of {name}', callback, failed)
        return self.create_timer(period, guarded, clock=self.steady)

    def timer_failed(self, name: str, reason: str) -> None:
        """Respond to an exception of a timer's callback, with its name and the reason."""

    @override
    def create_service(
        self, srv_type: type, srv_name: str, callback: Callable[[Any, Any], Any], **kwargs: Any
    ) -> Any:
        """Offer a service as rclpy does, but answer a request that raises as failed.

        rclpy's own services, as those of the parameters, are made by this method as well.
        """
        answer = self.guarded(f'request of {srv_name}', callback, partial(failed, srv_type))

        def on_parameters(request: Any, response: Any) -> Any:
            # Each alone, as rclpy sets them, so that each has its own answer.
            for parameter in request.parameters:
                alone = SetParameters.Request(parameters=[parameter])
                response.results += answer(alone, SetParameters.Response()).results
            return response

        final = on_parameters if srv_type is SetParameters else answer
        return super().create_service(srv_type, srv_name, final, **kwargs)

    @override
    def create_publisher(
        self, msg_type: type, topic: str, qos_profile: QoSProfile, **kwargs: Any
    ) -> Any:
        """Publish as rclpy does; `qos_overrides` parameters may change the profile.

        Raises:
            ParameterError: an override is rejected.
        """
        create = partial(super().create_publisher, msg_type, topic, **kwargs)
        return self._with_overrides(create, topic, qos_profile)

    @override
    def create_subscription(
        self,
        msg_type: type,
        topic: str,
        callback: Callable[[Any], None],
        qos_profile: QoSProfile,
        *,
        raw: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Subscribe as rclpy does, but drop and count messages that cannot be decoded.

        rclpy decodes in the executor, where an error would end the process; here messages are
        taken as bytes and decoded before the callback. rclpy's own subscriptions, as that to
        /clock, are made by this method as well. `qos_overrides` parameters may change the profile.

        Raises:
            ParameterError: an override is rejected.
        """

        def on_bytes(data: bytes) -> None:
            callback(messages.decode(data, msg_type))

        taken = callback if raw else self.guarded(f'message on {topic}', on_bytes)
        create = partial(super().create_subscription, msg_type, topic, taken, raw=True, **kwargs)
        return self._with_overrides(create, topic, qos_profile)

    def subscription_profile(self, topic: str, qos_profile: QoSProfile) -> QoSProfile:
        """Return the profile of a subscription that a part makes by a node of its own.

        Args:
            topic: its full name.
            qos_profile: without the `qos_overrides` parameters of this node.

        Raises:
            ParameterError: an override is rejected.
        """
        return self._with_overrides(partial(qos.declared, self, topic), topic, qos_profile)

    def _with_overrides(self, create: Callable[..., Any], topic: str, profile: QoSProfile) -> Any:
        if not self._has_overrides:
            return create(qos_profile=profile)
        try:
            return create(**qos.overridable(profile))
        except (InvalidQosOverridesError, RuntimeError) as error:
            raise ParameterError(
                f'qos_overrides of {topic}: {error}; expected history keep_last or keep_all, '
                'reliability reliable or best_effort, and a depth of at least 1'
            ) from error

    def subscribe(
        self,
        msg_type: type,
        topic: str,
        what: str,
        read: Callable[[Any], T | None],
        use: Callable[[T], None],
        profile: QoSProfile,
        **kwargs: Any,
    ) -> Any:
        """Subscribe while the node is active; messages that arrive otherwise are ignored.

        Args:
            msg_type: as of rclpy.
            topic: as of rclpy.
            what: name of the messages, for diagnostics and log.
            read: returns the checked content of a message, or None if there is nothing to use.
                A RobotDynamicsError that it raises rejects the message.
            use: called with the content.
            profile: quality of service.
            **kwargs: those of `create_subscription`.
        """
        checked = self.guarded(what, read)

        def on_message(message: Any) -> None:
            content = checked(message) if self.active else None
            if content is not None:
                use(content)

        return self.create_subscription(msg_type, topic, on_message, profile, **kwargs)

    def guarded(
        self,
        what: str,
        callback: Callable[..., Any],
        result: Callable[[str], Any] = lambda _: None,
    ) -> Callable[..., Any]:
        """Return a callback that rejects an input at which it raises.

        Args:
            what: name of the input, for diagnostics and log.
            callback: of rclpy, whose executor would end the process.
            result: returns the result for an input that is rejected, from the reason.
        """

        def guarded(*args: Any) -> Any:
            try:
                return callback(*args)
            except RobotDynamicsError as error:
                self.reject(what, error)
                return result(str(error))
            except Exception as error:  # noqa: BLE001  (libraries raise anything)
                self.reject(what, traceback.format_exc())
                return result(f'{type(error).__name__}: {error}')

        return guarded

    def reject(self, what: str, reason: Any) -> None:
        """Count a rejected message; log the reason, at most every 5 s for each kind."""
        self.count_event(f'{what} rejected')
        now = time.monotonic()
        if now - self._warned.get(what, -WARNING_PERIOD) >= WARNING_PERIOD:
            self._warned[what] = now
            self.get_logger().warning(f'{what} rejected: {reason}')

    def count_event(self, event: str) -> None:
        """Count an event for the diagnostics, under this name."""
        self.health.counts[event] += 1

    def count_input(self, stamp: int) -> None:
        """Count an input message with this stamp, ns."""
        if self.health.inputs:
            return self.health.received()
        # Measured once per report: reading the clock is slow.
        age = (self.get_clock().now().nanoseconds - stamp) / SECOND
        self.health.received(age if abs(age) < ANOTHER_CLOCK else None)

    def own_frame(self, frame_id: str) -> str:
        """Return the link or frame of a frame_id, which may begin with `frame_prefix`."""
        return frame_id.removeprefix(str(self.parameters.frame_prefix))

    # -- start and end ----------------------------------------------------------------------

    def condition(self) -> Status:
        """Return the status of the active node while no part reports a fault."""
        return health.OK, 'running'

    def fail(self, error: RobotDynamicsError) -> None:
        """End the process with this error."""
        self.failure = error

    def configure_and_activate(self) -> None:
        """Configure and activate, as a lifecycle manager would.

        Raises:
            RobotDynamicsError: why the node cannot be configured or activated.
        """
        if self.trigger_configure() != SUCCESS:
            raise self.configure_error or RobotDynamicsError(
                'could not be configured: see the log'
            )
        if self.trigger_activate() != SUCCESS:
            raise RobotDynamicsError('not activated: see the log')

    def end(self) -> None:
        """Shut down before the process ends."""
        if self.active:
            self.trigger_shutdown()

    # -- parameters -------------------------------------------------------------------------

    def _accept(self, parameters: Any) -> None:
        """Raise a RobotDynamicsError if a change of parameters is rejected."""
        if self.arm is not None:
            for name in changed(self.parameters, parameters):
                if specs(self.table)[name].description_of_robot:
                    raise ParameterError(
                        f'{name} may change only while the node is unconfigured; it is '
                        f'{self.state}'
                    )
        for part in self.parts:
            part.accept(parameters)
        if self.arm is not None:
            for part in self.parts:
                part.check(parameters, self.arm)

    def _adopt(self, parameters: Any) -> None:
        changes = changed(self.parameters, parameters)
        self.parameters = parameters
        for part in self.parts:
            part.adopt(changes)

    def warn_of_unknown_topics(self, nodes: Sequence[RobotNode]) -> None:
        """Log `qos_overrides` of topics that no node of the process has.

        They are declared with the topics, some of them by `activate`.
        """
        self._warn_of_unknown(
            name
            for name in self._parameter_overrides
            if name.startswith(OF_TOPICS) and not any(node.has_parameter(name) for node in nodes)
        )

    def _warn_of_unknown_parameters(self) -> None:
        """Log the given parameters that no node of the process has, such as misspelled ones.

        ROS ignores them silently, and gives parameters without the name of a node to all nodes.
        """
        of_others = {name for kind in self.companions for name in specs(kind.table)}
        self._warn_of_unknown(
            name
            for name in self._parameter_overrides
            if not (self.has_parameter(name) or name in of_others or name.startswith(OF_TOPICS))
        )

    def _warn_of_unknown(self, names: Iterable[str]) -> None:
        similar = {name: nearest(name, specs(self.table), SIMILAR) for name in names}
        listed = [f'{name} (similar: {one})' if one else name for name, one in similar.items()]
        if listed:
            self.get_logger().warning(
                f'parameters that this node does not have, without effect: {", ".join(listed)}'
            )

    # -- transitions ------------------------------------------------------------------------

    @override
    def on_configure(self, state: Any) -> TransitionCallbackReturn:
        """Configure the parts; FAILURE if one of them raises a RobotDynamicsError."""
        self._warn_of_unknown_parameters()
        try:
            for part in self.parts:
                part.configure()
        except RobotDynamicsError as error:
            self.configure_error = error
            self.base = self.arm = None
            return FAILURE
        except Exception:
            self._log_exception('configure')
            raise
        self.configure_error = None
        return super().on_configure(state)

    @override
    def on_activate(self, state: Any) -> TransitionCallbackReturn:
        """Activate the parts."""
        result = super().on_activate(state)
        self._do('activate', lambda part: part.restart())
        self._do('activate', lambda part: part.activate())
        self.active = result == SUCCESS
        if not self.companions:
            self.warn_of_unknown_topics([self])
        return result

    @override
    def on_deactivate(self, state: Any) -> TransitionCallbackReturn:
        """Deactivate the parts."""
        self._halt('deactivate')
        return super().on_deactivate(state)

    @override
    def on_cleanup(self, state: Any) -> TransitionCallbackReturn:
        """Clean up the parts."""
        self._do('cleanup', lambda part: part.cleanup())
        return super().on_cleanup(state)

    @override
    def on_shutdown(self, state: Any) -> TransitionCallbackReturn:
        """Deactivate the parts and clean them up."""
        self._halt('shutdown')
        self._do('shutdown', lambda part: part.cleanup())
        return super().on_shutdown(state)

    @override
    def on_error(self, state: Any) -> TransitionCallbackReturn:
        """Return to unconfigured after a transition that raised."""
        self._halt('error processing')
        self._do('error processing', lambda part: part.cleanup())
        return super().on_error(state)

    def _halt(self, transition: str) -> None:
        if self.active:
            self.active = False
            self._do(transition, lambda part: part.deactivate())

    def _do(self, transition: str, hook: Callable[[Part], None]) -> None:
        try:
            for part in self.parts:
                hook(part)
        except Exception:
            self._log_exception(transition)
            raise

    def _log_exception(self, transition: str) -> None:
        # rclpy turns the exception into error processing without logging it.
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


def failed(srv_type: Any, reason: str) -> Any:
    """Return the response to a request that failed; `success` of a new response is false."""
    response = srv_type.Response()
    if srv_type is SetParameters:
        response.results = [SetParametersResult(reason=reason)]
    elif srv_type is SetParametersAtomically:
        response.result.reason = reason
    elif srv_type in (SetBool, Trigger):
        response.message = reason
    return response
