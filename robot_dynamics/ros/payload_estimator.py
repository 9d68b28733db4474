# SPDX-License-Identifier: Apache-2.0
"""Estimate of the payload from the last seconds of joint states, on request.

    ~/estimate_payload    std_srvs/Trigger: begin an estimate from the states received so far
    ~/payload_estimate    geometry_msgs/InertiaStamped, latched: the last estimate

The estimate is computed in a background thread; the node answers joint states meanwhile. It is
published, with its standard errors and what they are conditional on in the diagnostics, and never
applied: to use it, send it to `~/set_payload` or `payload`.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from geometry_msgs.msg import InertiaStamped
from std_srvs.srv import Trigger
from typing_extensions import override

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.reporting.numbers import measured
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.base_motion_estimate import FIXED
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.identification.payload.payload import Payload, PayloadError, estimate_payload
from robot_dynamics.recordings.effort_unit import TORQUE
from robot_dynamics.recordings.recording import Recording
from robot_dynamics.ros import health, messages, qos
from robot_dynamics.ros.health import Status
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.part import Part
from robot_dynamics.ros.robot_source import frequent_switches

MOST = 100_000  # states
LEAST = 4.0  # s of states
POLL = 0.02  # s, between two polls of the background thread
State = tuple[int, Array, Array, Array]  # stamp [ns], q, qd, effort


class PayloadEstimator(Part):
    """Part of a node: keeps the last joint states, and estimates the payload from them.

    The node has LiveRobotParameters, `payload_window` and `effort_gravity_compensated`, and calls
    `record` with every state.
    """

    def __init__(self, node: RobotNode):
        """Offer the service."""
        self._node = node
        self._states: deque[State] = deque(maxlen=MOST)
        self._thread = ThreadPoolExecutor(max_workers=1)  # started with the first task
        self._task: Future[Payload] | None = None
        self._arm: Dynamics | None = None  # of the task
        self._found: Payload | None = None
        self._error = ''  # why the last estimate failed
        self._publisher = node.create_publisher(InertiaStamped, '~/payload_estimate', qos.LATCHED)
        node.create_service(Trigger, '~/estimate_payload', self._on_request)
        self._poll_timer = node.create_steady_timer(POLL, self._poll)
        self._poll_timer.cancel()

    # -- states -----------------------------------------------------------------------------

    def record(self, state: JointReading) -> None:
        """Keep a state, if it has velocities and efforts, and drop those that are too old."""
        states = self._states
        if state.qd is None or state.effort is None:
            return
        states.append((state.stamp, state.q, state.qd, state.effort))
        oldest = state.stamp - self._node.parameters.payload_window * SECOND
        while states[0][0] < oldest:
            states.popleft()

    @override
    def use(self, arm: Dynamics) -> None:
        """Drop the states and the estimate of another robot."""
        self._states.clear()
        self._found, self._error = None, ''

    @override
    def restart(self) -> None:
        """Drop the states received before."""
        self._states.clear()

    # -- the estimate -----------------------------------------------------------------------

    def _on_request(self, _: Any, response: Any) -> Any:
        seconds = (self._states[-1][0] - self._states[0][0]) / SECOND if self._states else 0.0
        if self._task is not None:
            reason = 'an estimate is being computed'
        elif not self._node.active:
            reason = f'the node is {self._node.state}'
        elif (source := self._node.parameters.base_motion.source) != FIXED:
            reason = f'base_motion.source is {source}; payloads are estimated on a fixed base'
        elif seconds < LEAST:
            reason = (
                f'joint states with velocities and efforts were received for {seconds:.3g} s; '
                f'expected {LEAST:g} s of motion at least'
            )
        else:
            reason = ''
            self._begin()
        response.success = not reason
        response.message = reason or (
            f'estimating from the last {seconds:.3g} s; the result will be published on '
            f'{self._publisher.topic_name}'
        )
        return response

    def _begin(self) -> None:
        node, parameters = self._node, self._node.parameters
        model = node.base.model
        self._arm = node.arm
        friction = parameters.friction(model).coefficients
        self._task = self._thread.submit(
            self._in_background,
            model.with_gravity(parameters.gravity_in_base()).with_actuation(
                viscous=friction['viscous'], coulomb=friction['coulomb']
            ),
            list(self._states),
            parameters.of_joints('effort_scale', model),
            parameters.of_joints('effort_offset', model),
            parameters.payload_link(model),
            parameters.effort_gravity_compensated,
        )
        self._poll_timer.reset()

    def _in_background(
        self,
        model: RobotModel,
        states: list[State],
        scale: Array,
        offset: Array,
        link: str,
        gravity_compensated: bool,
    ) -> Payload:
        """Return the estimate; change nothing of the node."""
        with frequent_switches():
            stamps, q, qd, effort = (np.array(x) for x in zip(*states, strict=True))
            new = np.diff(stamps, prepend=-1) != 0  # a state that was published twice
            t = (stamps[new] - stamps[0]) / SECOND
            tau = scale * effort[new] - offset
            recording = Recording(model.joint_names, t, q[new], qd[new], tau, effort_unit=TORQUE)
            return estimate_payload(
                Dynamics(model),
                recording,
                link,
                effort_gravity_compensated=gravity_compensated,
                # Rotors are parameters that `identify` writes.
                identified=bool(model.reflected_inertia.any()),
            )

    def _poll(self) -> None:
        """Publish the estimate once it is there."""
        task = self._task
        if task is None or not task.done():
            return
        self._task = None
        self._poll_timer.cancel()
        try:
            if self._node.arm is not self._arm:
                raise PayloadError('the robot or its payload changed meanwhile')
            found = task.result()
        except RobotDynamicsError as error:
            self._found, self._error = None, str(error)
        else:
            self._found = found
            self._error = '' if found.determined else '; '.join(found.notes)
        if self._error:
            self._node.get_logger().warning(f'payload not estimated: {self._error}')
        else:
            self._publish(found)

    def _publish(self, found: Payload) -> None:
        self._publisher.publish(
            messages.inertia_message(
                messages.time_message(self._states[-1][0] if self._states else 0),
                self._node.parameters.frame_prefix + found.link,
                found.mass,
                found.com,
                found.known_inertia[np.triu_indices(3)],
            )
        )
        condition = ' and its '.join(found.conditional_on)
        self._node.get_logger().info(
            f'payload on {found.link}: {measured(found.mass, found.mass_error)} kg'
            + (f', conditional on the {condition}' if condition else '')
        )

    # -- diagnostics ------------------------------------------------------------------------

    @override
    def status(self) -> Status | None:
        """Return why the last estimate failed, or None."""
        return (health.WARN, f'payload not estimated: {self._error}') if self._error else None

    @override
    def figures(self) -> dict[str, str]:
        """Return the last estimate with its errors."""
        found = self._found
        if found is None:
            return {}
        error = 'bound' if found.postures else 'standard error'
        result = {
            'payload estimate: link': found.link,
            'payload estimate: mass [kg]': f'{found.mass:.6g}',
            f'payload estimate: {error} of the mass [kg]': f'{found.mass_error:.2g}',
            'payload estimate: conditional on': ', '.join(found.conditional_on) or 'nothing',
        }
        for axis, value, spread in zip('xyz', found.com, found.com_error, strict=True):
            result[f'payload estimate: com.{axis} [m]'] = f'{value:.6g}'
            result[f'payload estimate: {error} of com.{axis} [m]'] = f'{spread:.2g}'
        return result
