# SPDX-License-Identifier: Apache-2.0
"""Modes of a node that commands motors, and how they change."""

from __future__ import annotations

from enum import Enum

from robot_dynamics.ros import motion_status


class Mode(Enum):
    """What the node does with the motors; the values are words of `~/status`.

    Its mode is WAITING at first, or DISABLED without `start_enabled`. It is blocked by another
    node that publishes on the same command topics. What the table lacks leaves the mode as it is.

        mode         event               if                       next mode
        DISABLED     enabled                                      WAITING
        DISABLED     enabled             another node commands    BLOCKED
        WAITING      joint state                                  COMMANDING
        WAITING      joint state         a collision counts       COLLIDED
        WAITING      joint state         contacts are lost        COLLIDED
        WAITING      blocked                                      BLOCKED
        WAITING      disabled                                     DISABLED
        WAITING      disabled            a torque was published   RELEASING
        COMMANDING   joint states stop                            WAITING
        COMMANDING   blocked                                      BLOCKED
        COMMANDING   disabled                                     RELEASING
        COMMANDING   other joints                                 WAITING
        COMMANDING   activated again                              WAITING
        COMMANDING   joint state         a collision counts       COLLIDED
        COMMANDING   joint state         contacts are lost        COLLIDED
        COLLIDED     enabled                                      COMMANDING
        COLLIDED     enabled             joint states stopped     WAITING
        COLLIDED     disabled                                     RELEASING
        COLLIDED     blocked                                      DISABLED
        COLLIDED     other joints                                 DISABLED
        COLLIDED     activated again                              DISABLED
        BLOCKED      unblocked                                    COMMANDING
        BLOCKED      unblocked           joint states stopped     WAITING
        BLOCKED      disabled                                     DISABLED
        RELEASING    enabled                                      COMMANDING
        RELEASING    enabled             joint states stopped     WAITING
        RELEASING    enabled             far from the reference   WAITING
        RELEASING    torque released                              DISABLED
        RELEASING    blocked                                      DISABLED
        RELEASING    other joints                                 DISABLED
        RELEASING    activated again                              DISABLED
    """

    DISABLED = motion_status.IDLE  # no torque
    RELEASING = motion_status.STOPPING  # disabled; the torque is being brought to the last one
    BLOCKED = motion_status.FAULTED  # enabled; another node commands the motors
    WAITING = motion_status.WAITING  # enabled; without joint states
    COMMANDING = 'as the reference'  # enabled; a torque for every joint state
    COLLIDED = 'collided'  # `on_collision` or `on_contact_lost`, until it is enabled again

    @property
    def enabled(self) -> bool:
        """Whether motions are followed."""
        return self not in (Mode.DISABLED, Mode.RELEASING, Mode.COLLIDED)
