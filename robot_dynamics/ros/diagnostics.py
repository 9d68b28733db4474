# SPDX-License-Identifier: Apache-2.0
"""Status of a node on /diagnostics.

The conventions are those of diagnostic_updater: a status is named `/namespace/node: task`, its
hardware is the robot, and STALE means not started yet. An OK node reports the rate and age of its
input and its latency; a WARN names the messages rejected since the last report.
"""

from __future__ import annotations

import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from typing_extensions import override

from robot_dynamics.common.stamps import SECOND
from robot_dynamics.ros import qos
from robot_dynamics.ros.health import ERROR, OK, STALE, WARN, Status, status_message
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.part import Part

TASK = 'health'  # of the status on /diagnostics


class Diagnostics(Part):
    """Part of a node: publishes its status once per `diagnostics_period`.

    Of several faults, `status()` of the parts, the first of the highest level is published. A new
    ERROR is logged; so is a new WARN, unless there is no input at all.
    """

    def __init__(self, node: RobotNode):
        """Create the publisher."""
        self._node = node
        self._fault: Status | None = None  # at the last report
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', qos.STREAM_OUT)
        self._timer = node.create_steady_timer(node.parameters.diagnostics_period, self._report)

    @override
    def adopt(self, changes: set[str]) -> None:
        """Follow a change of the period."""
        if 'diagnostics_period' in changes:
            self._timer.timer_period_ns = round(self._node.parameters.diagnostics_period * SECOND)
            self._timer.reset()

    def fault(self) -> Status | None:
        """Return the worst fault of the parts; None without one."""
        faults = [fault for part in self._node.parts if (fault := part.status()) is not None]
        return max(faults, key=lambda fault: fault[0]) if faults else None

    def _status(self) -> Status:
        """Return the status of the node in its lifecycle state."""
        node = self._node
        if node.active:
            return self._logged(self.fault()) or self._without_fault()
        if node.waiting:
            return STALE, f'waiting for {node.waiting}'
        if node.configure_error is not None:
            return ERROR, f'not configured: {node.configure_error}'
        return OK, node.state

    def _without_fault(self) -> Status:
        level, message = self._node.condition()
        news = self._node.health.news()
        if level == OK and news:
            return WARN, ', '.join(f'{name}: {count}' for name, count in sorted(news.items()))
        return level, message

    def _logged(self, fault: Status | None) -> Status | None:
        if fault is not None and fault != self._fault:
            level, message = fault
            if level == ERROR:
                self._node.get_logger().error(message)
            elif self._node.health.inputs:
                self._node.get_logger().warning(message)
        self._fault = fault
        return fault

    def _duplicates(self) -> str:
        """Return a sentence if other nodes have this node's full name, else ''."""
        node = self._node
        name = node.get_name(), node.get_namespace()
        count = node.get_node_names_and_namespaces().count(name)
        if count < 2:
            return ''
        return f'{count} nodes are named {node.get_fully_qualified_name()}; stop all but one'

    def _report(self) -> None:
        node = self._node
        level, message = self._status()
        duplicates = self._duplicates()
        if duplicates:
            level, message = max(level, WARN), f'{message}; {duplicates}'
        robot, figures = '', {'lifecycle': node.state}
        if node.base is not None:
            robot = node.base.model.name
            for part in node.parts:
                figures |= part.figures()
        figures |= node.health.report(time.monotonic())
        name = f'{node.get_fully_qualified_name()}: {TASK}'
        stamp = node.get_clock().now().to_msg()
        self._publisher.publish(diagnostic(stamp, name, robot, level, message, figures))


def diagnostic(
    stamp: Any, name: str, robot: str, level: bytes, message: str, figures: dict[str, str]
) -> DiagnosticArray:
    """Return the message for /diagnostics; the arguments are those of `status_message`."""
    array = DiagnosticArray(status=[status_message(level, name, robot, message, figures)])
    array.header.stamp = stamp
    return array
