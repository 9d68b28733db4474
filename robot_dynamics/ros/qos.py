"""Quality-of-service profiles, by purpose.

Joint states are subscribed to best effort, which matches reliable and best-effort publishers; the
user may override it (`qos_overrides`). Outputs are published reliably: a reliable subscriber,
the default, does not match a best-effort publisher.
"""

from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    QoSProfile,
    ReliabilityPolicy,
)
from rclpy.qos_overriding_options import QoSOverridingOptions

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


def overridable() -> QoSOverridingOptions:
    """Return the options that let `qos_overrides` parameters change a subscription."""
    return QoSOverridingOptions.with_default_policies()
