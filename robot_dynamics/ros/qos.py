# SPDX-License-Identifier: Apache-2.0
"""Quality-of-service profiles, by purpose.

Joint states are subscribed to best effort, which matches reliable and best-effort publishers.
Outputs are published reliably: a reliable subscriber, the default, does not match a best-effort
publisher. The user may override history, depth and reliability of every topic by parameters, as
`qos_overrides./joint_states.subscription.reliability`.
"""

from copy import copy
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    QoSProfile,
    ReliabilityPolicy,
)
from rclpy.qos_overriding_options import QoSOverridingOptions, _declare_qos_parameters
from rclpy.subscription import Subscription

# Old joint states are useless, but a delay of a few milliseconds must lose none.
JOINT_STATES_IN = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=10, reliability=ReliabilityPolicy.BEST_EFFORT
)
STREAM_OUT = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=10, reliability=ReliabilityPolicy.RELIABLE
)
COMMANDS_IN = STREAM_OUT
LATCHED = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
CLOCK = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=1, reliability=ReliabilityPolicy.BEST_EFFORT
)


def overridable(profile: QoSProfile) -> dict[str, Any]:
    """Return the arguments of a publisher or subscription whose profile parameters may change."""
    return {
        'qos_profile': copy(profile),  # rclpy writes the overrides into it
        'qos_overriding_options': QoSOverridingOptions.with_default_policies(callback=_checked),
    }


def declared(
    node: Any, topic: str, qos_profile: QoSProfile, qos_overriding_options: QoSOverridingOptions
) -> QoSProfile:
    """Declare the overrides of a subscription on a node that does not create it itself."""
    _declare_qos_parameters(Subscription, node, topic, qos_profile, qos_overriding_options)
    return qos_profile


def _checked(profile: QoSProfile) -> SetParametersResult:
    reason = '' if profile.depth > 0 else f'the depth is {profile.depth}'
    return SetParametersResult(successful=not reason, reason=reason)
