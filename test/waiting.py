# SPDX-License-Identifier: Apache-2.0
"""Waits for a condition, with a deadline."""

import time

POLL = 0.02  # s


def wait_until(condition, what, deadline, pause=lambda: time.sleep(POLL)):
    """Return the first value of a condition that is true.

    Args:
        condition: evaluated again after each pause.
        what: the text of the failure says that this was waited for.
        deadline: s.
        pause: called between two evaluations; what turns an executor goes here.

    Raises:
        AssertionError: the condition is false at the deadline.
    """
    end = time.monotonic() + deadline
    while not (value := condition()):
        assert time.monotonic() < end, f'waited {deadline} s for {what}'
        pause()
    return value
