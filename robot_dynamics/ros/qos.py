"""The quality-of-service profiles, by purpose.

Joint states are heard best effort, which matches reliable and best-effort drivers alike, and the
user may override it (`qos_overrides`). What a controller or a person listens to goes out
reliable: a default subscriber hears nothing from a best-effort publisher.
"""

from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    QoSProfile,
    ReliabilityPolicy,
)
from rclpy.qos_overriding_options import QoSOverridingOptions

# Old joint states are worth nothing, but a hiccup of a few milliseconds should lose none.
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
